// SPDX-License-Identifier: MIT
// The private stack of a warp: the nodes that it has still to split and has not published. The warp
// pops the newest node. If other warps wait, it publishes the oldest one, which is nearly always
// the largest.
#pragma once

#include <cstdint>

#include "kdtree/build/task_queue.hpp"

namespace heapwood::kdtree {

template <class Kernel, class Warp>
class NodeStack {
 public:
  // `entries` has Kernel::stack_size elements, in the warp's Scratch.
  HEAPWOOD_INLINE NodeStack(Warp& warp, NodeTask* entries) : warp_(warp), entries_(entries) {}

  HEAPWOOD_INLINE std::uint32_t size() const { return top_ - bottom_; }
  HEAPWOOD_INLINE bool is_empty() const { return top_ == bottom_; }

  HEAPWOOD_INLINE NodeTask pop() {
    --top_;
    const NodeTask task = entries_[top_ % Kernel::stack_size];
    warp_.sync();  // all lanes have read the entry
    return task;
  }

  // Publishes the oldest node. A node that is too small to be worth publishing moves to the top of
  // the stack instead. May be called only after a load_tickets() that saw a waiting warp;
  // `mostly_idle`: it saw most warps waiting. The stack must not be empty.
  HEAPWOOD_INLINE void publish_oldest(const TaskQueue& queue, bool mostly_idle) {
    const NodeTask& oldest = entries_[bottom_ % Kernel::stack_size];
    const std::uint32_t min_refs =
        mostly_idle ? Kernel::min_published_refs_when_idle : Kernel::min_published_refs;
    const bool publishes = oldest.n >= min_refs || size() > Kernel::max_kept_tasks;
    if (warp_.lane() == 0) {
      if (publishes) {
        queue.add_pending(1);
        queue.push_task(warp_, oldest);
      } else {
        entries_[free_entry()] = oldest;
      }
    }
    ++bottom_;
    top_ += publishes ? 0 : 1;
    warp_.sync();
  }

  // A node is pushed in two steps: lane 0 stores it in the free entry; then all lanes push it and
  // sync. In between, called functions get the node and return it in that entry, because a node
  // passed by value would be copied to the call's stack frame.
  HEAPWOOD_INLINE std::uint32_t free_entry() const { return top_ % Kernel::stack_size; }
  HEAPWOOD_INLINE void store_in_free_entry(const NodeTask& task) {
    if (warp_.lane() == 0) entries_[free_entry()] = task;
  }
  HEAPWOOD_INLINE void push_free_entry() { ++top_; }

 private:
  Warp& warp_;
  NodeTask* entries_;
  std::uint32_t top_ = 0, bottom_ = 0;  // entries [bottom, top) modulo the stack's size
};

}  // namespace heapwood::kdtree
