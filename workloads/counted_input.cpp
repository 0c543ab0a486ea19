// SPDX-License-Identifier: MIT
#include "workloads/counted_input.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "scenes/file.hpp"
#include "simt/error.hpp"

namespace heapwood::workloads {

std::optional<CountedInput> parse_counted(const std::string& text, const char* command,
                                          const char* what,
                                          std::initializer_list<const char*> names,
                                          std::uint64_t max_count) {
  using scenes::concat;
  const std::string lowered = scenes::lower(text);
  std::string_view rest = lowered;
  CountedInput input;
  input.name = scenes::next_part(rest);
  if (std::ranges::find(names, input.name) == names.end()) return std::nullopt;
  const auto refuse = [&](const std::string& why) {
    throw Error(Exit::usage, concat(command, " '", scenes::printable(text), "': ", why));
  };
  if (const std::string_view part = scenes::next_part(rest); !part.empty()) {
    double count = 0;
    if (!scenes::parse_count(part, count) || count != std::round(count) || count < 1 ||
        count > static_cast<double>(max_count))
      refuse(concat("expected 1 to ", max_count, " ", what, ", as in ", input.name, ":10m"));
    input.count = static_cast<std::uint64_t>(count);
  }
  if (const std::string_view part = scenes::next_part(rest); !part.empty()) {
    if (!scenes::parse_number(part, input.seed))
      refuse("the seed is not a whole number below 2^64");
  }
  if (!rest.empty()) refuse(concat("expected ", input.name, ":COUNT[:SEED]"));
  return input;
}

}  // namespace heapwood::workloads
