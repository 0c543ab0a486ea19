// SPDX-License-Identifier: MIT
// Measurements to JSON (docs/measuring.md, "JSON") and back. Samples are raw; a figure that was
// not measured is absent.
#pragma once

#include <string>
#include <vector>

#include "bench/results/json.hpp"
#include "bench/results/json_fields.hpp"
#include "bench/results/result.hpp"
#include "simt/device.hpp"

namespace heapwood::bench {

inline constexpr const char* bench_schema = "heapwood.bench/1";

Json to_json(const simt::DeviceInfo& device);
Json to_json(const BuildSettings& settings);
// Adds an allocator's settings that are not the default.
void put_allocator_settings(Json& settings, const alloc::AllocatorOptions& options);
Json to_json(const Result& result);
// Throws std::exception if keys are missing or of the wrong type.
Result result_from_json(const Json& json);

void describe(JsonFields& fields, Result& result);

// {"schema", "argv", "version", "git", "device", "results": []}, and "interrupted" after Ctrl-C
Json report_head(const char* schema, const std::vector<std::string>& argv,
                 const simt::DeviceInfo& device);
// report_head() and the results.
template <class Row>
Json report_of(const char* schema, const std::vector<std::string>& argv,
               const simt::DeviceInfo& device, const std::vector<Row>& rows) {
  Json json = report_head(schema, argv, device);
  for (const Row& row : rows) json["results"].push_back(described(row));
  return json;
}
inline Json bench_report(const std::vector<std::string>& argv, const simt::DeviceInfo& device,
                         const std::vector<Result>& results) {
  return report_of(bench_schema, argv, device, results);
}
// A report written earlier, for --resume.
struct EarlierReport {
  std::vector<Json> results;
  std::string git_sha;
};
// Empty if there is no such file. Throws Error{Exit::failed} if it is not a report, and
// Error{Exit::usage} if it is of another device.
EarlierReport read_report(const std::string& path, const simt::DeviceInfo& device,
                          const char* schema = bench_schema);
// Whether the result can replace a measurement with these settings: it is complete and has the same
// settings.
bool reusable(const Json& result, const BuildSettings& settings);

}  // namespace heapwood::bench
