// SPDX-License-Identifier: MIT
// Below the picture of the Live tab: times of the latest frames, when each level of the tree was
// built, the pools, and the allocators of the number keys.
#include "viewer/panels.hpp"

namespace heapwood::viewer {

namespace {

// The scale of the strip of frames, in ms, and whether the time of the rays fits it.
struct StripScale {
  double maximum = 1e-6;
  bool traced = false;
};
StripScale strip_scale(const LiveView& live) {
  StripScale scale;
  for (const LiveSide& side : live.sides) {
    if (!side.times.is_empty()) scale.maximum = std::max(scale.maximum, 1.25 * side.times.high());
  }
  // Rays that take far longer than builds would leave no height to the builds.
  const double trace = live.trace_ms();
  scale.traced = trace > 0 && trace < 3 * scale.maximum;
  if (scale.traced) scale.maximum = std::max(scale.maximum, 1.1 * trace);
  return scale;
}

// The largest of 1, 2 and 5 times a power of ten that is at most `maximum`.
double round_number(double maximum) {
  const double power = std::pow(10, std::floor(std::log10(maximum)));
  return power * (maximum >= 5 * power ? 5 : maximum >= 2 * power ? 2 : 1);
}

std::string frame_text(const LiveView& live, std::uint64_t frame) {
  std::string text = fmt::format("frame {}", bench::count_text(frame)), rays;
  for (std::size_t side = 0; side < 2; ++side) {
    for (const LiveSample& sample : live.sides[side].times.samples()) {
      if (sample.frame != frame) continue;
      text +=
          fmt::format("\n{}  {} {}", "AB"[side], live.sides[side].label(),
                      sample.complete ? bench::figure_text(sample.ms) + " ms" : "incomplete tree");
      if (side == 0 && sample.trace_ms > 0)
        rays = fmt::format("\ntrace  {} ms", bench::figure_text(sample.trace_ms));
    }
  }
  return text + rays + (live.frozen ? "" : "\nclick to freeze");
}

// Times of the latest frames. A click freezes and selects a frame.
void draw_strip(State& state, ImVec2 size) {
  LiveView& live = state.live;
  const float em = ImGui::GetFontSize();
  const ui::Plot plot(state, "frames", size, 7);
  const ImVec2 at = plot.at;
  const StripScale scale = strip_scale(live);
  const double maximum = scale.maximum;
  const auto y = [&](double ms) {
    return at.y + size.y * (1 - static_cast<float>(std::min(1.0, ms / maximum)));
  };
  const std::uint64_t last = live.frames,
                      first = last > LiveTimes::window ? last - LiveTimes::window : 0;
  const float step = size.x / static_cast<float>(LiveTimes::window);
  const auto x = [&](std::uint64_t frame) {
    return at.x + step * static_cast<float>(frame - first);
  };
  std::optional<std::uint64_t> under;
  if (plot.hovered) {
    const auto index =
        static_cast<std::uint64_t>(std::max(0.0f, (ImGui::GetIO().MousePos.x - at.x) / step));
    if (first + index < last) under = first + index;
  }
  if (ImGui::IsItemClicked() && under) {
    live.frozen = true;
    live.selected = under;
  }
  for (const std::optional<std::uint64_t>& marked : {under, live.selected}) {
    if (marked && *marked >= first)
      ui::fill({x(*marked), at.y}, {x(*marked) + step, plot.end.y}, ui::white(28));
  }
  for (std::size_t side = 0; side < 2; ++side) {
    for (const LiveSample& sample : live.sides[side].times.samples()) {
      if (sample.frame < first) continue;
      const float left = x(sample.frame) + step * (side == 0 ? 0.08f : 0.5f);
      const ImVec4 shade = sample.complete ? ui::shade_of(side, 0.85f) : colour::error;
      ui::fill({left, y(sample.ms)}, {left + std::max(1.0f, step * 0.4f), plot.end.y},
               ImGui::GetColorU32(shade));
    }
  }
  std::optional<ImVec2> before;
  for (const LiveSample& sample : live.sides[0].times.samples()) {
    if (!scale.traced || sample.frame < first || sample.trace_ms <= 0) continue;
    const ImVec2 place{x(sample.frame) + step / 2, y(sample.trace_ms)};
    if (before) ui::line(*before, place, ImGui::GetColorU32(colour::hole), 1.5f);
    before = place;
  }
  const bool usual = maximum > 16.7 * 1.02 && maximum < 16.7 * 8;
  const double ms = usual ? 16.7 : round_number(0.95 * maximum);
  if (usual || maximum > 0.001) {
    const std::string text = usual ? "16.7 ms: 60 frames/s" : fmt::format("{:g} ms", ms);
    ui::line({at.x, y(ms)}, {plot.end.x, y(ms)}, ui::white(70));
    // Below the line, unless it is near the lower edge.
    const float top = std::min(y(ms) + 2, plot.end.y - em * 1.25f);
    ui::fill({at.x + 4, top}, {at.x + ui::width_of(text) + 10, top + em * 1.2f},
             IM_COL32(14, 16, 19, 190), 3);
    ui::text_at({at.x + 7, top}, text);
  }
  if (!under) under = live.selected;
  if (under && plot.hovered) ImGui::SetTooltip("%s", frame_text(live, *under).c_str());
}

std::string span_text(const std::vector<LevelSpan>& spans, unsigned depth, char side) {
  for (const LevelSpan& span : spans) {
    if (span.depth != depth) continue;
    if (span.nodes == 1)
      return fmt::format("\n{}  1 node, finished at {:.1f}% of the events", side, 100 * span.last);
    return fmt::format(
        "\n{}  {} nodes, finished from {:.1f}% to {:.1f}% of the events, half of them by {:.1f}%",
        side, bench::count_text(span.nodes), 100 * span.first, 100 * span.last, 100 * span.half);
  }
  return "";
}

// When each level of the tree was built, with A and with B.
void draw_levels_timeline(State& state, float width, float height) {
  HeapView& heap = state.live.heap;
  const float gap = ImGui::GetStyle().ItemSpacing.x, half = (width - gap) / 2;
  const ui::Plot plot(state, "levels", {width, height});
  const ImVec2 at = plot.at;
  std::vector<LevelSpan> spans[2];
  unsigned deepest = 1;
  for (std::size_t side = 0; side < 2; ++side) {
    if (const auto& recording = state.live.sides[side].recording)
      spans[side] = level_spans(*recording);
    std::uint32_t nodes = 0;
    for (const LevelSpan& span : spans[side]) nodes += span.nodes;
    // The deepest levels often have a node or two.
    for (const LevelSpan& span : spans[side])
      if (span.nodes > nodes / 500) deepest = std::max(deepest, span.depth);
  }
  for (auto& side : spans)
    std::erase_if(side, [&](const LevelSpan& span) { return span.depth > deepest; });
  const float row = height / static_cast<float>(deepest + 1);
  for (std::size_t side = 0; side < 2; ++side) {
    const float left = at.x + (half + gap) * static_cast<float>(side);
    const auto x = [&](double place) { return left + half * static_cast<float>(place); };
    ui::fill({left, at.y}, {left + half, at.y + height}, ui::white(7), 4);
    const ImU32 faint = ImGui::GetColorU32(ui::shade_of(side, 0.3f)),
                strong = ImGui::GetColorU32(ui::shade_of(side, 0.95f));
    for (const LevelSpan& span : spans[side]) {
      const float low = at.y + row * static_cast<float>(span.depth),
                  high = low + std::max(1.0f, row - 0.5f);
      ui::fill({x(span.first), low}, {x(span.last) + 1, high}, faint);
      ui::fill({x(span.quarter), low}, {x(span.three_quarters) + 1, high}, strong);
    }
    if (!spans[side].empty())
      ui::line({x(heap.place), at.y}, {x(heap.place), at.y + height}, ui::white(150));
  }
  state.places.texts["levels"] =
      fmt::format("A {} levels; B {} levels", spans[0].size(), spans[1].size());
  if (!plot.hovered || (spans[0].empty() && spans[1].empty())) return;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const float from = mouse.x < at.x + half + gap / 2 ? at.x : at.x + half + gap;
  // The recordings are played on from there.
  if (ImGui::IsItemActive())
    heap.place = std::clamp(static_cast<double>((mouse.x - from) / half), 0.0, 1.0);
  const auto depth =
      std::min(deepest, static_cast<unsigned>(std::max(0.0f, (mouse.y - at.y) / row)));
  ImGui::SetTooltip("level %u%s%s\nclick: the pools at this moment", depth,
                    span_text(spans[0], depth, 'A').c_str(),
                    span_text(spans[1], depth, 'B').c_str());
}

// The number keys.
void draw_choices(State& state) {
  const auto choices = live_choices(state);
  const float em = ImGui::GetFontSize();
  ImGui::AlignTextToFramePadding();
  ui::text("B (Shift: A)", colour::dim);
  ui::hint("The number keys choose allocator B, with Shift allocator A.");
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {em * 0.35f, ImGui::GetStyle().FramePadding.y});
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const bool a = choices[i] == state.choice.allocator, b = choices[i] == state.choice.other;
    const std::string text = fmt::format("{} {}", i + 1, choices[i]->traits->label);
    ImGui::SameLine(0, em * 0.35f);
    // All of them are in the lists.
    if (ImGui::GetContentRegionAvail().x < ui::width_of(text) + em * 0.7f) break;
    ImGui::PushStyleColor(ImGuiCol_Text, b ? colour::second : a ? colour::accent : colour::dim);
    if (ImGui::Button(text.c_str()))
      choose_live(state, ImGui::GetIO().KeyShift ? 0 : 1, *choices[i]);
    ImGui::PopStyleColor();
    state.places.note(fmt::format("choice {}", i + 1));
  }
  ImGui::PopStyleVar();
}

}  // namespace

void draw_live_below(State& state, const Area& area) {
  LiveView& live = state.live;
  if (ui::begin_area("live below", area)) {
    const float em = ImGui::GetFontSize(), gap = ImGui::GetStyle().ItemSpacing.x;
    const ImVec2 all = ImGui::GetContentRegionAvail();
    const float line = ImGui::GetTextLineHeightWithSpacing(),
                choices = ImGui::GetFrameHeightWithSpacing();
    const float strip = std::max(em * 3, (all.y - choices - 2 * line) * 0.34f);
    const float wide = std::floor((all.x - gap) * 0.62f), left = ImGui::GetCursorPosX();
    ui::text(std::string("Build times of the latest frames, A and B") +
                 (strip_scale(live).traced ? "; line: trace" : ""),
             colour::dim);
    ImGui::SameLine(left + wide + gap);
    ui::text("Levels during one build, root at the top", colour::dim);
    ui::hint(
        "When the nodes of each level were finished in the recorded builds that the maps play, in "
        "shares of their events: from the first to the last node, the middle half of them strong. "
        "A recording has an order of events and no times.");
    draw_strip(state, {wide, strip});
    ImGui::SameLine(left + wide + gap);
    draw_levels_timeline(state, all.x - gap - wide, strip);
    draw_map_legend(state, live.heap, "The pool during one build");
    // The recorded builds are played over and over, in eight seconds.
    if (!live.frozen)
      live.heap.place = std::fmod(live.heap.place + ImGui::GetIO().DeltaTime / 8, 1.0);
    const float height = all.y - choices - strip - 2 * line - 2 * ImGui::GetStyle().ItemSpacing.y;
    const std::size_t count = live.heap.recordings.size();
    if (count == 0) {
      ui::dim_text("The pools are shown once a build of each side has been recorded.");
      ImGui::Dummy({0, std::max(0.0f, height - ImGui::GetTextLineHeightWithSpacing())});
    }
    for (std::size_t i = 0; i < count && i < 2; ++i) {
      if (i) ImGui::SameLine();
      draw_map(state, live.heap, i, (all.x - gap) / 2, height);
    }
    draw_choices(state);
  }
  ImGui::End();
}

}  // namespace heapwood::viewer
