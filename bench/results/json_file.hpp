// SPDX-License-Identifier: MIT
// JSON files that a command continues.
#pragma once

#include <optional>
#include <string>

#include "bench/results/json.hpp"

namespace heapwood::bench {

// nullopt if there is no such file. Throws Error{Exit::failed} that names the file and the line if
// it is not JSON, or if it is nested so deeply that no report of this program can be.
std::optional<Json> read_json(const std::string& path);

// The string at this key of an object, or "": the file may have been edited.
std::string text_at(const Json& json, const char* key);

}  // namespace heapwood::bench
