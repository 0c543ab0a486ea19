// SPDX-License-Identifier: MIT
// The array of deferred nodes: nodes that were refused memory. TaskQueue counts the places in use
// and so assigns them; this class stores their content.
#pragma once

#include "kdtree/build/node_task.hpp"
#include "simt/atomic_ref.hpp"
#include "simt/warp.hpp"

namespace heapwood::kdtree {

class DeferredNodes {
 public:
  // A node, as a task or as the index of a shared node.
  struct alignas(64) Place {
    std::uint32_t state = free;
    std::uint32_t index = 0;
    NodeTask task;
  };
  static constexpr std::uint32_t max_nodes = 16384;

  DeferredNodes() = default;
  explicit DeferredNodes(Place* places) : places_(places) {}

  // Stores a node in place i, which the warp has obtained by raising the count of deferred nodes
  // from i. One lane calls this and take().
  template <class Warp>
  HEAPWOOD_INLINE void put(Warp& warp, std::uint32_t i, const NodeTask& task,
                           std::uint32_t index) const {
    Place& place = places_[i];
    if (!change(warp, place, free)) return;  // aborted
    place.task = task;
    place.index = index;
    // release: publishes the task, and its refs or its shared node.
    simt::atomic_ref<std::uint32_t>(place.state).store(full, simt::release);
  }
  // Takes the node from place i, which the warp has obtained by lowering the count to i. False:
  // aborted.
  template <class Warp>
  HEAPWOOD_INLINE bool take(Warp& warp, std::uint32_t i, NodeTask& task,
                            std::uint32_t& index) const {
    Place& place = places_[i];
    if (!change(warp, place, full)) return false;
    task = place.task;
    index = place.index;
    // release: the place has been read.
    simt::atomic_ref<std::uint32_t>(place.state).store(free, simt::release);
    return true;
  }

 private:
  static constexpr std::uint32_t free = 0, busy = 1, full = 2;

  // Waits until the place's state is `from`, and marks it busy. The wait ends: puts and takes of a
  // place alternate, and each waits only for those that were counted before it. acquire: the writes
  // of the preceding put are visible, or the reads of the preceding take are done.
  template <class Warp>
  HEAPWOOD_INLINE static bool change(Warp& warp, Place& place, std::uint32_t from) {
    const simt::atomic_ref<std::uint32_t> state(place.state);
    return simt::wait_until(warp, [&] {
      std::uint32_t expected = from;
      return state.compare_exchange_strong(expected, busy, simt::acquire, simt::relaxed);
    });
  }

  Place* places_ = nullptr;
};

}  // namespace heapwood::kdtree
