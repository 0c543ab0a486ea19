// SPDX-License-Identifier: MIT
// Values by their names on the command line.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "simt/error.hpp"

namespace heapwood::bench {

template <class Value, std::size_t n>
const char* name_in(const std::pair<const char*, Value> (&names)[n], Value value) {
  for (const auto& [text, known] : names) {
    if (known == value) return text;
  }
  return "";
}

template <class Value, std::size_t n>
std::string all_names(const std::pair<const char*, Value> (&names)[n]) {
  std::string all;
  for (const auto& [text, value] : names) all += (all.empty() ? "" : ", ") + std::string(text);
  return all;
}

// Throws Error{Exit::usage} that lists the names, after `more`.
template <class Value, std::size_t n>
Value find_in(const std::pair<const char*, Value> (&names)[n], const std::string& option,
              const std::string& text, const std::string& more = "") {
  for (const auto& [name, value] : names) {
    if (text == name) return value;
  }
  throw Error(Exit::usage, option + " '" + text + "': use " + more + all_names(names));
}

}  // namespace heapwood::bench
