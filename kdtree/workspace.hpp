// SPDX-License-Identifier: MIT
// The device memory that a build needs besides the mesh: what Workspace holds, for the driver of the kernel.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kdtree/build_kernel.hpp"

namespace heapwood::kdtree {

struct Workspace::Parts {
  const DeviceMesh* mesh = nullptr;
  RefKind refs = RefKind::clipped;
  simt::Memory pool;
  simt::Buffer<PackedCorners> corners;
  simt::Buffer<TaskQueue::RingEntry> ring;
  simt::Buffer<SetAside::Place> set_aside;
  simt::Buffer<TaskQueue::Counters> queue;
  simt::Buffer<SharedNode> shared;
  simt::Buffer<SharedNodes::Counters> shared_counters;
  simt::Buffer<BuildCounters> counters;
  simt::Buffer<Node> nodes;
  simt::Buffer<std::uint32_t> output;
  bool incomplete = false;  // of the last build

  void reset(unsigned warps) {
    const TaskQueue::Counters start = TaskQueue::initial(ring.size(), warps);
    const SharedNodes::Counters none{};
    const BuildCounters zero{};
    queue.upload({&start, 1});
    shared_counters.upload({&none, 1});
    counters.upload({&zero, 1});
    ring.fill(0);
    set_aside.fill(0);
    shared.fill(0);
  }
  void grow(std::uint32_t error) {
    const simt::DeviceId device = mesh->device();
    if (error == nodes_overflow) {
      const std::size_t count = nodes.size() * 2;
      nodes = {};
      nodes = simt::Buffer<Node>(device, count);
    } else {
      const std::size_t count = output.size() * 2;
      output = {};
      output = simt::Buffer<std::uint32_t>(device, count);
    }
  }
};

}  // namespace heapwood::kdtree
