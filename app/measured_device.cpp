// SPDX-License-Identifier: MIT
#include "app/measured_device.hpp"

#include <cstdlib>
#include <optional>

#include "bench/program/gpu_lock.hpp"
#include "bench/results/device_record.hpp"
#include "simt/nvml.hpp"

namespace heapwood::app {

void add_measured_device_options(bench::CommandOptions& command, bench::DeviceOptions& options) {
  bench::add_device_options(command, options);
  command.flag("--wait-for-gpu", options.waits, "wait while another heapwood measures on the GPU");
}

simt::DeviceInfo choose_measured_device(const bench::DeviceOptions& options) {
  const simt::DeviceInfo device = bench::choose_device(options, bench::CpuNote::when_work_starts);
  const char* shares = std::getenv("HEAPWOOD_SHARE_GPU");
  if (device.id.kind == simt::DeviceKind::cuda && (!shares || !*shares)) {
    const std::string uuid = simt::gpu_address(device.id.index).uuid;
    static std::optional<bench::GpuLock> lock;  // until the process ends
    lock.reset();
    lock.emplace(device.key,
                 uuid.empty() ? "cuda-" + std::to_string(device.id.index) : bench::uuid_hash(uuid),
                 options.waits);
  }
  bench::begin_device_record(device);
  return device;
}

}  // namespace heapwood::app
