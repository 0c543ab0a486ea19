// SPDX-License-Identifier: MIT
// The tables of `heapwood animate`.
#pragma once

#include <vector>

#include "bench/animate_bench.hpp"
#include "bench/results/table.hpp"

namespace heapwood::app {

// One row per allocator: the medians of the parts of a frame.
bench::Table animate_time_table(const std::vector<bench::AnimateRow>& rows);
// The pools after the first and the last frame; without columns if no pool was kept.
bench::Table animate_pool_table(const std::vector<bench::AnimateRow>& rows);
// For CSV: all figures of a row as one line.
bench::Table animate_flat_table(const std::vector<bench::AnimateRow>& rows);
// How it was measured, for the lines below the tables.
std::vector<std::string> animate_method_lines(const std::vector<bench::AnimateRow>& rows);

}  // namespace heapwood::app
