// SPDX-License-Identifier: MIT
// The tables of `heapwood stress`.
#pragma once

#include <string>
#include <vector>

#include "bench/results/table.hpp"
#include "bench/stress.hpp"

namespace heapwood::app {

// Times, refused requests, counts of P: one column per point, or one per figure for a single point.
bench::Table stress_table(const std::vector<bench::StressRow>& rows);
// The same for tests of space.
bench::Table stress_space_table(const std::vector<bench::StressRow>& rows);
// Fragmentation at the peak and at the end; no columns if no pool could be inspected.
bench::Table stress_memory_table(const std::vector<bench::StressRow>& rows);
// Figures that (nearly) do not depend on the point: metadata, registers; no columns if neither is
// known.
bench::Table stress_allocator_table(const std::vector<bench::StressRow>& rows);
// Every figure of each row, for --format csv.
bench::Table stress_flat_table(const std::vector<bench::StressRow>& rows);
// Method and checks, one line each.
std::vector<std::string> stress_notes(const std::vector<bench::StressRow>& rows);

}  // namespace heapwood::app
