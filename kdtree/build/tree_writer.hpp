// SPDX-License-Identifier: MIT
// Writes the output of a warp: nodes of the tree and the ids in leaves. Warps reserve entries of
// the output arrays in batches to avoid contention. If an array overflows, the kernel is aborted,
// and the driver enlarges the array and builds again: functions that reserve set `stop`, and the
// caller must return.
#pragma once

#include <cstdint>

#include "kdtree/build/kernel.hpp"

namespace heapwood::kdtree {

template <class Kernel, class Warp>
class TreeWriter {
 public:
  using Refs = typename Kernel::Refs;
  using Probe = typename Kernel::Probe::template Of<Warp>;

  HEAPWOOD_INLINE TreeWriter(const Kernel& kernel, Warp& warp, const Probe& probe)
      : k_(kernel), warp_(warp), probe_(probe) {}

  // Reserves a pair of nodes for the children of a node.
  HEAPWOOD_INLINE std::uint32_t reserve_pair(bool& stop) {
    if (pair_next_ % pair_batch == first_pair) {
      pair_next_ = static_cast<std::uint32_t>(
          reserve(k_.counters->pairs, pair_batch, k_.pair_capacity, nodes_overflow, stop));
    }
    return pair_next_++;
  }
  HEAPWOOD_INLINE void write_inner(const NodeTask& task, const Split& split, std::uint32_t pair) {
    if (warp_.lane() != 0) return;
    k_.nodes[task.node] = Node::make_inner(split.position(), split.axis(), pair);
  }
  // Makes a node with refs a leaf and copies their ids. The caller frees the array.
  HEAPWOOD_INLINE void write_leaf(const NodeTask& task, bool& stop) {
    [[maybe_unused]] const auto in = probe_.in(Phase::leaf);
    write_leaf(task, stop, [&](std::uint32_t i) { return Refs::load_id(task.refs, i); });
  }
  // Makes a root without an array a leaf of every triangle.
  HEAPWOOD_INLINE void write_root_leaf(bool& stop) {
    const NodeTask root{nullptr, k_.triangle_count, 0, {}, {}, 0.0f};
    write_leaf(root, stop, [](std::uint32_t i) { return i; });
  }
  // Makes a node without refs a leaf. One lane calls this.
  HEAPWOOD_INLINE void write_empty_leaf(const NodeTask& task) {
    k_.nodes[task.node] = Node::make_leaf(0, 0);
  }

 private:
  // Batches of pairs start after the root's pair, so that a batch is used up when pair_next_
  // reaches the first index of the next one.
  static constexpr std::uint32_t pair_batch = 8, ref_batch = 64,
                                 first_pair = BuildCounters{}.pairs % pair_batch;

  template <class IdOf>
  HEAPWOOD_INLINE void write_leaf(const NodeTask& task, bool& stop, IdOf id_of) {
    const std::uint32_t first = reserve_refs(task.n, stop);
    if (stop) return;
    for (std::uint32_t i = warp_.lane(); i < task.n; i += Warp::width)
      k_.refs[first + i] = id_of(i);
    if (warp_.lane() != 0) return;
    k_.nodes[task.node] = Node::make_leaf(first, task.n);
  }
  HEAPWOOD_INLINE std::uint32_t reserve_refs(std::uint32_t n, bool& stop) {
    if (ref_end_ - ref_next_ < n) {
      const bool dedicated = n > ref_batch;
      const std::uint32_t first = static_cast<std::uint32_t>(reserve(
          k_.counters->refs, dedicated ? n : ref_batch, k_.ref_capacity, refs_overflow, stop));
      if (dedicated) return first;
      ref_next_ = first;
      ref_end_ = first + ref_batch;
    }
    const std::uint32_t first = ref_next_;
    ref_next_ += n;
    return first;
  }
  // Reserves `count` entries of an output array. relaxed: each entry is reserved once, and the host
  // reads them after the launch.
  HEAPWOOD_INLINE std::uint64_t reserve(std::uint64_t& counter, std::uint32_t count,
                                        std::uint64_t capacity, BuildError error, bool& stop) {
    std::uint64_t first = 0;
    if (warp_.lane() == 0) {
      first = simt::global_ref(counter).fetch_add(count, simt::relaxed);
      if (first + count > capacity) warp_.fail(error, first + count);
    }
    first = warp_.shfl(first, 0);
    stop = stop || first + count > capacity;
    return first;
  }

  const Kernel& k_;
  Warp& warp_;
  [[no_unique_address]] Probe probe_;
  std::uint32_t pair_next_ = first_pair, ref_next_ = 0, ref_end_ = 0;
};

}  // namespace heapwood::kdtree
