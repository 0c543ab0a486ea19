// SPDX-License-Identifier: MIT
// The results of `heapwood graph` as JSON (schema heapwood.graph/1) and back.
#pragma once

#include <string>
#include <vector>

#include "bench/earlier_results.hpp"
#include "bench/graph_bench.hpp"
#include "bench/results/json_report.hpp"

namespace heapwood::bench {

class JsonFields;

inline constexpr const char* graph_schema = "heapwood.graph/1";

Json to_json(const GraphSettings& settings);
Json to_json(const GraphRow& row);
// All but the settings can be read back.
void describe(JsonFields& fields, GraphRow& row);
Json graph_report(const std::vector<std::string>& argv, const simt::DeviceInfo& device,
                  const std::vector<GraphRow>& rows);
// For --resume: complete rows of the same graph and settings.
Earlier<GraphRow> read_graphs(const std::string& path, const simt::DeviceInfo& device,
                              const GraphRow& head);

}  // namespace heapwood::bench
