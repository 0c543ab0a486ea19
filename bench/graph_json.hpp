// SPDX-License-Identifier: MIT
// The results of `heapwood graph` as JSON (schema heapwood.graph/1) and back.
#pragma once

#include <string>
#include <vector>

#include "bench/graph_bench.hpp"
#include "bench/results/json_report.hpp"

namespace heapwood::bench {

inline constexpr const char* graph_schema = "heapwood.graph/1";

Json to_json(const GraphSettings& settings);
Json to_json(const GraphRow& row);
// Throws std::exception if keys are missing or of the wrong type.
GraphRow graph_row_from_json(const Json& json);
// `others` follow the rows.
Json graph_report(const std::vector<std::string>& argv, const simt::DeviceInfo& device,
                  const std::vector<GraphRow>& rows, const std::vector<Json>& others = {});

// The results of a report for --resume: rows of the same graph and settings that are complete, and
// all other results. Nothing if there is no such file. Throws as read_report() does.
struct EarlierGraphs {
  std::vector<GraphRow> kept;
  std::vector<Json> others;
};
EarlierGraphs read_graphs(const std::string& path, const simt::DeviceInfo& device,
                          const GraphRow& head);

}  // namespace heapwood::bench
