// SPDX-License-Identifier: MIT
#include "bench/results/json_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/program/input_file.hpp"
#include "bench/program/out_of_memory.hpp"
#include "scenes/file.hpp"

namespace heapwood::bench {

namespace {
// Writing JSON is recursive.
constexpr std::size_t max_depth = 100;
}  // namespace

std::optional<Json> read_json(const std::string& path) {
  const LackOfMemoryEnds end;
  const std::optional<std::string> text = read_text(path, Exit::failed);
  if (!text) return std::nullopt;
  if (scenes::json_nesting(*text) > max_depth)
    throw Error(
        Exit::failed,
        fmt::format("{}: nested more than {} levels deep; choose another file", path, max_depth));
  try {
    return Json::parse(*text);
  } catch (const Json::parse_error& error) {
    const auto end =
        text->begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text->size()));
    throw Error(Exit::failed, fmt::format("{}: line {}: not valid JSON; repair it or choose "
                                          "another file",
                                          path, 1 + std::count(text->begin(), end, '\n')));
  } catch (const Json::exception&) {  // a number out of range
    throw Error(Exit::failed,
                fmt::format("{}: not valid JSON; repair it or choose another file", path));
  }
}

std::string text_at(const Json& json, const char* key) {
  if (!json.is_object()) return "";
  const auto value = json.find(key);
  return value != json.end() && value->is_string() ? value->get<std::string>() : "";
}

}  // namespace heapwood::bench
