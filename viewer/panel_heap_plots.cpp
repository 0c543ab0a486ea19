// SPDX-License-Identifier: MIT
// Beside the heap maps: bytes in use and gaps over time, and the nodes by depth that are there at the time, over all that
// there will be.
#include <algorithm>

#include "app/format.hpp"
#include "viewer/panels.hpp"
#include "viewer/widgets.hpp"

namespace heapwood::viewer {

namespace {

// One curve over time; `top` is the value at the upper edge.
template <class Value>
void plot(const Recording& recording, ImVec2 at, ImVec2 size, double top, ImU32 shade, Value value) {
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  ImVec2 last{};
  for (std::size_t i = 0; i < recording.times.size(); ++i) {
    const double x = recording.events ? static_cast<double>(recording.times[i]) / recording.events : 0;
    const ImVec2 point{at.x + static_cast<float>(x) * size.x,
                       at.y + size.y * (1 - static_cast<float>(std::clamp(value(i) / top, 0.0, 1.0)))};
    if (i) draw.AddLine(last, point, shade, 1.6f);
    last = point;
  }
}

}  // namespace

void draw_heap_curves(State& state, float width, float height) {
  const ImVec2 size{width, height};
  HeapView& view = state.heap;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  draw.AddRectFilled(at, {at.x + size.x, at.y + size.y}, IM_COL32(255, 255, 255, 7), 4);
  double most = 1;
  for (const auto& recording : view.recordings) most = std::max(most, static_cast<double>(recording->high_water_bytes));
  std::size_t k = 0;
  for (const auto& recording : view.recordings) {
    if (recording->curve.empty()) continue;
    const bool second = k++ == 1;
    plot(*recording, at, size, most * 1.05, ImGui::GetColorU32(second ? colour::second : colour::accent),
         [&](std::size_t i) { return static_cast<double>(recording->curve[i].used_bytes); });
    plot(*recording, at, size, 1.05, second ? IM_COL32(107, 173, 242, 110) : IM_COL32(242, 189, 92, 170),
         [&](std::size_t i) { return recording->curve[i].external(); });
  }
  const float x = at.x + static_cast<float>(view.place) * size.x;
  draw.AddLine({x, at.y}, {x, at.y + size.y}, IM_COL32(255, 255, 255, 110));
  ImGui::InvisibleButton("curves", size);
  if (ImGui::IsItemActive()) {
    view.playing = false;
    view.place = std::clamp((ImGui::GetIO().MousePos.x - at.x) / size.x, 0.0f, 1.0f);
  }
  ui::hint(
      "Green: bytes in use, to the most there were. Amber: gaps, 0 to 1. Blue: the second allocator. Drag to go "
      "through time.");
}

void draw_heap_levels(State& state, float width, float height) {
  const ImVec2 size{width, height};
  const Recording& recording = *state.heap.recordings.front();
  const auto& now = recording.levels[recording.point(state.heap.time(recording))];
  const auto& end = recording.levels.back();
  std::uint32_t most = 1;
  for (const Recording::Level& level : end) most = std::max(most, level.inner + level.leaves);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float bar = size.y / static_cast<float>(recording.depth + 1);
  ImGui::InvisibleButton("levels", size);
  const bool hovered = ImGui::IsItemHovered();
  for (unsigned depth = 0; depth <= recording.depth; ++depth) {
    const float y = at.y + bar * static_cast<float>(depth), thick = std::max(1.0f, bar - 1);
    const auto length = [&](std::uint32_t n) { return size.x * static_cast<float>(n) / static_cast<float>(most); };
    const std::uint32_t all = end[depth].inner + end[depth].leaves;
    draw.AddRectFilled({at.x, y}, {at.x + std::max(1.0f, length(all)), y + thick}, IM_COL32(255, 255, 255, 16));
    const float inner = length(now[depth].inner), leaves = length(now[depth].leaves);
    draw.AddRectFilled({at.x, y}, {at.x + inner, y + thick}, IM_COL32(104, 196, 134, 255));
    draw.AddRectFilled({at.x + inner, y}, {at.x + inner + leaves, y + thick}, IM_COL32(242, 189, 92, 255));
    if (hovered && ImGui::GetIO().MousePos.y >= y && ImGui::GetIO().MousePos.y < y + bar) {
      ImGui::SetTooltip("depth %u: %s inner nodes, %s leaves; %s in the end", depth,
                        app::count_text(now[depth].inner).c_str(), app::count_text(now[depth].leaves).c_str(),
                        app::count_text(all).c_str());
    }
  }
}

}  // namespace heapwood::viewer
