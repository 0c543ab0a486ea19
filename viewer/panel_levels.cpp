// SPDX-License-Identifier: MIT
// The timeline by level in the Live tab: when each level of the tree was built, with A and with B.
#include <fmt/format.h>

#include <algorithm>

#include "bench/results/format.hpp"
#include "viewer/level_spans.hpp"
#include "viewer/panels.hpp"
#include "viewer/theme.hpp"

namespace heapwood::viewer {

namespace {

std::string span_text(const std::vector<LevelSpan>& spans, unsigned depth, const char* side) {
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

}  // namespace

void draw_levels_timeline(State& state, float width, float height) {
  HeapView& heap = state.live.heap;
  const float gap = ImGui::GetStyle().ItemSpacing.x, half = (width - gap) / 2;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  ImGui::InvisibleButton("levels", {std::max(width, 1.0f), std::max(height, 1.0f)});
  state.places.note("levels");
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
    draw.AddRectFilled({left, at.y}, {left + half, at.y + height}, IM_COL32(255, 255, 255, 7), 4);
    ImVec4 shade = side == 0 ? colour::accent : colour::second;
    shade.w = 0.3f;
    const ImU32 faint = ImGui::GetColorU32(shade);
    shade.w = 0.95f;
    const ImU32 strong = ImGui::GetColorU32(shade);
    for (const LevelSpan& span : spans[side]) {
      const float low = at.y + row * static_cast<float>(span.depth),
                  high = low + std::max(1.0f, row - 0.5f);
      draw.AddRectFilled({x(span.first), low}, {x(span.last) + 1, high}, faint);
      draw.AddRectFilled({x(span.quarter), low}, {x(span.three_quarters) + 1, high}, strong);
    }
    if (!spans[side].empty())
      draw.AddLine({x(heap.place), at.y}, {x(heap.place), at.y + height},
                   IM_COL32(255, 255, 255, 150));
  }
  state.places.texts["levels"] =
      fmt::format("A {} levels; B {} levels", spans[0].size(), spans[1].size());
  if (!ImGui::IsItemHovered() || (spans[0].empty() && spans[1].empty())) return;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const float from = mouse.x < at.x + half + gap / 2 ? at.x : at.x + half + gap;
  // The recordings are played on from there.
  if (ImGui::IsItemActive())
    heap.place = std::clamp(static_cast<double>((mouse.x - from) / half), 0.0, 1.0);
  const auto depth =
      std::min(deepest, static_cast<unsigned>(std::max(0.0f, (mouse.y - at.y) / row)));
  ImGui::SetTooltip("level %u%s%s\nclick: the pools at this moment", depth,
                    span_text(spans[0], depth, "A").c_str(),
                    span_text(spans[1], depth, "B").c_str());
}

}  // namespace heapwood::viewer
