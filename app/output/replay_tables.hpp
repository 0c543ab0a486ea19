// SPDX-License-Identifier: MIT
// The tables of `heapwood replay`.
#pragma once

#include <vector>

#include "bench/replay_bench.hpp"
#include "bench/results/table.hpp"

namespace heapwood::app {

// What a trace contains: requests, sizes, memory in use, lifetimes.
bench::Table trace_table(const bench::ReplayBench& bench);
// Time, refusals and memory at the peak, by pool.
bench::Table replay_table(const bench::ReplayBench& bench,
                          const std::vector<bench::ReplayRow>& rows);
// Held bytes per byte in use, over time.
bench::Table replay_memory_table(const bench::ReplayBench& bench,
                                 const std::vector<bench::ReplayRow>& rows);
// One line per pool and allocator, for CSV.
bench::Table replay_flat_table(const std::vector<bench::ReplayRow>& rows);

}  // namespace heapwood::app
