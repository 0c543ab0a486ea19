// SPDX-License-Identifier: MIT
// `heapwood merge`: the results files of one sweep in one file (docs/sweeps.md).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bench/compare/compare.hpp"

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

}  // namespace heapwood::bench
