// SPDX-License-Identifier: MIT
// The results of `heapwood animate` as JSON (schema heapwood.animate/1) and back.
#pragma once

#include <string>
#include <vector>

#include "bench/animate_bench.hpp"
#include "bench/earlier_results.hpp"
#include "bench/results/json_report.hpp"

namespace heapwood::bench {

class JsonFields;

inline constexpr const char* animate_schema = "heapwood.animate/1";

Json to_json(const AnimateSettings& settings);
Json to_json(const AnimateRow& row);
// All but the settings can be read back.
void describe(JsonFields& fields, AnimateRow& row);
Json animate_report(const std::vector<std::string>& argv, const simt::DeviceInfo& device,
                    const std::vector<AnimateRow>& rows);
// For --resume: complete rows of the same scene and settings.
Earlier<AnimateRow> read_animations(const std::string& path, const simt::DeviceInfo& device,
                                    const AnimateRow& head);

}  // namespace heapwood::bench
