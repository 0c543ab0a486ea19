// SPDX-License-Identifier: MIT
// The recorded workloads on a Device.
#pragma once

#include <memory>

#include "alloc/adaptors/recorded.hpp"
#include "alloc/allocators/heapwood.hpp"
#include "simt/launch.hpp"
#include "workloads/graph/adjacency_run.hpp"
#include "workloads/particles/particles_run.hpp"
#include "workloads/program_trace/recorded_workloads.hpp"
#include "workloads/stress_lifetimes.hpp"
#include "workloads/strings/strings_run.hpp"

namespace heapwood::workloads {

// The device and the allocator with which a recorded workload is compiled. RecordingDevice knows
// the memory of the recording, and ends a kernel of the recording after each launch.
template <class Device>
struct RecordingDevice : Device {
  alloc::RecordedMemory* recorded;

  RecordingDevice(const Device& device, alloc::RecordedMemory& memory)
      : Device(device), recorded(&memory) {}

  template <class Kernel>
  double launch(const Kernel& kernel, unsigned warps = 0,
                const simt::LaunchLimits& limits = {}) const {
    const double ms = Device::launch(kernel, warps, limits);
    recorded->end_kernel();
    return ms;
  }
  template <class Kernel>
  double launch_independent(const Kernel& kernel, unsigned warps,
                            const simt::LaunchLimits& limits = {}) const {
    const double ms = Device::launch_independent(kernel, warps, limits);
    recorded->end_kernel();
    return ms;
  }
};

// The allocator Base, which records into that memory.
template <class Base>
struct RecordingOn : alloc::Recorded<Base> {
  using Recorded = alloc::Recorded<Base>;

  // Device must be a RecordingDevice. Forgets what was recorded before.
  template <class Device>
  static RecordingOn create(alloc::Pool pool, const alloc::AllocatorOptions& options,
                            const Device& device) {
    device.recorded->reset();
    return {Recorded::create(Base::create(pool, options, device), pool, *device.recorded)};
  }
};

}  // namespace heapwood::workloads

namespace heapwood::workloads::recorded_detail {

using Allocator = RecordingOn<alloc::Heapwood>;

template <class Device>
std::unique_ptr<graph::AdjacencyHeap> adjacency_heap(const graph::HeapJob& job,
                                                     alloc::RecordedMemory& memory) {
  using Recording = RecordingDevice<Device>;
  return std::make_unique<graph::AdjacencyRun<Allocator, Recording>>(
      Recording(Device(job.device), memory), job);
}

template <class Device>
void run(const Device& device, const StressJob& job) {
  StressLifetimes<Allocator, Device>(device, job).run();
}
template <class Device>
void run(const Device& device, const strings::StringsJob& job) {
  strings::run_strings<Allocator>(device, job);
}
template <class Device>
void run(const Device& device, const particles::ParticlesJob& job) {
  particles::run_particles<Allocator>(device, job);
}

template <class Device>
void record(const RecordedJob& job, alloc::RecordedMemory& memory) {
  std::visit(
      [&](const auto& one) { run(RecordingDevice<Device>(Device(one.device), memory), one); }, job);
}

}  // namespace heapwood::workloads::recorded_detail
