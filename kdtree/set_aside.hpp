// SPDX-License-Identifier: MIT
// Places for nodes that were refused memory. How many are taken is counted by the task queue; here lies what they hold.
#pragma once

#include "kdtree/node_task.hpp"
#include "simt/atomic_ref.hpp"
#include "simt/warp.hpp"

namespace heapwood::kdtree {

class DeferredNodes {
 public:
  // A node as a task, or as a shared node's slot.
  struct alignas(64) Place {
    std::uint32_t state = free;
    std::uint32_t slot = 0;
    NodeTask task;
  };
  static constexpr std::uint32_t max_nodes = 16384;

  DeferredNodes() = default;
  explicit DeferredNodes(Place* places) : places_(places) {}

  // For the warp that has counted place i in. One lane calls, here and below.
  template <class Warp>
  SIMT_INLINE void put(Warp& warp, std::uint32_t i, const NodeTask& task, std::uint32_t slot) const {
    Place& place = places_[i];
    if (!change(warp, place, free)) return;  // aborted
    place.task = task;
    place.slot = slot;
    // release: publishes the task, and the refs or the shared node behind it.
    simt::atomic_ref<std::uint32_t>(place.state).store(full, simt::release);
  }
  // For the warp that has counted place i out. False: aborted.
  template <class Warp>
  SIMT_INLINE bool take(Warp& warp, std::uint32_t i, NodeTask& task, std::uint32_t& slot) const {
    Place& place = places_[i];
    if (!change(warp, place, full)) return false;
    task = place.task;
    slot = place.slot;
    // release: it has been read.
    simt::atomic_ref<std::uint32_t>(place.state).store(free, simt::release);
    return true;
  }

 private:
  static constexpr std::uint32_t free = 0, busy = 1, full = 2;

  // Waits for who uses the place, which waits for nobody but one of the opposite kind that was counted before it. acquire: what
  // that one wrote, or that it has read.
  template <class Warp>
  SIMT_INLINE static bool change(Warp& warp, Place& place, std::uint32_t from) {
    const simt::atomic_ref<std::uint32_t> state(place.state);
    return simt::wait_until(warp, [&] {
      std::uint32_t expected = from;
      return state.compare_exchange_strong(expected, busy, simt::acquire, simt::relaxed);
    });
  }

  Place* places_ = nullptr;
};

}  // namespace heapwood::kdtree
