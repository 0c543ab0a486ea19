// SPDX-License-Identifier: MIT
// The tables of `heapwood graph`.
#pragma once

#include <vector>

#include "bench/graph_bench.hpp"
#include "bench/results/table.hpp"

namespace heapwood::app {

// Median times: a column per phase and batch, a line per candidate.
bench::Table graph_time_table(const std::vector<bench::GraphRow>& rows);
// Million edges per second; no columns without updates.
bench::Table graph_rate_table(const std::vector<bench::GraphRow>& rows);
// Memory after init and, if there are mixed updates, after the last round; no columns if no pool
// could be inspected.
bench::Table graph_memory_table(const std::vector<bench::GraphRow>& rows);
// One line per candidate, phase and batch, for --format csv.
bench::Table graph_flat_table(const std::vector<bench::GraphRow>& rows);

}  // namespace heapwood::app
