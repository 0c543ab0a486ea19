// SPDX-License-Identifier: MIT
// `heapwood merge`: the results files of one sweep in one file (docs/sweeps.md).
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/compare/compare.hpp"
#include "bench/shard.hpp"

namespace heapwood::bench {

struct Merged {
  Json json;
  std::size_t results = 0;  // of a reproduction: cases
  std::size_t failed = 0;   // results that are not `ok`
  // What is not in the file: "shard 3 of 4", "2 scenes of shard 1 of 4", "12 of 80 cases",
  // "the rest of an interrupted run".
  std::vector<std::string> missing;
};

// The results of all shards, ordered by shard, and those that only `earlier`, a previous output,
// has. The order of the files does not matter, and merging twice changes nothing.
//
// Throws Error{Exit::usage} that names a file: of another command, of other settings, with results
// that another file has, too, but which differ; and, without `allow_mixed`, of another device,
// driver or commit. With it, each result says on which device it was measured. In any case each
// says on which GPU of a model, where that is known.
Merged merge_results(const std::optional<ResultsFile>& earlier, std::vector<ResultsFile> shards,
                     bool allow_mixed);

// Throws Error{Exit::usage} that begins with the file's path.
[[noreturn]] void refuse_file(const ResultsFile& file, const std::string& why);

std::string list_text(const std::set<std::string>& values);

// The shard of a file, or of a record in `shards`. read_results() has checked the types.
Shard shard_of_json(const Json& shard);
// The whole, if the file is of no shard.
Shard shard_in(const ResultsFile& file);

// The command line without what differs between shards of one command.
std::vector<std::string> command_of(const Json& json);

// Results of `trace` have no status.
bool is_ok(const Json& result);

// Throws as merge_results(), unless both files are of one sweep.
void check_same_sweep(const ResultsFile& first, const ResultsFile& file, bool allow_mixed);

// After the checks of merge_results().
Merged merge_reproductions(const std::optional<ResultsFile>& earlier,
                           const std::vector<ResultsFile>& parts);

}  // namespace heapwood::bench
