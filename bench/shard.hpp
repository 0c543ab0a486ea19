// SPDX-License-Identifier: MIT
// --shard I/N: measures one of N parts of a command's cases, so that a sweep runs as N processes
// (docs/sweeps.md). A shard has every N-th case, because neighbouring cases take similar times; so
// all shards take about equally long.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/program/command_options.hpp"
#include "bench/results/json.hpp"

namespace heapwood::bench {

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

}  // namespace heapwood::bench
