// SPDX-License-Identifier: MIT
// The results of `heapwood replay` as JSON (schema heapwood.replay/1) and back.
#pragma once

#include <string>
#include <vector>

#include "bench/earlier_results.hpp"
#include "bench/replay_bench.hpp"
#include "bench/replay_choice.hpp"
#include "bench/results/json_report.hpp"

namespace heapwood::bench {

class JsonFields;

inline constexpr const char* replay_schema = "heapwood.replay/1";

// All but the settings can be read back.
void describe(JsonFields& fields, ReplayRow& row);
Json to_json(const ReplayRow& row);
Json replay_report(const std::vector<std::string>& argv, const ReplayBench& bench,
                   const std::vector<ReplayRow>& rows, const ReplayChoice& choice);
// For --resume: complete rows of the same trace and settings.
Earlier<ReplayRow> read_replays(const std::string& path, const ReplayBench& bench);

}  // namespace heapwood::bench
