// SPDX-License-Identifier: MIT
// Which allocator serves the program of a trace fastest, and which with the least memory, judged by
// its replays.
#pragma once

#include <string>
#include <vector>

#include "bench/replay_bench.hpp"

namespace heapwood::bench {

struct ReplayChoice {
  std::string text;  // one line
  // Ids; empty if undecided.
  std::string fastest, smallest;
};

// Considers the allocators that free single blocks and served every request. Time is compared in
// the largest pool. For memory, one that serves the program in a smaller pool than all others is
// best; else, the bytes held at the peak decide. An allocator is named only where the quartiles of
// its samples do not overlap the others'.
ReplayChoice choose_allocators(const std::vector<ReplayRow>& rows);

}  // namespace heapwood::bench
