// SPDX-License-Identifier: MIT
// When the levels of a tree were built, from the recording of a build.
#pragma once

#include <vector>

#include "viewer/recording.hpp"

namespace heapwood::viewer {

// Shares of the recording's events, from 0 to 1, up to the precision of its points: when the first
// and the last node of a level was finished, and a quarter, half and three quarters of them.
struct LevelSpan {
  unsigned depth = 0;
  std::uint32_t nodes = 0;
  double first = 0, quarter = 0, half = 0, three_quarters = 0, last = 0;
};
// One per level with nodes, from the root.
std::vector<LevelSpan> level_spans(const Recording& recording);

}  // namespace heapwood::viewer
