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
// For CSV: one line per candidate, phase and batch (bench/results/json_columns.hpp).
inline constexpr const char* graph_columns =
    "graph vertices edges max_degree layout allocator label lower_bound pool_bytes "
    "updates=settings/updates rounds=settings/rounds status reason phase=.phase batch=.batch "
    "samples=.runs_ms#|0 median_ms=.median_ms q1_ms=.q1_ms q3_ms=.q3_ms prepare_ms=.prepare_ms~ "
    "changed_edges=.edges million_edges_per_second=.million_edges_per_second "
    "million_edges_per_second_prepared=.million_edges_per_second_prepared moved=.moved "
    "refused=.refused|0 refused_edges=.refused_edges|0 reset_ms~ triangles bfs_levels "
    "block_bytes=memory/block_bytes held_bytes=memory/held_bytes "
    "metadata_bytes=memory/metadata_bytes address_bytes=memory/address_bytes "
    "external_fragmentation=memory/external_fragmentation_merged init=settings/init|each";

}  // namespace heapwood::app
