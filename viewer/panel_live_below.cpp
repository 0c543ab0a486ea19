// SPDX-License-Identifier: MIT
// Below the picture of the Live tab: times of the latest frames, the levels, the pools, and the
// allocators of the number keys.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/results/format.hpp"
#include "viewer/panel_live.hpp"
#include "viewer/panels.hpp"
#include "viewer/widgets.hpp"

namespace heapwood::viewer {

using namespace live_tab;

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

// Times of the latest frames. A click freezes and selects a frame.
void draw_strip(State& state, ImVec2 size) {
  LiveView& live = state.live;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float em = ImGui::GetFontSize();
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  draw.AddRectFilled(at, {at.x + size.x, at.y + size.y}, IM_COL32(255, 255, 255, 7), 4);
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
  ImGui::InvisibleButton("frames", {std::max(size.x, 1.0f), std::max(size.y, 1.0f)});
  state.places.note("frames");
  std::optional<std::uint64_t> under;
  if (ImGui::IsItemHovered()) {
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
      draw.AddRectFilled({x(*marked), at.y}, {x(*marked) + step, at.y + size.y},
                         IM_COL32(255, 255, 255, 28));
  }
  for (std::size_t side = 0; side < 2; ++side) {
    for (const LiveSample& sample : live.sides[side].times.samples()) {
      if (sample.frame < first) continue;
      const float left = x(sample.frame) + step * (side == 0 ? 0.08f : 0.5f);
      const float right = left + std::max(1.0f, step * 0.4f);
      draw.AddRectFilled({left, y(sample.ms)}, {right, at.y + size.y},
                         sample.complete ? faint(side, 0.85f) : ImGui::GetColorU32(colour::error));
    }
  }
  if (scale.traced) {
    std::optional<ImVec2> before;
    for (const LiveSample& sample : live.sides[0].times.samples()) {
      if (sample.frame < first || sample.trace_ms <= 0) continue;
      const ImVec2 place{x(sample.frame) + step / 2, y(sample.trace_ms)};
      if (before) draw.AddLine(*before, place, ImGui::GetColorU32(colour::hole), 1.5f);
      before = place;
    }
  }
  const auto line = [&](double ms, const std::string& text) {
    draw.AddLine({at.x, y(ms)}, {at.x + size.x, y(ms)}, IM_COL32(255, 255, 255, 70));
    const float wide = ImGui::CalcTextSize(text.c_str()).x;
    // Below the line, unless it is near the lower edge.
    const float top = std::min(y(ms) + 2, at.y + size.y - em * 1.25f);
    draw.AddRectFilled({at.x + 4, top}, {at.x + wide + 10, top + em * 1.2f},
                       IM_COL32(14, 16, 19, 190), 3);
    draw.AddText({at.x + 7, top}, ImGui::GetColorU32(ImGuiCol_Text), text.c_str());
  };
  if (maximum > 16.7 * 1.02 && maximum < 16.7 * 8)
    line(16.7, "16.7 ms: 60 frames/s");
  else if (maximum > 0.001)
    line(round_number(0.95 * maximum), fmt::format("{:g} ms", round_number(0.95 * maximum)));
  if (!under) under = live.selected;
  if (!under || !ImGui::IsItemHovered()) return;
  std::string text = fmt::format("frame {}", bench::count_text(*under));
  double rays = 0;
  for (std::size_t side = 0; side < 2; ++side) {
    for (const LiveSample& sample : live.sides[side].times.samples()) {
      if (sample.frame != *under) continue;
      text +=
          fmt::format("\n{}  {} {}", names[side], live.sides[side].label(),
                      sample.complete ? bench::figure_text(sample.ms) + " ms" : "incomplete tree");
      if (side == 0 && sample.trace_ms > 0) rays = sample.trace_ms;
    }
  }
  if (rays > 0) text += fmt::format("\ntrace  {} ms", bench::figure_text(rays));
  if (!live.frozen) text += "\nclick to freeze";
  ImGui::SetTooltip("%s", text.c_str());
}

// The number keys.
void draw_choices(State& state) {
  const auto choices = live_choices(state);
  const float em = ImGui::GetFontSize();
  ImGui::AlignTextToFramePadding();
  ImGui::TextDisabled("B (Shift: A)");
  ui::hint("The number keys choose allocator B, with Shift allocator A.");
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {em * 0.35f, ImGui::GetStyle().FramePadding.y});
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const bool a = choices[i] == state.choice.allocator, b = choices[i] == state.choice.other;
    const std::string text = fmt::format("{} {}", i + 1, choices[i]->traits->label);
    const float width = ImGui::CalcTextSize(text.c_str()).x + em * 0.7f;
    ImGui::SameLine(0, em * 0.35f);
    if (ImGui::GetContentRegionAvail().x < width) break;  // all of them are in the lists
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
  ImGui::SetNextWindowPos({area.x, area.y});
  ImGui::SetNextWindowSize({area.width, area.height});
  if (ImGui::Begin("live below", nullptr, fixed)) {
    const float em = ImGui::GetFontSize(), gap = ImGui::GetStyle().ItemSpacing.x;
    const ImVec2 all = ImGui::GetContentRegionAvail();
    const float line = ImGui::GetTextLineHeightWithSpacing(),
                choices = ImGui::GetFrameHeightWithSpacing();
    const float strip = std::max(em * 3, (all.y - choices - 2 * line) * 0.34f);
    const float wide = std::floor((all.x - gap) * 0.62f), left = ImGui::GetCursorPosX();
    ImGui::TextDisabled("Build times of the latest frames, A and B%s",
                        strip_scale(live).traced ? "; line: trace" : "");
    ImGui::SameLine(left + wide + gap);
    ImGui::TextDisabled("Levels during one build, root at the top");
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
    const float width = (all.x - gap) / 2;
    const std::size_t count = live.heap.recordings.size();
    if (count == 0) {
      ui::dim_text("The pools are shown once a build of each side has been recorded.");
      ImGui::Dummy({0, std::max(0.0f, height - ImGui::GetTextLineHeightWithSpacing())});
    }
    for (std::size_t i = 0; i < count && i < 2; ++i) {
      if (i) ImGui::SameLine();
      draw_map(state, live.heap, i, width, height);
    }
    draw_choices(state);
  }
  ImGui::End();
}

}  // namespace heapwood::viewer
