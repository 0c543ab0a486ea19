// SPDX-License-Identifier: MIT
// The node that is explained: its costs, the curve over all candidate planes, and the leaves of the
// tree. Also the lesson's button and its caption over the picture.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/results/format.hpp"
#include "viewer/panels.hpp"
#include "viewer/widgets.hpp"

namespace heapwood::viewer {

namespace {

constexpr const char* axis_names[] = {"x", "y", "z"};
constexpr gl::Rgba8 axis_colours[] = {
    {226, 121, 121, 255}, {115, 199, 143, 255}, {107, 160, 242, 255}};

ImVec4 as_text(gl::Rgba8 c) {
  return {static_cast<float>(c.r) / 255, static_cast<float>(c.g) / 255,
          static_cast<float>(c.b) / 255, 1};
}

void go_to(State& state, RootPath path) {
  state.node.choose(state.scene, path, state.choice.settings);
}

void draw_steps(State& state, const NodeExplanation& node) {
  const float width = (ImGui::GetContentRegionAvail().x - 3 * ImGui::GetStyle().ItemSpacing.x) / 4;
  if (ui::button(state, "Root", false, node.path.size() > 1, width))
    go_to(state, root_of(state.scene->tree));
  ImGui::SameLine();
  if (ui::button(state, "Parent", false, node.path.size() > 1, width))
    go_to(state, RootPath(node.path.begin(), node.path.end() - 1));
  for (const unsigned side : {0u, 1u}) {
    ImGui::SameLine();
    if (!ui::button(state, side == 0 ? "Left child" : "Right child", false, !node.leaf, width))
      continue;
    RootPath path = node.path;
    descend(state.scene->tree, path, side);
    go_to(state, path);
  }
}

void draw_figures(State& state, const NodeExplanation& node) {
  ImGui::PushFont(fonts().large);
  const std::string title =
      fmt::format("{} of {} refs", node.leaf ? "Leaf" : "Node", bench::count_text(node.refs));
  ImGui::TextUnformatted(title.c_str());
  ImGui::PopFont();
  ui::dim_text(
      "Refs: references to triangles. A triangle on both sides of a plane has one in each.");
  state.places.texts["node"] = fmt::format("{}, depth {}", title, node.depth());
  if (!ui::begin_rows("node")) return;
  ui::row("depth", std::to_string(node.depth()));
  ui::row("cost as a leaf", bench::figure_text(node.leaf_cost),
          "Intersection cost × refs: what a ray that enters the node pays.");
  if (node.leaf) {
    ui::row("cheapest split",
            node.lowest < node.leaf_cost ? bench::figure_text(node.lowest) : "none is cheaper",
            "With the costs chosen above, of all candidate planes.");
  } else {
    ui::row("cost of the split", bench::figure_text(node.split_cost),
            "Traversal cost + intersection cost × (area × refs of the left part + area × refs of "
            "the right part) / area of the node, less the empty bonus if a part has no refs, plus "
            "the duplicate cost for each ref that the split adds");
    ui::row("plane", fmt::format("{} = {}", axis_names[node.axis],
                                 bench::figure_text(static_cast<double>(node.plane))));
  }
  ui::end_rows();
  if (node.leaf) return;
  ImGui::TextColored(as_text(colour::left_side), "left %s", bench::count_text(node.left).c_str());
  ImGui::SameLine();
  ImGui::TextColored(as_text(colour::right_side), "right %s",
                     bench::count_text(node.right).c_str());
  ImGui::SameLine();
  ImGui::TextColored(as_text(colour::both_sides), "in both %s",
                     bench::count_text(node.left + node.right - node.refs).c_str());
}

// Text on a dark ground, so that it can be read over curves.
void label(ImVec2 at, const ImVec4& shade, const std::string& text) {
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const ImVec2 size = ImGui::CalcTextSize(text.c_str());
  draw.AddRectFilled({at.x - 3, at.y - 1}, {at.x + size.x + 3, at.y + size.y + 1},
                     IM_COL32(20, 22, 25, 210), 3);
  draw.AddText(at, ImGui::GetColorU32(shade), text.c_str());
}

// Cost over the position of the plane, one curve per axis, from the node's low to its high side.
void draw_curve(State& state, const NodeExplanation& node) {
  const float em = ImGui::GetFontSize(), width = ImGui::GetContentRegionAvail().x, height = em * 8;
  ImGui::TextDisabled("cost of each candidate plane");
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton("sah curve", {width, height});
  state.places.note("sah curve");
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  draw.AddRectFilled(at, {at.x + width, at.y + height}, IM_COL32(255, 255, 255, 7), 4);
  const Box& box = node.place().box;
  // Planes near the sides cost as much as a leaf, or more: the scale ends a little above.
  const double low = std::min(node.lowest, node.leaf ? node.lowest : node.split_cost);
  // The cuts of a leaf cost more than the leaf: some of that is shown, too.
  const double high = std::max(node.leaf_cost * (node.leaf ? 2 : 1.08), low * 1.01 + 1e-9),
               base = low - 0.12 * (high - low);
  const auto y = [&](double cost) {
    return at.y +
           height * (1 - static_cast<float>(std::clamp((cost - base) / (high - base), 0.0, 1.0)));
  };
  const auto x = [&](unsigned axis, float position) {
    return at.x + width * (position - box.lo[axis]) / std::max(box.hi[axis] - box.lo[axis], 1e-30f);
  };
  draw.PushClipRect(at, {at.x + width, at.y + height}, true);
  draw.AddLine({at.x, y(node.leaf_cost)}, {at.x + width, y(node.leaf_cost)},
               IM_COL32(255, 255, 255, 110));
  for (unsigned axis = 0; axis < 3; ++axis) {
    std::optional<ImVec2> last;
    for (const NodeExplanation::Candidate& candidate : node.curve[axis]) {
      const ImVec2 here{x(axis, candidate.position), y(candidate.cost)};
      gl::Rgba8 shade = axis_colours[axis];
      if (!node.leaf && axis != node.axis) shade.a = 120;
      if (last) draw.AddLine(*last, here, packed(shade), 1.5f);
      if (node.curve[axis].size() < 60) draw.AddCircleFilled(here, em * 0.12f, packed(shade));
      last = here;
    }
  }
  if (!node.leaf) {
    const ImVec2 chosen{x(node.axis, node.plane), y(node.split_cost)};
    draw.AddLine({chosen.x, at.y}, {chosen.x, at.y + height}, packed({250, 230, 140, 140}));
    draw.AddCircleFilled(chosen, em * 0.3f, packed({250, 230, 140, 255}));
    const std::string text = bench::figure_text(node.split_cost);
    const float wide = ImGui::CalcTextSize(text.c_str()).x;
    const bool left = chosen.x + wide + em > at.x + width;
    label({left ? chosen.x - wide - em * 0.6f : chosen.x + em * 0.6f,
           std::max(chosen.y - em * 1.5f, at.y)},
          {0.98f, 0.9f, 0.55f, 1}, text);
  }
  const std::string leaf = "as a leaf: " + bench::figure_text(node.leaf_cost);
  const float over = y(node.leaf_cost) - em * 1.4f;
  label({at.x + width - ImGui::CalcTextSize(leaf.c_str()).x - em * 0.4f,
         over > at.y ? over : y(node.leaf_cost) + em * 0.2f},
        colour::dim, leaf);
  draw.PopClipRect();
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (axis) ImGui::SameLine();
    ImGui::TextColored(as_text(axis_colours[axis]), "%s", axis_names[axis]);
  }
  ImGui::SameLine();
  ImGui::TextDisabled(node.leaf ? "low to high side" : "low to high side; dot: chosen");
}

void draw_bars(State& state, const char* id, const std::vector<std::uint32_t>& bars,
               std::size_t marked, const char* what, bool open_end, float width) {
  const float em = ImGui::GetFontSize(), height = em * 4;
  const std::uint32_t maximum =
      std::max<std::uint32_t>(1, bars.empty() ? 1 : *std::max_element(bars.begin(), bars.end()));
  ImGui::BeginGroup();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton(id, {width, height});
  state.places.note(id);
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  draw.AddRectFilled(at, {at.x + width, at.y + height}, IM_COL32(255, 255, 255, 7), 4);
  const float step = width / static_cast<float>(std::max<std::size_t>(bars.size(), 1));
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const float left = at.x + step * static_cast<float>(i);
    const float top = height * static_cast<float>(bars[i]) / static_cast<float>(maximum);
    const ImU32 shade =
        i == marked ? packed({250, 230, 140, 255}) : ImGui::GetColorU32(colour::accent);
    if (bars[i])
      draw.AddRectFilled({left, at.y + height - std::max(top, 1.0f)},
                         {left + std::max(1.0f, step - 1), at.y + height}, shade);
    const bool under = ImGui::IsItemHovered() && ImGui::GetIO().MousePos.x >= left &&
                       ImGui::GetIO().MousePos.x < left + step;
    if (under)
      ImGui::SetTooltip("%s leaves %s %zu%s", bench::count_text(bars[i]).c_str(), what, i,
                        open_end && i + 1 == bars.size() ? " and more" : "");
  }
  const std::string last = std::to_string(bars.empty() ? 0 : bars.size() - 1);
  ImGui::TextDisabled("0");
  ImGui::SameLine();
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + width - ImGui::GetStyle().ItemSpacing.x -
                       ImGui::CalcTextSize("0").x -
                       ImGui::CalcTextSize((last + (open_end ? "+" : "")).c_str()).x);
  ImGui::TextDisabled("%s%s", last.c_str(), open_end ? "+" : "");
  ImGui::EndGroup();
}

void draw_histograms(State& state) {
  const LeafHistograms& histograms = state.node.histograms;
  const std::optional<NodeExplanation>& node = state.node.shown;
  const float width = (ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ItemSpacing.x) / 2;
  const std::size_t none = ~std::size_t{0};
  const bool leaf = node && node->leaf;
  const float left = ImGui::GetCursorPosX();
  ImGui::TextDisabled("leaves by refs");
  ImGui::SameLine(left + width + ImGui::GetStyle().ItemSpacing.x);
  ImGui::TextDisabled("leaves by depth");
  draw_bars(state, "leaves by refs", histograms.by_refs,
            leaf ? std::min<std::size_t>(node->refs, LeafHistograms::max_refs) : none,
            "with refs:", true, width);
  ImGui::SameLine();
  draw_bars(state, "leaves by depth", histograms.by_depth, leaf ? node->depth() : none, "at depth",
            false, width);
}

}  // namespace

void draw_lesson_button(State& state) {
  const bool shown = state.lesson.step.has_value();
  if (ui::button(state, shown ? "End the lesson" : "Lesson: how this tree is built", !shown,
                 state.scene != nullptr, ImGui::GetContentRegionAvail().x))
    shown ? end_lesson(state) : show_lesson(state, 0);
  ui::hint("Six steps with captions over the picture; Page Down and Page Up turn the pages");
}

void draw_node_section(State& state) {
  if (!state.scene || !ui::section("Node")) return;
  const std::optional<NodeExplanation>& node = state.node.shown;
  if (!node) return ui::dim_text("Computing the costs of all candidate planes ...");
  draw_steps(state, *node);
  draw_figures(state, *node);
  draw_curve(state, *node);
  draw_histograms(state);
  draw_node_blocks(state, *node);
  ImGui::Checkbox("plane", &state.node.plane);
  ImGui::SameLine();
  ImGui::Checkbox("triangles", &state.node.triangles);
  ImGui::SameLine();
  ui::dim_text("click in the picture: one level down");
}

void draw_node_blocks(State& state, const NodeExplanation& node) {
  const std::uint64_t per_ref = kdtree::ref_bytes(state.choice.settings.refs);
  std::vector<std::uint64_t> sizes{node.refs * per_ref};
  std::string text = fmt::format("array {}", bench::bytes_text(sizes[0]));
  if (!node.leaf) {
    sizes.push_back(node.left * per_ref);
    sizes.push_back(node.right * per_ref);
    text += fmt::format("; requests {} and {}", bench::bytes_text(sizes[1]),
                        bench::bytes_text(sizes[2]));
  }
  std::erase(sizes, 0);
  const auto& recordings = state.heap.recordings;
  const bool recorded = !recordings.empty() && !recordings.front()->in_rounds() &&
                        recordings.front()->scene == state.scene->name;
  if (recorded) {
    // A recording names sizes, not nodes: blocks of the same size may be those of other nodes.
    const auto& blocks = recordings.front()->blocks();
    const auto same = std::count_if(blocks.begin(), blocks.end(), [&](const auto& block) {
      return std::find(sizes.begin(), sizes.end(), block.bytes) != sizes.end();
    });
    text += fmt::format("; {} recorded block{} of these sizes", same, same == 1 ? "" : "s");
  }
  state.places.texts["node blocks"] = text;
  ui::dim_text(text);
  if (ui::button(state, recorded ? "Mark them in the heap map" : "Record the heap map", false, true,
                 ImGui::GetContentRegionAvail().x)) {
    state.heap.marked = sizes;
    recorded ? show_tab(state, Tab::heap) : start_recording(state);
  }
  ui::hint(
      "Marks the node's array and those that its split requested. Click a block in the map to "
      "explain its node.");
}

float draw_lesson(State& state, const Area& area) {
  if (!state.lesson.step || !state.scene) return 0;
  const std::size_t step = *state.lesson.step;
  const float em = ImGui::GetFontSize(), width = std::min(area.width - 2 * em, em * 50);
  if (width < em * 10) return 0;
  ImGui::SetNextWindowPos({area.x + area.width / 2, area.y + area.height - em}, ImGuiCond_Always,
                          {0.5f, 1});
  ImGui::SetNextWindowSize({width, 0});
  ImGui::SetNextWindowBgAlpha(0.92f);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, em * 0.6f);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {em * 1.1f, em * 0.8f});
  constexpr ImGuiWindowFlags flags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav |
                                     ImGuiWindowFlags_NoFocusOnAppearing;
  if (ImGui::Begin("lesson", nullptr, flags)) {
    ImGui::PushFont(fonts().large);
    ImGui::TextUnformatted(fmt::format("{}. {}", step + 1, lesson_title(step)).c_str());
    ImGui::PopFont();
    const std::string caption = lesson_caption(state, step);
    ImGui::TextWrapped("%s", caption.c_str());
    state.places.texts["lesson"] = fmt::format("{}. {}", step + 1, lesson_title(step));
    state.places.texts["caption"] = caption;
    ImGui::Dummy({0, em * 0.1f});
    if (ui::button(state, "Back", false, step > 0, em * 5)) page_lesson(state, -1);
    ImGui::SameLine();
    ImGui::AlignTextToFramePadding();
    ImGui::TextDisabled("%zu of %zu", step + 1, Lesson::steps);
    ImGui::SameLine();
    const bool last = step + 1 == Lesson::steps;
    if (ui::button(state, last ? "Done" : "Next", true, true, em * 5)) page_lesson(state, 1);
  }
  const float height = ImGui::GetWindowHeight() + em;
  ImGui::End();
  ImGui::PopStyleVar(2);
  return height;
}

}  // namespace heapwood::viewer
