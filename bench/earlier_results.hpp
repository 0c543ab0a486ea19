// SPDX-License-Identifier: MIT
// What --resume takes from the results file of an earlier run, and what stays in the file.
#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench_runner.hpp"
#include "bench/results/json_report.hpp"

namespace heapwood::bench {

// The report of an earlier run, and those of its results that replace measurements.
template <class Row>
struct Earlier : EarlierReport {
  std::vector<Row> kept;
};

// reuse(result) returns a complete result of the same work as a row; otherwise nothing, or it
// throws std::exception: a result of another version. Empty if there is no such file; throws as
// read_report().
template <class Row, class Reuse>
Earlier<Row> read_earlier(const std::string& path, const simt::DeviceInfo& device,
                          const char* schema, Reuse reuse) {
  Earlier<Row> earlier{read_report(path, device, schema), {}};
  for (const Json& result : earlier.results) {
    try {
      if (std::optional<Row> row = reuse(result)) earlier.kept.push_back(std::move(*row));
    } catch (const std::exception&) {
      // It stays in the file as it is.
    }
  }
  return earlier;
}

// Reads the earlier results of a benchmark of builds. Prints notes of what is reused and of what
// has changed.
Earlier<Result> read_earlier_results(const std::string& path, const BenchJob& job);

// Appends earlier results to a report of new ones. A new result replaces an earlier one of the same
// measurement, also if the file or settings that do not identify it (`runs`, time limits) have
// changed. But the earlier one stays in its place if it has more runs with the same settings, or if
// the new one has none. Returns the number of these.
std::size_t add_earlier(Json& report, const std::vector<Json>& earlier);

}  // namespace heapwood::bench
