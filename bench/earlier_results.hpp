// SPDX-License-Identifier: MIT
// What --resume takes from the results file of an earlier run, and what it leaves in there.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/bench_runner.hpp"
#include "bench/results/json_report.hpp"

namespace heapwood::bench {

struct EarlierResults {
  std::vector<Result> reused;  // replace measurements of the job
  // Measured again, because they are partial or of another mesh of that name. Each stays in the
  // file until its new result has as many runs.
  std::vector<Json> remeasured;
  std::vector<Json> others;  // of other scenes, allocators and settings: stay in the file
};

// Prints notes of what is reused and of what has changed. Nothing if there is no such file; throws
// as read_report().
EarlierResults read_earlier_results(const std::string& path, const BenchJob& job);

// Puts those of `remeasured` that are better into the report, in the place of the new results.
// Returns their number.
std::size_t keep_better(Json& report, const std::vector<Json>& remeasured);

}  // namespace heapwood::bench
