// SPDX-License-Identifier: MIT
// What files must have in common to be merged (bench/merge.hpp).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "bench/compare/cells.hpp"
#include "bench/shard.hpp"

namespace heapwood::bench {

// Throws Error{Exit::usage} that begins with the file's path.
[[noreturn]] void refuse_file(const ResultsFile& file, const std::string& why);

std::string list_text(const std::set<std::string>& values);

// Of a file or of a record in `shards`; read_results() has checked the types.
Shard shard_of_json(const Json& shard);
// The whole, if the file is of no shard.
Shard shard_in(const ResultsFile& file);

// The command line without what differs between shards of one command.
std::vector<std::string> command_of(const Json& json);

// Results of `trace` have no status.
bool is_ok(const Json& result);

// Throws as merge_results(), unless both files are of one sweep.
void check_same_sweep(const ResultsFile& first, const ResultsFile& file, bool allow_mixed);

}  // namespace heapwood::bench
