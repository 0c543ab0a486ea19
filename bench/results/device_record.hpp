// SPDX-License-Identifier: MIT
// The state of the GPU that this process measures on, in every results file (docs/measuring.md,
// "Device record"). A process measures on one device.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/results/json_report.hpp"
#include "simt/nvml.hpp"

namespace heapwood::bench {

// Begins the record of this process: takes the first sample. Nothing for the CPU.
void begin_device_record(const simt::DeviceInfo& device);
// Continues a record that has begun; nullopt: this process keeps none.
void begin_device_record(const simt::DeviceInfo& device, std::optional<simt::GpuRecord> record);

// Takes a sample and returns the record so far; null if none was begun for this device.
Json device_record(const simt::DeviceInfo& device);
// With --resume, results of an earlier process stay in the file: adds the device records of that
// process's report to the record.
void keep_earlier_record(const Json& report);

// One line if the GPU was slower than its settings allow.
void warn_if_throttled();

// 16 hexadecimal digits that distinguish GPUs without revealing their UUIDs; "" for "".
std::string uuid_hash(const std::string& uuid);

// The device records in a results file: its own or those of its shards or runs.
std::vector<const Json*> device_records_in(const Json& report);

}  // namespace heapwood::bench
