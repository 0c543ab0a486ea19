// SPDX-License-Identifier: MIT
// `heapwood merge`: joins the results files of one sweep (docs/sweeps.md).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bench/compare/compare.hpp"
#include "bench/program/command_files.hpp"
#include "bench/program/command_options.hpp"
#include "bench/results/json_report.hpp"

namespace heapwood::bench {

// --shard I/N: measures one of N parts of a command's cases, so that a sweep runs as N processes
// (docs/sweeps.md). A shard has every N-th case, because neighbouring cases take similar times; so
// all shards take about equally long.

struct Shard {
  std::size_t number = 1, count = 1;

  bool is_whole() const { return count == 1; }
  bool operator==(const Shard&) const = default;
};

std::string shard_text(const Shard& shard);  // "2/4"
Shard parse_shard(const std::string& text);  // throws Error{Exit::usage}

// The variables that Slurm sets in the tasks of an array; "" if not set.
struct SlurmArray {
  std::string id, min, max, step, count;
};
SlurmArray slurm_array();
// The shard of a task of the array; 1 of 1 if there is no array. Throws Error{Exit::usage} if the
// numbers of the tasks are not evenly spaced.
Shard shard_of_array(const SlurmArray& array);

void add_shard_option(CommandOptions& command, std::string& text);
// The shard that --shard names. Without the option, prints a note and returns the shard of the
// Slurm array's task, if this process is one.
Shard chosen_shard(const std::string& text);

template <class T>
std::vector<T> shard_of(const std::vector<T>& cases, const Shard& shard) {
  std::vector<T> some;
  for (std::size_t i = shard.number - 1; i < cases.size(); i += shard.count)
    some.push_back(cases[i]);
  return some;
}

// Throws Error{Exit::usage} if the results file is of another shard, which writing would delete.
void check_shard_file(const std::string& path, const Shard& shard);
// Adds {"shard": {"number", "count"}}, except for shard 1 of 1.
void add_shard(Json& report, const Shard& shard);
// For a shard without cases, because there are fewer cases than shards: writes the report without
// results, for merge, and a note. `file` may be nullptr.
void finish_empty_shard(OutputFile* file, Json report, const Shard& shard);

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
