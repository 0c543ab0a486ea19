// SPDX-License-Identifier: MIT
// Measurements to JSON (docs/measuring.md, "JSON") and back. Samples are raw; what is unknown is
// absent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/results/json.hpp"
#include "bench/results/json_fields.hpp"
#include "bench/results/result.hpp"
#include "simt/device.hpp"
#include "simt/nvml.hpp"

namespace heapwood::bench {

inline constexpr const char* bench_schema = "heapwood.bench/1";

Json to_json(const simt::DeviceInfo& device);
Json to_json(const BuildSettings& settings);
// Adds those settings of an allocator that are not the default.
void put_allocator_settings(Json& settings, const alloc::AllocatorOptions& options);
Json to_json(const Result& result);
// Throws std::exception if keys are missing or of the wrong type.
Result result_from_json(const Json& json);

void describe(JsonFields& fields, alloc::Fragmentation& f);
// Written without the settings of allocators.
void describe(JsonFields& fields, BuildSettings& settings);
void describe(JsonFields& fields, Result& result);
// The value of a build's key "builder". Files of earlier versions also have results of another one.
inline constexpr const char* builder_name = "single-kernel";

// {"schema", "argv", "version", "git", "device", "results": []}; "interrupted" after Ctrl-C.
Json report_head(const char* schema, const std::vector<std::string>& argv,
                 const simt::DeviceInfo& device);
// Returns report_head() with results.
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
// A report written by an earlier run, for --resume.
struct EarlierReport {
  std::vector<Json> results;
  std::string git_sha;
};
// Reads an earlier report; returns an empty one if there is no such file. Throws
// Error{Exit::failed} if it is not a report, and Error{Exit::usage} if it is of another device.
EarlierReport read_report(const std::string& path, const simt::DeviceInfo& device,
                          const char* schema = bench_schema);
// The part of a result that identifies its measurement; equal for one measurement in two files. It
// contains neither time limits nor the number of runs.
Json identity_of(const Json& result);
// Whether the result can replace a measurement: it is complete and has these settings.
bool reusable(const Json& result, const BuildSettings& settings);

// ---- the state of the GPU that this process measures on, in every results file
// (docs/measuring.md, "Device record"). A process measures on one device.

// Begins the record of this process by taking the first sample. Has no effect on the CPU.
void begin_device_record(const simt::DeviceInfo& device);
// Continues a record that has begun; nullopt: this process keeps none.
void begin_device_record(const simt::DeviceInfo& device, std::optional<simt::GpuRecord> record);

// Takes a sample and returns the record so far; null if none was begun for this device.
Json device_record(const simt::DeviceInfo& device);
// With --resume, results of an earlier process stay in the file. Adds the device records of that
// process's report to the record.
void keep_earlier_record(const Json& report);

// Prints one line if the GPU was slower than its settings allow.
void warn_if_throttled();

// 16 hexadecimal digits that distinguish GPUs without revealing their UUIDs; "" for "".
std::string uuid_hash(const std::string& uuid);

// All device records in a results file: its own, or those of its shards or runs.
std::vector<const Json*> device_records_in(const Json& report);

}  // namespace heapwood::bench
