// SPDX-License-Identifier: MIT
// A large node that many warps split together, in phases over chunks of its refs. The warp that
// finishes a phase opens the next one. Refs are binned for a child while they are moved to it, so a
// level takes one pass. Shared nodes are in a fixed array and are reused through stacks. If none is
// free, one warp splits the large node alone: the tree is the same, the build slower.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kdtree/build/task_queue.hpp"
#include "kdtree/split/bins.hpp"
#include "simt/atomic_ref.hpp"

namespace heapwood::kdtree {

inline constexpr std::uint32_t no_shared_node = 0xffffffffu, root_index = 0;

struct alignas(128) SharedNode {
  // Written by the warp that opens a phase and read by those that join it. The flags of the queue's
  // entries order these accesses.
  NodeTask task;
  std::byte* child[2];
  std::uint32_t child_n[2];
  std::uint32_t child_index[2];
  std::uint32_t pair;
  std::uint32_t axis;
  float plane;
  bool flats_right;
  NodePath child_path;  // of both children, which also have the same allowance
  float child_allowance;
  std::uint32_t chunk;  // refs per chunk
  std::uint32_t chunks;
  std::uint32_t next_free;

  // Modified by all warps of a phase; zero while the node is free. `cursor`: positions reserved in
  // the children's arrays, {right:32, left:32}.
  alignas(128) std::uint64_t cursor;
  alignas(128) std::uint32_t done;  // chunks finished
  std::uint32_t tight[6];  // bounds of all refs, as maxima of ordered keys: ~lo.xyz, hi.xyz
  alignas(128) std::uint64_t histogram[histogram_words];  // refs per bin: {ends:32, begins:32}

  HEAPWOOD_INLINE Box tight_box() const {
    return {{simt::from_ordered_key(~tight[0]), simt::from_ordered_key(~tight[1]),
             simt::from_ordered_key(~tight[2])},
            {simt::from_ordered_key(tight[3]), simt::from_ordered_key(tight[4]),
             simt::from_ordered_key(tight[5])}};
  }
  // Adds a warp's histogram (bins.hpp). All lanes must call this. relaxed: read only after the
  // phase, ordered by the end of its last chunk.
  template <class Warp>
  HEAPWOOD_INLINE void add_histogram(Warp& warp, const std::uint32_t* counted) {
    for (unsigned k = warp.lane(); k < histogram_words; k += Warp::width) {
      const std::uint32_t word = counted[k];
      if (word != 0) {
        simt::global_ref(histogram[k])
            .fetch_add(std::uint64_t{word >> 16} << 32 | (word & 0xffffu), simt::relaxed);
      }
    }
  }
  // Adds the counts and bounds of one thread. relaxed: read only after the phase.
  void add(const BinCounts& counts, const Box& tight_box) {
    for (unsigned k = 0; k < histogram_words; ++k) {
      const std::uint64_t word = std::uint64_t{counts.ends[k]} << 32 | counts.begins[k];
      if (word != 0) simt::global_ref(histogram[k]).fetch_add(word, simt::relaxed);
    }
    for (unsigned axis = 0; axis < 3; ++axis) {
      simt::atomic_ref<std::uint32_t>(tight[axis])
          .fetch_max(~simt::ordered_key(tight_box.lo[axis]), simt::relaxed);
      simt::atomic_ref<std::uint32_t>(tight[3 + axis])
          .fetch_max(simt::ordered_key(tight_box.hi[axis]), simt::relaxed);
    }
  }
  template <class Warp>
  HEAPWOOD_INLINE void clear(Warp& warp) {
    for (unsigned k = warp.lane(); k < histogram_words; k += Warp::width) histogram[k] = 0;
    if (warp.lane() == 0) {
      cursor = 0;
      done = 0;
      HEAPWOOD_UNROLLED
      for (unsigned k = 0; k < 6; ++k) tight[k] = 0;
    }
  }
};

// Finds the bounds of `boxes` sets of refs in a warp: six maxima of ordered keys per set
// (SharedNode::tight), each held by one lane.
template <class Warp, unsigned boxes = 1>
class GatheredBounds {
 public:
  // Adds the boxes of the lanes with `has_box` to set `of`. All lanes must call this.
  HEAPWOOD_INLINE void add(Warp& warp, bool has_box, const Box& box, unsigned of = 0) {
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
  // Adds set `of` to the node's bounds. All lanes must call this. relaxed: read only after the
  // phase, ordered by the end of its last chunk.
  HEAPWOOD_INLINE void add_to(SharedNode& node, Warp& warp, unsigned of = 0) const {
    HEAPWOOD_UNROLLED
    for (unsigned i = 0; i < each; ++i) {
      const unsigned k = i * Warp::width + warp.lane() - 6 * of;
      if (k < 6)
        simt::atomic_ref<std::uint32_t>(node.tight[k]).fetch_max(maxima_[i], simt::relaxed);
    }
  }

 private:
  static constexpr unsigned each = (6 * boxes + Warp::width - 1) / Warp::width;
  std::uint32_t maxima_[each] = {};
};

// The array of shared nodes. The first `fresh` of them have been used; those that were released are
// on stacks, whose tops carry tags against ABA. There are many stacks, because thousands of nodes
// may end at the same time.
class SharedNodes {
 public:
  // A large GPU has about 30 warps per stack. A search for a released node visits all stacks
  static constexpr std::uint32_t stack_count = 64;

  struct alignas(128) Counters {
    struct alignas(128) Stack {
      std::uint64_t top = 0;  // tag:32 | index + 1:32
    };
    Stack stacks[stack_count];
    alignas(128) std::uint32_t fresh = root_index + 1;
  };

  SharedNodes() = default;
  SharedNodes(Counters* counters, SharedNode* nodes, std::uint32_t count)
      : counters_(counters), nodes_(nodes), count_(count) {}

  HEAPWOOD_INLINE SharedNode& operator[](std::uint32_t index) const { return nodes_[index]; }

  // Allocates a cleared node for each child that needs one; stores no_shared_node if there is none.
  // One lane calls this. Nodes that were never used come first, with one add for both children. The
  // count `fresh` may exceed the size of the array; a build adds less than 2^32.
  HEAPWOOD_INLINE void allocate_pair(bool left, bool right, std::uint32_t& left_index,
                                     std::uint32_t& right_index) const {
    left_index = right_index = no_shared_node;
    if (!left && !right) return;
    // relaxed: nodes that were never used were cleared before the launch.
    std::uint32_t fresh = simt::atomic_ref<std::uint32_t>(counters_->fresh)
                              .fetch_add(left && right ? 2 : 1, simt::relaxed);
    HEAPWOOD_ROLLED
    for (unsigned side = 0; side < 2; ++side) {
      if (!(side == 0 ? left : right)) continue;
      const std::uint32_t index = fresh < count_ ? fresh : pop_released(fresh);
      ++fresh;
      (side == 0 ? left_index : right_index) = index;
    }
  }
  // Releases a node that no warp uses any more. All lanes must call this.
  template <class Warp>
  HEAPWOOD_INLINE void release(Warp& warp, std::uint32_t index) const {
    nodes_[index].clear(warp);
    warp.sync();
    if (warp.lane() != 0) return;
    const simt::atomic_ref<std::uint64_t> top(counters_->stacks[index % stack_count].top);
    std::uint64_t seen = top.load(simt::relaxed);
    do {
      simt::atomic_ref<std::uint32_t>(nodes_[index].next_free)
          .store(static_cast<std::uint32_t>(seen), simt::relaxed);
      // release: publishes the cleared node and its link. acquire: what earlier releasing warps
      // published stays visible to the warps that pop after this one.
    } while (!top.compare_exchange_weak(seen,
                                        (seen >> 32 << 32) + (std::uint64_t{1} << 32) + index + 1,
                                        simt::acq_rel, simt::relaxed));
  }

 private:
  // Pops a released node from any stack, stack `first` % stack_count first, or no_shared_node.
  HEAPWOOD_INLINE std::uint32_t pop_released(std::uint32_t first) const {
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i < stack_count; ++i) {
      const simt::atomic_ref<std::uint64_t> top(counters_->stacks[(first + i) % stack_count].top);
      // acquire: makes visible that the releasing warp has cleared the node.
      std::uint64_t seen = top.load(simt::acquire);
      while (static_cast<std::uint32_t>(seen) != 0) {
        const std::uint32_t index = static_cast<std::uint32_t>(seen) - 1;
        const std::uint32_t next =
            simt::atomic_ref<std::uint32_t>(nodes_[index].next_free).load(simt::relaxed);
        // acquire: the next node's link. release: what earlier warps published stays visible to
        // later pops. A failed exchange loads the top again, with acquire.
        if (top.compare_exchange_weak(seen, (seen >> 32 << 32) + (std::uint64_t{1} << 32) + next,
                                      simt::acq_rel, simt::acquire)) {
          return index;
        }
      }
    }
    return no_shared_node;
  }

  Counters* counters_ = nullptr;
  SharedNode* nodes_ = nullptr;
  std::uint32_t count_ = 0;
};

}  // namespace heapwood::kdtree
