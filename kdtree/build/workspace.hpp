// SPDX-License-Identifier: MIT
// The parts of Workspace, the device memory of a build besides the mesh, for the kernel's driver.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "kdtree/build/kernel.hpp"

namespace heapwood::kdtree {

// A node's link holds 30 bits of a pair, hence 2^31 nodes. Refs have the same limit, although their
// indices have 32 bits, so that sums of indices do not overflow.
inline constexpr std::size_t max_tree_nodes = std::size_t{1} << 31,
                             max_tree_refs = std::size_t{1} << 31;

struct Workspace::Parts {
  struct Counters {
    TaskQueue::Counters queue;
    SharedNodes::Counters shared;
    BuildCounters build;
  };

  const DeviceMesh* mesh = nullptr;
  RefKind refs = RefKind::clipped;
  simt::Memory pool;
  alloc::AllocatorOptions options;  // as given to set_allocator_options()
  simt::Memory fixed;               // the arrays whose sizes never change
  std::span<Counters> counters;
  std::span<TaskQueue::RingEntry> ring;
  std::span<DeferredNodes::Entry> deferred;
  std::span<SharedNode> shared;
  std::span<PackedCorners> corners;
  simt::Buffer<Node> nodes;
  simt::Buffer<std::uint32_t> output;
  bool incomplete = false;  // whether the last build's tree is incomplete
  BuildCounters last;       // counters of the last build, copied to the host

  void reset(unsigned warps) {
    const Counters start{TaskQueue::initial(ring.size(), warps), {}, {}};
    const auto* const zeroed_end = reinterpret_cast<const std::byte*>(corners.data());
    const simt::DeviceId& device = mesh->device();
    simt::device_fill(device, fixed.data(), 0, static_cast<std::size_t>(zeroed_end - fixed.data()));
    simt::device_upload(device, counters.data(), &start, sizeof start);
  }
  // Doubles the array that the error code names. Throws Error{Exit::failed} above its limit.
  void grow(std::uint32_t error) {
    if (error == nodes_overflow) {
      replace(nodes, doubled(nodes.size(), max_tree_nodes, "nodes"));
    } else {
      replace(output, doubled(output.size(), max_tree_refs, "refs"));
    }
  }
  static std::size_t doubled(std::size_t count, std::size_t limit, const char* what) {
    if (count >= limit) {
      throw Error(Exit::failed,
                  std::string("the tree needs more than 2^31 ") + what + "; use a smaller scene");
    }
    return std::min(count == 0 ? min_grown : 2 * count, limit);
  }

 private:
  static constexpr std::size_t min_grown = 1024;

  // Replaces an array by a larger one or, if that does not fit, by one of the former size.
  template <class T>
  void replace(simt::Buffer<T>& buffer, std::size_t count) const {
    const std::size_t before = buffer.size();
    buffer = {};  // released first, so that both need not fit together
    try {
      buffer = simt::Buffer<T>(mesh->device(), count);
    } catch (const Error&) {
      buffer = simt::Buffer<T>(mesh->device(), before);
      throw;
    }
  }
};

}  // namespace heapwood::kdtree
