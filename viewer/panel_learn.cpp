// SPDX-License-Identifier: MIT
// The node that is explained: its costs, the curve over all candidate planes, and the leaves of the
// tree. Also the lesson's button and its caption over the picture.

#include "render/surface.hpp"
#include "viewer/camera.hpp"
#include "viewer/panels.hpp"

namespace heapwood::viewer {

namespace {

enum Step : std::size_t { box, plane, sides, levels, leaf, memory };

constexpr struct {
  const char* title;
  bool node, plane, triangles, boxes;  // what is drawn over the picture
} shown_in[Lesson::steps] = {{"One box around everything", true, false, false, false},
                             {"Where to cut?", true, true, false, false},
                             {"Left, right, or both", true, true, true, false},
                             {"The same again in each half", false, false, false, true},
                             {"When to stop", true, false, true, false},
                             {"Every split asks for memory", false, false, false, false}};

constexpr double seconds_per_level = 0.9;

unsigned deepest(const State& state) { return state.scene ? state.scene->depth : 0; }

std::string number(double value) { return bench::figure_text(value); }

// The leaf hit by the ray through the middle of the picture, or else that in the scene's middle.
RootPath leaf_in_view(const State& state) {
  const render::CameraFrame frame = render::make_frame(state.camera, 64, 64);
  Box box = state.scene->tree.bounds;
  try {
    const RayPath path = follow(*state.scene, frame.ray(32, 32, render::far_away));
    if (path.hit.found()) box = path.hit_box;
  } catch (const simt::Stopped&) {
    // Tracing fails while a job is being cancelled, which stops every launch.
  }
  return path_to(state.scene->tree, (box.lo + box.hi) * 0.5f);
}

void draw_only(State& state, bool node, bool plane, bool triangles, bool boxes) {
  state.node.visible = node;
  state.node.plane = plane;
  state.node.triangles = triangles;
  state.tree.visible = boxes;
}

}  // namespace

std::string lesson_caption(const State& state, std::size_t step) {
  if (!state.scene) return "";
  const NodeExplanation* node = state.node.shown ? &*state.node.shown : nullptr;
  const std::string triangles = bench::count_text(state.scene->mesh.triangles.size());
  switch (step) {
    case box:
      return fmt::format(
          "A ray has to find the first of {} triangles that it hits. Testing all of them for each "
          "ray is far too slow. So the box around the scene is cut in two, again and again: a ray "
          "then skips every part that it does not enter.",
          triangles);
    case plane:
      if (!node || node->leaf) return "Choosing a plane ...";
      return fmt::format(
          "Any plane could cut the box. The surface area heuristic estimates what rays will cost "
          "for each candidate: the larger a part and the more triangles in it, the more "
          "expensive. The curves show all candidates of the three axes; the cheapest one tried "
          "wins, at {} = {}, with a cost of {} instead of {} without a cut.",
          "xyz"[node->axis], number(static_cast<double>(node->plane)), number(node->split_cost),
          number(node->leaf_cost));
    case sides:
      if (!node || node->leaf) return "Sorting triangles ...";
      return fmt::format(
          "{} triangles go left (blue), {} go right (orange). {} are cut by the plane and are on "
          "both sides: the two children have {} references to triangles (refs) for {} triangles.",
          bench::count_text(node->left), bench::count_text(node->right),
          bench::count_text(node->left + node->right - node->refs),
          bench::count_text(node->left + node->right), bench::count_text(node->refs));
    case levels:
      return fmt::format(
          "Each half is a smaller problem of the same kind, so it is cut in the same way. All "
          "halves of a level can be cut at the same time, by thousands of threads on a GPU. Level "
          "{} of {}: {} boxes.",
          state.tree.depth, deepest(state), bench::count_text(state.tree.total));
    case leaf:
      if (!node) return "Looking for a leaf ...";
      return fmt::format(
          "A node is cut only while that makes rays cheaper. This one has {} triangle{}: as a leaf "
          "it costs {}{}. The histograms show how large and how deep the leaves of this tree are.",
          bench::count_text(node->refs), node->refs == 1 ? "" : "s", number(node->leaf_cost),
          node->lowest < node->leaf_cost
              ? fmt::format(", and the best cut would cost {}", number(node->lowest))
              : ", and no cut costs less");
    case memory:
    default:
      return fmt::format(
          "How many triangles each half will have is not known in advance, so every split requests "
          "arrays for its two halves and frees its own.{}{} How fast threads get memory, and how "
          "much is lost to holes, depends on the allocator: see Live (F5).",
          state.built && state.built->requests
              ? fmt::format(" This build made {} requests.",
                            bench::count_text(state.built->requests->allocations))
              : "",
          state.tab == Tab::heap ? " The map shows the pool: requests fill it, frees leave holes."
                                 : "");
  }
}

namespace {

// Builds of a moving scene are not recorded.
Tab tab_of(const State& state, std::size_t step) {
  return step == memory && !why_only_live(state) ? Tab::heap : Tab::learn;
}

// Shows the whole model from outside. The user's view is kept until the lesson ends.
void step_outside(State& state) {
  if (state.lesson.before) return;
  state.lesson.before.emplace(state.camera, state.lighting, state.show.fly);
  state.camera = outside(state.camera, state.scene->tree.bounds);
  state.show.fly = false;
  light_view(state);
}

// Plays the recorded build of this scene, which is recorded unless that was done.
void play_build(State& state) {
  HeapView& heap = state.heap;
  if (heap.recordings.empty() || shows_trace(state) ||
      heap.recordings.front()->allocator != state.choice.allocator->traits->id)
    return start_recording(state);
  heap.place = 0;
  heap.playing = true;
}

}  // namespace

bool shows_lesson(const State& state) {
  return state.lesson.step && state.scene && state.tab == tab_of(state, *state.lesson.step);
}

void show_lesson(State& state, std::size_t step) {
  show_tab(state, tab_of(state, step));
  state.lesson.step = step;
  state.lesson.since = state.now;
  if (!state.scene) return;
  step_outside(state);
  const auto& drawn = shown_in[step];
  draw_only(state, drawn.node, drawn.plane, drawn.triangles, drawn.boxes);
  const bench::BuildSettings& settings = state.choice.settings;
  const bool at_root = state.node.shown && state.node.shown->path.size() == 1;
  if (step == levels) {
    state.tree.depth = 1;
  } else if (step == memory) {
    if (state.tab == Tab::heap) play_build(state);
  } else if (step == leaf) {
    state.node.choose(state.scene, leaf_in_view(state), settings);
  } else if (!at_root) {
    state.node.choose(state.scene, root_of(state.scene->tree), settings);
  }
}

void end_lesson(State& state) {
  if (state.lesson.before)
    std::tie(state.camera, state.lighting, state.show.fly) = *state.lesson.before;
  state.lesson = {};
  draw_only(state, false, true, true, false);
}

void page_lesson(State& state, int by) {
  if (!state.lesson.step) {
    if (by > 0) show_lesson(state, 0);
    return;
  }
  const auto to = static_cast<int>(*state.lesson.step) + by;
  if (to >= static_cast<int>(Lesson::steps)) return end_lesson(state);
  show_lesson(state, static_cast<std::size_t>(std::max(to, 0)));
}

void advance_lesson(State& state) {
  if (state.lesson.step != levels) return;
  const auto level =
      static_cast<unsigned>((state.now - state.lesson.since) / seconds_per_level) + 1;
  if (level <= std::min(deepest(state), 16u)) state.tree.depth = static_cast<int>(level);
}

namespace {

constexpr const char* axis_names[] = {"x", "y", "z"};
constexpr const ImVec4* axis_colours[] = {&colour::error, &colour::accent, &colour::second};

void go_to(State& state, const RootPath& path) {
  state.node.choose(state.scene, path, state.choice.settings);
}

void draw_steps(State& state, const NodeExplanation& node) {
  const float width = ui::share_of_line(4);
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
  const std::string title =
      fmt::format("{} of {} refs", node.leaf ? "Leaf" : "Node", bench::count_text(node.refs));
  ui::styled_text(fonts().large, title);
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
  ImGui::EndTable();
  if (node.leaf) return;
  ui::text("left " + bench::count_text(node.left), colour::second);
  ImGui::SameLine();
  ui::text("right " + bench::count_text(node.right), colour::warning);
  ImGui::SameLine();
  ui::text("in both " + bench::count_text(node.left + node.right - node.refs));
}

// Text on a ground, so that it can be read over curves.
void label(ImVec2 corner, const ImVec4& shade, const std::string& text) {
  const ImVec2 size = ImGui::CalcTextSize(text.c_str());
  ui::fill({corner.x - 3, corner.y - 1}, {corner.x + size.x + 3, corner.y + size.y + 1},
           ui::tint(210, colour::panel), 3);
  ui::text_at(corner, text, ImGui::GetColorU32(shade));
}

// Cost over the position of the plane, one curve per axis, from the node's low to its high side.
void draw_curve(State& state, const NodeExplanation& node) {
  const float em = ImGui::GetFontSize(), width = ImGui::GetContentRegionAvail().x, height = em * 8;
  ui::text("cost of each candidate plane", colour::dim);
  const ui::Plot plot(state, "sah curve", {width, height}, 7);
  const ImVec2 corner = plot.corner;
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const Box& box = node.place().box;
  // Planes near the sides cost as much as a leaf, or more: the scale ends a little above.
  const double low = std::min(node.lowest, node.leaf ? node.lowest : node.split_cost);
  // The cuts of a leaf cost more than the leaf: some of that is shown, too.
  const double high = std::max(node.leaf_cost * (node.leaf ? 2 : 1.08), low * 1.01 + 1e-9),
               base = low - 0.12 * (high - low);
  const auto y = [&](double cost) {
    return corner.y +
           height * (1 - static_cast<float>(std::clamp((cost - base) / (high - base), 0.0, 1.0)));
  };
  const auto x = [&](unsigned axis, float position) {
    return corner.x +
           width * (position - box.lo[axis]) / std::max(box.hi[axis] - box.lo[axis], 1e-30f);
  };
  draw.PushClipRect(corner, plot.end, true);
  ui::line({corner.x, y(node.leaf_cost)}, {plot.end.x, y(node.leaf_cost)}, ui::tint(110));
  for (unsigned axis = 0; axis < 3; ++axis) {
    std::optional<ImVec2> last;
    for (const NodeExplanation::Candidate& candidate : node.curve[axis]) {
      const ImVec2 here{x(axis, candidate.position), y(candidate.cost)};
      const bool faint = !node.leaf && axis != node.axis;
      const ImU32 shade = ui::tint(faint ? 120 : 255, *axis_colours[axis]);
      if (last) ui::line(*last, here, shade, 1.5f);
      if (node.curve[axis].size() < 60) draw.AddCircleFilled(here, em * 0.12f, shade);
      last = here;
    }
  }
  if (!node.leaf) {
    const ImVec2 chosen{x(node.axis, node.plane), y(node.split_cost)};
    ui::line({chosen.x, corner.y}, {chosen.x, plot.end.y}, ui::tint(140, colour::marked));
    draw.AddCircleFilled(chosen, em * 0.3f, ui::tint(255, colour::marked));
    const std::string text = bench::figure_text(node.split_cost);
    const float wide = ui::width_of(text);
    const bool left = chosen.x + wide + em > corner.x + width;
    label({left ? chosen.x - wide - em * 0.6f : chosen.x + em * 0.6f,
           std::max(chosen.y - em * 1.5f, corner.y)},
          colour::marked, text);
  }
  const std::string leaf = "as a leaf: " + bench::figure_text(node.leaf_cost);
  const float over = y(node.leaf_cost) - em * 1.4f;
  label({plot.end.x - ui::width_of(leaf) - em * 0.4f,
         over > corner.y ? over : y(node.leaf_cost) + em * 0.2f},
        colour::dim, leaf);
  draw.PopClipRect();
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (axis) ImGui::SameLine();
    ui::text(axis_names[axis], *axis_colours[axis]);
  }
  ImGui::SameLine();
  ui::text(node.leaf ? "low to high side" : "low to high side; dot: chosen", colour::dim);
}

void draw_histograms(State& state) {
  const LeafHistograms& histograms = state.node.histograms;
  const bool leaf = state.node.shown && state.node.shown->leaf;
  const float width = ui::share_of_line(2), left = ImGui::GetCursorPosX();
  const ImVec2 size{width, ImGui::GetFontSize() * 4};
  ui::text("leaves by refs", colour::dim);
  ImGui::SameLine(left + width + ImGui::GetStyle().ItemSpacing.x);
  ui::text("leaves by depth", colour::dim);
  std::optional<std::size_t> refs, depth;
  if (leaf) {
    refs = std::min<std::size_t>(state.node.shown->refs, LeafHistograms::max_refs);
    depth = state.node.shown->depth();
  }
  ui::bars(state, "leaves by refs", size, histograms.by_refs, refs,
           {"0", fmt::format("{}+", LeafHistograms::max_refs)}, [&](std::size_t i) {
             return fmt::format("{} leaves with {} refs{}",
                                bench::count_text(histograms.by_refs[i]), i,
                                i == LeafHistograms::max_refs ? " and more" : "");
           });
  ImGui::SameLine();
  const std::size_t levels = std::max<std::size_t>(histograms.by_depth.size(), 1);
  ui::bars(state, "leaves by depth", size, histograms.by_depth, depth,
           {"0", std::to_string(levels - 1)}, [&](std::size_t i) {
             return fmt::format("{} leaves at depth {}", bench::count_text(histograms.by_depth[i]),
                                i);
           });
}

}  // namespace

void draw_lesson_button(State& state) {
  const bool shown = state.lesson.step.has_value();
  if (ui::button(state, shown ? "End the lesson" : "Lesson: how this tree is built", !shown,
                 state.scene != nullptr, ui::share_of_line(1)))
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
  ui::checkbox(state, "plane", state.node.plane);
  ImGui::SameLine();
  ui::checkbox(state, "triangles", state.node.triangles);
  ImGui::SameLine();
  ui::dim_text("click in the picture: one level down");
}

float draw_lesson(State& state, const Area& area) {
  if (!shows_lesson(state)) return 0;
  const std::size_t step = *state.lesson.step;
  const float em = ImGui::GetFontSize(), width = std::min(area.width - 2 * em, em * 50);
  if (width < em * 10) return 0;
  if (ui::begin_card("lesson", {area.x + area.width / 2, area.y + area.height - em}, {0.5f, 1},
                     true, 0.92f, width)) {
    ui::styled_text(fonts().large, state.places.texts["lesson"] =
                                       fmt::format("{}. {}", step + 1, shown_in[step].title));
    ui::wrapped_text(state.places.texts["caption"] = lesson_caption(state, step), colour::text);
    ImGui::Dummy({0, em * 0.1f});
    if (ui::button(state, "Back", false, step > 0, em * 5)) page_lesson(state, -1);
    ImGui::SameLine();
    ImGui::AlignTextToFramePadding();
    ui::text(fmt::format("{} of {}", step + 1, Lesson::steps), colour::dim);
    ImGui::SameLine();
    const bool last = step + 1 == Lesson::steps;
    if (ui::button(state, last ? "Done" : "Next", true, true, em * 5)) page_lesson(state, 1);
  }
  const float height = ImGui::GetWindowHeight() + em;
  ui::end_card();
  return height;
}

}  // namespace heapwood::viewer
