// SPDX-License-Identifier: MIT
// The tables and the JSON of `heapwood stress`.
#pragma once

#include <string>
#include <vector>

#include "app/json_report.hpp"
#include "app/stress.hpp"
#include "app/table.hpp"

namespace heapwood::app {

inline constexpr const char* stress_schema = "heapwood.stress/1";

// Times, refused requests, counts of P: one column per point, or one per figure for a single point.
Table stress_table(const std::vector<StressRow>& rows);
// The same for tests of space.
Table stress_space_table(const std::vector<StressRow>& rows);
// Fragmentation at the peak and at the end; no columns if no pool could be inspected.
Table stress_memory_table(const std::vector<StressRow>& rows);
// Figures that (nearly) do not depend on the point: metadata, registers; no columns if neither is
// known.
Table stress_allocator_table(const std::vector<StressRow>& rows);
// Every figure of each row, for --format csv.
Table stress_flat_table(const std::vector<StressRow>& rows);
// Method and checks, one line each.
std::vector<std::string> stress_notes(const std::vector<StressRow>& rows);

Json to_json(const StressRow& row);
Json stress_report(const std::vector<std::string>& argv, const simt::DeviceInfo& device,
                   const std::vector<StressRow>& rows);

}  // namespace heapwood::app
