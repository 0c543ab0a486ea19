// SPDX-License-Identifier: MIT
// Reads reports for --resume.
#include <fmt/format.h>

#include "bench/results/device_record.hpp"
#include "bench/results/json_file.hpp"
#include "bench/results/json_report.hpp"

namespace heapwood::bench {

EarlierReport read_report(const std::string& path, const simt::DeviceInfo& device,
                          const char* schema) {
  EarlierReport report;
  const std::optional<Json> read = read_json(path);
  if (!read) return report;
  const Json& json = *read;
  if (!json.is_object() || json.value("schema", Json()) != schema || !json.contains("results") ||
      !json["results"].is_array()) {
    throw Error(
        Exit::failed,
        fmt::format("{}: not a {} report; --resume needs a report or a new file", path, schema));
  }
  Json mine = to_json(device), theirs = json.value("device", Json::object());
  for (Json* each : {&mine, &theirs}) each->erase("memory_bytes");
  if (!same(mine, theirs)) {
    const bool known = theirs.is_object() && theirs.contains("name");
    const std::string threads =
        known && theirs.contains("threads") ? ", " + theirs["threads"].dump() + " threads" : "";
    throw Error(
        Exit::usage,
        fmt::format("{}: measured on another device ({}{}); choose another file with --json", path,
                    known ? theirs["name"].dump() : "unknown", threads));
  }
  keep_earlier_record(json);
  report.results.assign(json["results"].begin(), json["results"].end());
  if (json.contains("git")) report.git_sha = text_at(json["git"], "sha");
  return report;
}

bool same(const Json& a, const Json& b) { return nlohmann::json(a) == nlohmann::json(b); }

std::string sorted_text(const Json& json) {
  return nlohmann::json(json).dump(-1, ' ', true, Json::error_handler_t::replace);
}

bool reusable(const Json& result, const BuildSettings& settings) {
  try {
    const Result earlier = result_from_json(result);
    const bool measured = earlier.status == Status::ok || earlier.status == Status::incomplete;
    return measured && same(to_json(earlier.settings), to_json(settings)) &&
           (earlier.requests || earlier.levels) &&
           earlier.runs_ms.size() == static_cast<std::size_t>(settings.runs);
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace heapwood::bench
