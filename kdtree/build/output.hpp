// SPDX-License-Identifier: MIT
// The output of a build: nodes, the ids in leaves, and the counters from which their indices are
// reserved.
#pragma once

#include <cstdint>

#include "kdtree/build/worker.hpp"

namespace heapwood::kdtree {

template <class Kernel, class Warp>
SIMT_INLINE std::uint64_t BuildWorker<Kernel, Warp>::reserve_output(std::uint64_t& counter,
                                                                    std::uint32_t count,
                                                                    std::uint64_t capacity,
                                                                    BuildError error) {
  std::uint64_t first = 0;
  if (warp_.lane() == 0) {
    first = simt::global_ref(counter).fetch_add(count, simt::relaxed);
    if (first + count > capacity) warp_.fail(error, first + count);
  }
  first = warp_.shfl(first, 0);
  stop_ = stop_ || first + count > capacity;
  return first;
}

template <class Kernel, class Warp>
SIMT_INLINE std::uint32_t BuildWorker<Kernel, Warp>::reserve_pair() {
  if (pair_next_ % pair_batch == first_pair) {
    pair_next_ = static_cast<std::uint32_t>(
        reserve_output(k_.counters->pairs, pair_batch, k_.pair_capacity, nodes_overflow));
  }
  return pair_next_++;
}

template <class Kernel, class Warp>
SIMT_INLINE std::uint32_t BuildWorker<Kernel, Warp>::reserve_refs(std::uint32_t n) {
  if (ref_end_ - ref_next_ < n) {
    const bool dedicated = n > ref_batch;
    const std::uint64_t taken = reserve_output(k_.counters->refs, dedicated ? n : ref_batch,
                                               k_.ref_capacity, refs_overflow);
    const std::uint32_t first = static_cast<std::uint32_t>(taken);
    if (dedicated) return first;
    ref_next_ = first;
    ref_end_ = first + ref_batch;
  }
  const std::uint32_t first = ref_next_;
  ref_next_ += n;
  return first;
}

template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::write_leaf(const NodeTask& task) {
  [[maybe_unused]] const auto in = probe_.in(Phase::leaf);
  const std::uint32_t first = reserve_refs(task.n);
  if (stop_) return;
  for (std::uint32_t i = warp_.lane(); i < task.n; i += Warp::width) {
    k_.refs[first + i] = Refs::load_id(task.refs, i);
  }
  if (warp_.lane() != 0) return;
  k_.nodes[task.node] = Node::make_leaf(first, task.n);
  note_node(task, true);
}

template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::note_inner(const NodeTask& task, const Split& split,
                                                       std::uint32_t pair) {
  if (warp_.lane() != 0) return;
  note_node(task, false);
  k_.nodes[task.node] = Node::make_inner(split.position(), split.axis(), pair);
}

template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::note_node(const NodeTask& task, bool leaf) {
  auto allocator = k_.allocator;
  if constexpr (requires { allocator.note_node(warp_, 0u, 0u, true); }) {
    allocator.note_node(warp_, task.path.depth(), task.n, leaf);
  }
}

}  // namespace heapwood::kdtree
