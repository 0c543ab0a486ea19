// SPDX-License-Identifier: MIT
// A device and an allocator with which a workload records its requests: RecordingDevice knows the
// memory of the recording and ends a kernel of it after each launch; RecordingOn<A> is A, recorded
// there. A workload is compiled with them as with any device and allocator.
#pragma once

#include "alloc/adaptors/recorded.hpp"
#include "simt/launch.hpp"

namespace heapwood::workloads {

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

template <class Base>
struct RecordingOn : alloc::Recorded<Base> {
  using Recorded = alloc::Recorded<Base>;

  // Only on a RecordingDevice. Forgets what was recorded.
  template <class Device>
  static RecordingOn create(alloc::Pool pool, const alloc::AllocatorOptions& options,
                            const Device& device) {
    device.recorded->reset();
    return {Recorded::create(Base::create(pool, options, device), pool, *device.recorded)};
  }
};

}  // namespace heapwood::workloads
