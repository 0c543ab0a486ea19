// SPDX-License-Identifier: MIT
// The tables and the JSON of `heapwood stress`, from rows alone.
#pragma once

#include <string>
#include <vector>

#include "app/json_report.hpp"
#include "app/stress.hpp"
#include "app/table.hpp"

namespace heapwood::app {

inline constexpr const char* stress_schema = "heapwood.stress/1";

// Times, refused requests, counts of P: a column a point, or a column a figure where there is one point.
Table stress_table(const std::vector<StressRow>& rows);
// The same of tests of space.
Table stress_space_table(const std::vector<StressRow>& rows);
// Fragmentation with most blocks in use and at the end; no columns where no pool could be looked at.
Table stress_memory_table(const std::vector<StressRow>& rows);
// What does not depend on the point, or hardly: metadata, registers; no columns where neither is known.
Table stress_allocator_table(const std::vector<StressRow>& rows);
// A row for each row with every figure, for --format csv.
Table stress_flat_table(const std::vector<StressRow>& rows);
// How it was measured and what was checked, one line each.
std::vector<std::string> stress_notes(const std::vector<StressRow>& rows);

Json to_json(const StressRow& row);
Json stress_report(const std::vector<std::string>& argv, const simt::DeviceInfo& device,
                   const std::vector<StressRow>& rows);

}  // namespace heapwood::app
