// SPDX-License-Identifier: MIT
#include "bench/results/device_record.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json.hpp"
#include "scenes/file.hpp"

namespace heapwood::bench {

namespace {

struct DeviceRecord {
  simt::DeviceInfo device;
  std::optional<simt::GpuRecord> gpu;
  Json earlier = Json::array();
};
DeviceRecord& own_record() {
  static DeviceRecord record;
  return record;
}

Json sample_json(const simt::GpuSample& sample) {
  Json json = Json::object();
  put(json, "sm_clock_mhz", sample.sm_clock_mhz);
  put(json, "memory_clock_mhz", sample.memory_clock_mhz);
  put(json, "temperature_c", sample.temperature_c);
  put(json, "power_w", sample.power_w);
  put(json, "performance_state", sample.performance_state);
  put(json, "other_processes", sample.other_processes);
  if (sample.clock_reasons) json["clock_reasons"] = simt::clock_reason_names(*sample.clock_reasons);
  return json;
}

// "its clocks were reduced while it was measured (software power cap, 12 ms limited by power); ..."
std::string throttling_text(const simt::GpuRecord& gpu) {
  std::vector<std::string> parts = simt::clock_reason_names(gpu.throttle_reasons());
  const auto limited = gpu.limited_ms();
  for (std::size_t i = 0; i < simt::clock_limits; ++i) {
    if (limited[i] && *limited[i] > 0)
      parts.push_back(
          fmt::format("{:.0f} ms limited by {}", *limited[i], simt::clock_limit_names[i]));
  }
  return fmt::format(
      "its clocks were reduced while it was measured ({}); times are longer than "
      "on a cooler or less limited GPU",
      joined(parts));
}

Json record_json(const simt::GpuRecord& gpu) {
  Json json = Json::object();
  if (!gpu.uuid().empty()) json["uuid_hash"] = uuid_hash(gpu.uuid());
  if (!gpu.has_samples()) return json;
  const simt::GpuSetup& setup = gpu.setup();
  if (!setup.driver_version.empty())
    json["driver_version"] = scenes::printable(setup.driver_version, 40);
  put(json, "mig", setup.mig);
  put(json, "ecc", setup.ecc);
  put(json, "power_limit_w", setup.power_limit_w);
  put(json, "seconds", gpu.seconds());
  json["before"] = sample_json(gpu.first());
  json["after"] = sample_json(gpu.last());
  const auto limited = gpu.limited_ms();
  for (std::size_t i = 0; i < simt::clock_limits; ++i) {
    if (limited[i]) json["limited_ms"][simt::clock_limit_names[i]] = *limited[i];
  }
  if (gpu.was_throttled()) {
    json["throttled"] = simt::clock_reason_names(gpu.throttle_reasons());
    json["warning"] = throttling_text(gpu);
  }
  return json;
}

void add_records(const Json& json, std::vector<const Json*>& records) {
  const Json* const record = json.find("device_record");
  if (!record || !record->is_object()) return;
  records.push_back(record);
  if (const Json* const earlier = record->find("earlier")) {
    for (const Json& one : *earlier) {
      if (one.is_object()) records.push_back(&one);
    }
  }
}

}  // namespace

void begin_device_record(const simt::DeviceInfo& device) {
  std::optional<simt::GpuRecord> gpu;
  if (device.id.kind == simt::DeviceKind::cuda)
    gpu.emplace(simt::Nvml::of_this_process(), simt::gpu_address(device.id.index));
  begin_device_record(device, std::move(gpu));
}

void begin_device_record(const simt::DeviceInfo& device, std::optional<simt::GpuRecord> record) {
  DeviceRecord& own = own_record();
  own.device = device;
  own.gpu.reset();
  if (record) own.gpu.emplace(std::move(*record));
  own.earlier = Json::array();
}

Json device_record(const simt::DeviceInfo& device) {
  DeviceRecord& own = own_record();
  if (!own.gpu || own.device.key != device.key) return nullptr;
  own.gpu->sample();
  Json json = record_json(*own.gpu);
  if (!own.earlier.empty()) json["earlier"] = own.earlier;
  return json.empty() ? Json() : json;
}

void keep_earlier_record(const Json& report) {
  std::vector<const Json*> records;
  add_records(report, records);
  for (const Json* record : records) {
    Json one = *record;
    one.erase("earlier");
    own_record().earlier.push_back(std::move(one));
  }
}

void warn_if_throttled() {
  const DeviceRecord& own = own_record();
  if (own.gpu && own.gpu->was_throttled())
    warning("{}: {}", own.device.key, throttling_text(*own.gpu));
}

std::string uuid_hash(const std::string& uuid) {
  return uuid.empty() ? "" : scenes::hex_digits(scenes::fnv1a(uuid));
}

std::vector<const Json*> device_records_in(const Json& report) {
  std::vector<const Json*> records;
  add_records(report, records);
  for (const char* key : {"shards", "runs"}) {
    if (const Json* const list = report.find(key)) {
      for (const Json& one : *list) add_records(one, records);
    }
  }
  return records;
}

}  // namespace heapwood::bench
