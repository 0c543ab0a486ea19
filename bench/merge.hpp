// SPDX-License-Identifier: MIT
// `heapwood merge`: joins the results files of one sweep (docs/sweeps.md).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bench/compare/compare.hpp"
#include "bench/shard.hpp"

namespace heapwood::bench {

struct Merged {
  Json json;
  std::size_t results = 0;  // for a reproduction the number of cases
  std::size_t failed = 0;   // results that are not `ok`
  // What the merged file lacks: "shard 3 of 4", "2 scenes of shard 1 of 4", "12 of 80 cases", "the
  // rest of an interrupted run".
  std::vector<std::string> missing;
};

// Merges the results of all shards, ordered by shard, and those that only `earlier`, a previous
// output, has. The order of the files does not matter, and merging twice changes nothing.
//
// Throws an Error{Exit::usage} that names a file which is of another command or other settings, or
// has a result that differs from another file's; without `allow_mixed` also one of another device,
// driver or commit. With `allow_mixed` each result says on which device it was measured. Each
// result also says on which GPU of a model, if that is known.
Merged merge_results(const std::optional<ResultsFile>& earlier, std::vector<ResultsFile> shards,
                     bool allow_mixed);

}  // namespace heapwood::bench
