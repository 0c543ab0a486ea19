// SPDX-License-Identifier: MIT
// What --resume reuses from the results file of an earlier run, and what remains in the file.
#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/results/json_report.hpp"

namespace heapwood::bench {

// The report of an earlier run, and its results that replace measurements.
template <class Row>
struct Earlier : EarlierReport {
  std::vector<Row> kept;
};

// Reads an earlier report. reuse(result) returns a row if the result is complete and of the same
// work; otherwise it returns nothing or, for a result of another version, throws std::exception.
// Returns an empty report if there is no such file; throws what read_report() throws.
template <class Row, class Reuse>
Earlier<Row> read_earlier(const std::string& path, const simt::DeviceInfo& device,
                          const char* schema, Reuse reuse) {
  Earlier<Row> earlier{read_report(path, device, schema), {}};
  for (const Json& result : earlier.results) {
    try {
      if (std::optional<Row> row = reuse(result)) earlier.kept.push_back(std::move(*row));
    } catch (const std::exception&) {
      // A result of another version remains in the file as it is.
    }
  }
  return earlier;
}

// Reads the rows that are measured with these settings and that is_same() accepts.
template <class Row, class Settings, class Same>
Earlier<Row> read_earlier_rows(const std::string& path, const simt::DeviceInfo& device,
                               const char* schema, const Settings& settings, Same is_same) {
  const auto reuse = [&, wanted = to_json(settings)](const Json& result) -> std::optional<Row> {
    Row row = read_described<Row>(result);
    if (result.at("settings") != wanted || !row.is_measured() || !is_same(row)) return std::nullopt;
    row.settings = settings;
    return row;
  };
  return read_earlier<Row>(path, device, schema, reuse);
}

// Whether a row has all its runs. With a budget a slow candidate may have fewer and be complete.
template <class Settings>
bool has_all_runs(std::size_t runs, const Settings& settings) {
  return runs == static_cast<std::size_t>(settings.runs) ||
         (settings.budget_seconds > 0 && runs > 0);
}

// Appends earlier results to a report of new ones. A new result replaces an earlier one of the same
// measurement, even if the scene file or settings that do not identify it (`runs`, time limits)
// have changed. The earlier one is kept instead if it has more runs with the same settings, or if
// the new one has none. Returns how many are kept.
std::size_t add_earlier(Json& report, const std::vector<Json>& earlier);

}  // namespace heapwood::bench
