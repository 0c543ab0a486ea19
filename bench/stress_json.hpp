// SPDX-License-Identifier: MIT
// The results of stress tests as JSON (schema heapwood.stress/1).
#pragma once

#include <string>
#include <vector>

#include "bench/results/json_report.hpp"
#include "bench/stress.hpp"

namespace heapwood::bench {

inline constexpr const char* stress_schema = "heapwood.stress/1";

Json to_json(const StressRow& row);
Json stress_report(const std::vector<std::string>& argv, const simt::DeviceInfo& device,
                   const std::vector<StressRow>& rows);

}  // namespace heapwood::bench
