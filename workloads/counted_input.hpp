// SPDX-License-Identifier: MIT
// Inputs of workloads that are named NAME:COUNT[:SEED], such as lognormal:10m:7.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

namespace heapwood::workloads {

struct CountedInput {
  std::string name;
  std::uint64_t count = 1'000'000, seed = 1;
};

// Parses an input of the command `command`; COUNT is the number of `what`. Returns nothing if the
// name is none of `names`. Throws Error{Exit::usage} for a wrong count or seed.
std::optional<CountedInput> parse_counted(const std::string& text, const char* command,
                                          const char* what,
                                          std::initializer_list<const char*> names,
                                          std::uint64_t max_count);

}  // namespace heapwood::workloads
