// SPDX-License-Identifier: MIT
#include "viewer/level_spans.hpp"

#include <algorithm>
#include <cmath>

namespace heapwood::viewer {

std::vector<LevelSpan> level_spans(const Recording& recording) {
  std::vector<LevelSpan> spans;
  if (recording.points.empty() || recording.in_rounds()) return spans;
  for (unsigned depth = 0; depth <= recording.depth; ++depth) {
    const auto nodes = [&](const Recording::Point& point) {
      return point.levels[depth].inner + point.levels[depth].leaves;
    };
    const std::uint32_t all = nodes(recording.points.back());
    if (all == 0) continue;
    // The first point with so many nodes of the level.
    const auto place_with = [&](std::uint32_t count) {
      const auto point = std::partition_point(
          recording.points.begin(), recording.points.end(),
          [&](const Recording::Point& earlier) { return nodes(earlier) < count; });
      return recording.place_of(point->time);
    };
    const auto share = [&](double part) {
      return place_with(static_cast<std::uint32_t>(std::ceil(part * all)));
    };
    spans.push_back(
        {depth, all, place_with(1), share(0.25), share(0.5), share(0.75), place_with(all)});
  }
  return spans;
}

}  // namespace heapwood::viewer
