// SPDX-License-Identifier: MIT
// A large node that many warps split together, in phases over chunks of its refs; the warp that finishes a phase opens the
// next. While refs move to a child they are also binned for it, so a level is one pass. Shared nodes live in a fixed array
// and are reused through stacks; with none left, a large node is split by one warp (the same tree, slower).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kdtree/bins.hpp"
#include "kdtree/task_queue.hpp"
#include "simt/atomic_ref.hpp"

namespace heapwood::kdtree {

inline constexpr std::uint32_t no_slot = 0xffffffffu, root_slot = 0;

struct alignas(128) SharedNode {
  // Written by the warp that opens a phase, read by those that join it (ordered by the queue's flags).
  NodeTask task;
  std::byte* child[2];
  std::uint32_t child_n[2];
  std::uint32_t child_slot[2];
  std::uint32_t pair;
  std::uint32_t axis;
  float plane;
  bool flats_right;
  NodePath child_path;  // of both children, as their allowance
  float child_allowance;
  std::uint32_t chunk;  // refs in a chunk
  std::uint32_t chunks;
  std::uint32_t next_free;

  // Touched by all warps of a phase; all zero when the node is free.
  alignas(128) std::uint64_t cursor;  // refs moved so far: left:32 | right:32
  alignas(128) std::uint32_t done;    // chunks finished
  std::uint32_t tight[6];             // bounds of the refs as maxima of ordered keys: ~lo.xyz, hi.xyz
  alignas(128) std::uint64_t histogram[histogram_words];  // begins:32 | ends:32

  SIMT_INLINE Box tight_box() const {
    return {{simt::from_ordered_key(~tight[0]), simt::from_ordered_key(~tight[1]), simt::from_ordered_key(~tight[2])},
            {simt::from_ordered_key(tight[3]), simt::from_ordered_key(tight[4]), simt::from_ordered_key(tight[5])}};
  }
  // Adds a warp's histogram (bins.hpp); all lanes call. relaxed: read only after the phase, ordered by its last chunk.
  template <class Warp>
  SIMT_INLINE void add_histogram(Warp& warp, const std::uint32_t* counted) {
    for (unsigned k = warp.lane(); k < histogram_words; k += Warp::width) {
      const std::uint32_t word = counted[k];
      if (word != 0) {
        simt::global_ref(histogram[k]).fetch_add(std::uint64_t{word >> 16} << 32 | (word & 0xffffu), simt::relaxed);
      }
    }
  }
  // Adds what one thread has counted; the same.
  void add(const BinCounts& counts, const Box& tight_box) {
    for (unsigned k = 0; k < histogram_words; ++k) {
      const std::uint64_t word = std::uint64_t{counts.ends[k]} << 32 | counts.begins[k];
      if (word != 0) simt::global_ref(histogram[k]).fetch_add(word, simt::relaxed);
    }
    for (unsigned axis = 0; axis < 3; ++axis) {
      simt::atomic_ref<std::uint32_t>(tight[axis]).fetch_max(~simt::ordered_key(tight_box.lo[axis]), simt::relaxed);
      simt::atomic_ref<std::uint32_t>(tight[3 + axis]).fetch_max(simt::ordered_key(tight_box.hi[axis]), simt::relaxed);
    }
  }
  template <class Warp>
  SIMT_INLINE void clear(Warp& warp) {
    for (unsigned k = warp.lane(); k < histogram_words; k += Warp::width) histogram[k] = 0;
    if (warp.lane() == 0) {
      cursor = 0;
      done = 0;
      SIMT_UNROLLED
      for (unsigned k = 0; k < 6; ++k) tight[k] = 0;
    }
  }
};

// The bounds of refs that a warp comes by, of `boxes` sets of them: six maxima each of ordered keys (SharedNode::tight), each of them in
// one lane. A lane that had all of them would hold twelve registers over a whole chunk.
template <class Warp, unsigned boxes = 1>
class GatheredBounds {
 public:
  // Adds the boxes of the lanes that have one to set `of`. All lanes call.
  SIMT_INLINE void add(Warp& warp, bool has_box, const Box& box, unsigned of = 0) {
    const auto gather = [&](unsigned k, std::uint32_t key) {
      const std::uint32_t highest = warp.reduce_max(has_box ? key : 0);
      std::uint32_t& maximum = maxima_[each == 1 ? 0 : (6 * of + k) / Warp::width];
      if (warp.lane() == (6 * of + k) % Warp::width && highest > maximum) maximum = highest;
    };
    gather(0, ~simt::ordered_key(box.lo.x));
    gather(1, ~simt::ordered_key(box.lo.y));
    gather(2, ~simt::ordered_key(box.lo.z));
    gather(3, simt::ordered_key(box.hi.x));
    gather(4, simt::ordered_key(box.hi.y));
    gather(5, simt::ordered_key(box.hi.z));
  }
  // Adds set `of` to the node's bounds. All lanes call. relaxed: read only after the phase, ordered by its last chunk.
  SIMT_INLINE void add_to(SharedNode& node, Warp& warp, unsigned of = 0) const {
    SIMT_UNROLLED
    for (unsigned i = 0; i < each; ++i) {
      const unsigned k = i * Warp::width + warp.lane() - 6 * of;
      if (k < 6) simt::atomic_ref<std::uint32_t>(node.tight[k]).fetch_max(maxima_[i], simt::relaxed);
    }
  }

 private:
  static constexpr unsigned each = (6 * boxes + Warp::width - 1) / Warp::width;
  std::uint32_t maxima_[each] = {};
};

// The array of shared nodes: the first `fresh` of them have been used, and those that came back are on stacks with tags against ABA.
// There are many stacks, since each change of a top waits for the one before: on one, thousands of nodes that end at once would queue.
class SharedNodes {
 public:
  static constexpr std::uint32_t stack_count = 64;  // some 30 warps of a large GPU to each; a search looks at all

  struct alignas(128) Counters {
    struct alignas(128) Stack {
      std::uint64_t top = 0;  // tag:32 | index + 1:32
    };
    Stack stacks[stack_count];
    alignas(128) std::uint32_t fresh = root_slot + 1;
  };

  SharedNodes() = default;
  SharedNodes(Counters* counters, SharedNode* nodes, std::uint32_t count)
      : counters_(counters), nodes_(nodes), count_(count) {}

  SIMT_INLINE SharedNode& operator[](std::uint32_t slot) const { return nodes_[slot]; }

  // A cleared node for each child that wants one, else no_slot. One lane calls. Nodes that were never used come first: for both
  // children one add. The count of these may run past the array; a build takes fewer than 2^32.
  SIMT_INLINE void allocate_pair(bool left, bool right, std::uint32_t& left_slot, std::uint32_t& right_slot) const {
    left_slot = right_slot = no_slot;
    if (!left && !right) return;
    // relaxed: fresh nodes were cleared before the launch.
    std::uint32_t fresh =
        simt::atomic_ref<std::uint32_t>(counters_->fresh).fetch_add(left && right ? 2 : 1, simt::relaxed);
    SIMT_ROLLED
    for (unsigned side = 0; side < 2; ++side) {
      if (!(side == 0 ? left : right)) continue;
      const std::uint32_t slot = fresh < count_ ? fresh : pop_released(fresh);
      ++fresh;
      (side == 0 ? left_slot : right_slot) = slot;
    }
  }
  // Gives back a node that no warp uses any more. All lanes call.
  template <class Warp>
  SIMT_INLINE void release(Warp& warp, std::uint32_t slot) const {
    nodes_[slot].clear(warp);
    warp.sync();
    if (warp.lane() != 0) return;
    const simt::atomic_ref<std::uint64_t> top(counters_->stacks[slot % stack_count].top);
    std::uint64_t seen = top.load(simt::relaxed);
    do {
      simt::atomic_ref<std::uint32_t>(nodes_[slot].next_free).store(static_cast<std::uint32_t>(seen), simt::relaxed);
      // release: publishes the cleared node and its link. acq_rel keeps the chain of earlier givers alive.
    } while (!top.compare_exchange_weak(seen, (seen >> 32 << 32) + (std::uint64_t{1} << 32) + slot + 1, simt::acq_rel,
                                        simt::relaxed));
  }

 private:
  // One that came back; `first` says which stack is looked at first.
  SIMT_INLINE std::uint32_t pop_released(std::uint32_t first) const {
    SIMT_ROLLED
    for (std::uint32_t i = 0; i < stack_count; ++i) {
      const simt::atomic_ref<std::uint64_t> top(counters_->stacks[(first + i) % stack_count].top);
      // acquire: the node was cleared by whoever gave it back.
      std::uint64_t seen = top.load(simt::acquire);
      while (static_cast<std::uint32_t>(seen) != 0) {
        const std::uint32_t slot = static_cast<std::uint32_t>(seen) - 1;
        const std::uint32_t next = simt::atomic_ref<std::uint32_t>(nodes_[slot].next_free).load(simt::relaxed);
        if (top.compare_exchange_weak(seen, (seen >> 32 << 32) + (std::uint64_t{1} << 32) + next, simt::acq_rel,
                                      simt::acquire)) {
          return slot;
        }
      }
    }
    return no_slot;
  }

  Counters* counters_ = nullptr;
  SharedNode* nodes_ = nullptr;
  std::uint32_t count_ = 0;
};

}  // namespace heapwood::kdtree
