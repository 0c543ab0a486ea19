// SPDX-License-Identifier: MIT
// Measurements to JSON (docs/measuring.md, "JSON") and back. Samples are raw; a figure that was
// not measured is absent.
#pragma once

#include <cmath>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "bench/results/json.hpp"
#include "bench/results/json_fields.hpp"
#include "bench/results/result.hpp"
#include "simt/device.hpp"

namespace heapwood::bench {

inline constexpr const char* bench_schema = "heapwood.bench/1";

// JSON has no NaN or infinity: such a figure is omitted.
template <class T>
void put(Json& json, const char* key, const std::optional<T>& value) {
  if (!value) return;
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(*value)) return;
  }
  json[key] = *value;
}

inline void put_finite(Json& json, const char* key, double value) {
  put(json, key, std::optional(value));
}

Json to_json(const simt::DeviceInfo& device);
Json to_json(const BuildSettings& settings);
// Adds an allocator's settings that are not the default.
void put_allocator_settings(Json& settings, const alloc::AllocatorOptions& options);
Json to_json(const registry::CallUse& calls);
Json to_json(const Result& result);
// Throws std::exception if keys are missing or of the wrong type.
Result result_from_json(const Json& json);

inline constexpr std::initializer_list<Status> all_statuses = {Status::ok, Status::skipped,
                                                               Status::incomplete, Status::failed};
// One of `all`, by its name; reading throws if there is none of this name.
template <class Value>
void describe_name(JsonFields& fields, const char* key, Value& value,
                   std::initializer_list<Value> all) {
  fields.named(key, name(value), [&](const std::string& text) {
    for (const Value one : all) {
      if (text == name(one)) return void(value = one);
    }
    throw std::invalid_argument("unknown value '" + text + "'");
  });
}

// {"schema", "argv", "version", "git", "device", "results": []}, and "interrupted" after Ctrl-C
Json report_head(const char* schema, const std::vector<std::string>& argv,
                 const simt::DeviceInfo& device);
// As report_head(), with results.
Json bench_report(const std::vector<std::string>& argv, const simt::DeviceInfo& device,
                  const std::vector<Result>& results);
// Indented by two spaces per level. ASCII: names from files may contain what controls a terminal.
// Invalid UTF-8 is replaced.
std::string json_text(const Json& json);

// A report written earlier, for --resume.
struct EarlierReport {
  std::vector<Json> results;
  std::string git_sha;
};
// Empty if there is no such file. Throws Error{Exit::failed} if it is not a report, and
// Error{Exit::usage} if it is of another device.
EarlierReport read_report(const std::string& path, const simt::DeviceInfo& device,
                          const char* schema = bench_schema);
// Compares without regard to the order of keys, which another program may have changed.
bool same(const Json& a, const Json& b);
// Equal texts for JSON that is the same().
std::string sorted_text(const Json& json);
// Whether the result can replace a measurement with these settings: it is complete and has the same
// settings.
bool reusable(const Json& result, const BuildSettings& settings);

}  // namespace heapwood::bench
