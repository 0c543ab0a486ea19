// SPDX-License-Identifier: MIT
// How one warp moves the refs of a small node and continues with its children.
#pragma once

#include <cstdint>

#include "kdtree/build/worker.hpp"

namespace heapwood::kdtree {

template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::split_small(const NodeTask& task,
                                                        const ChosenSplit& split,
                                                        const alloc::BlockPair& arrays,
                                                        std::uint32_t pair) {
  std::byte* const left = static_cast<std::byte*>(arrays.first);
  std::byte* const right = static_cast<std::byte*>(arrays.second);
  tree_.write_inner(task, split, pair);
  partition(task, split, left, right);
  descend(task, split, left, right, pair);
}

template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::partition(const NodeTask& task, const Split& split,
                                                      std::byte* left, std::byte* right) {
  const unsigned axis = split.axis();
  const float p = split.position();
  const std::uint32_t nl = split.nl(), nr = split.nr();
  const bool flats_right = split.flats_right();
  const std::uint32_t lower_lanes = (1u << warp_.lane()) - 1u;
  std::uint32_t moved_left = 0, moved_right = 0;
  if constexpr (uses_simd) {
    const Moved moved = move_refs(task.refs, task.n, 0, task.n, {axis, p, flats_right}, k_.corners,
                                  {left, nl, 0}, {right, nr, 0});
    moved_left = moved.left;
    moved_right = moved.right;
  }
  const auto load = [&](std::uint32_t i) {
    return Refs::load(task.refs, task.n, i, task.box, k_.corners);
  };
  // Clipped refs: the loads of the next round are in flight while this round's refs are moved.
  Ref next{};
  if (Refs::stores_bounds && !uses_simd && warp_.lane() < task.n) next = load(warp_.lane());
  SIMT_ROLLED
  for (std::uint32_t base = uses_simd ? task.n : 0; base < task.n; base += Warp::width) {
    const std::uint32_t i = base + warp_.lane();
    Ref ref = next;
    bool to_left = false, to_right = false;
    if (Refs::stores_bounds && i + Warp::width < task.n) next = load(i + Warp::width);
    if (i < task.n) {
      if (!Refs::stores_bounds) ref = load(i);
      to_left = goes_left(ref.box.lo[axis], ref.box.hi[axis], p, flats_right);
      to_right = goes_right(ref.box.lo[axis], ref.box.hi[axis], p, flats_right);
    }
    const std::uint32_t left_lanes = warp_.ballot(to_left), right_lanes = warp_.ballot(to_right);
    Sides sides{ref.box, ref.box};
    if constexpr (Refs::stores_bounds) {
      if (to_left && to_right) sides = split_bounds(k_.corners[ref.id].unpack(), ref.box, axis, p);
    }
    if (to_left)
      Refs::store(left, nl, moved_left + simt::popcount(left_lanes & lower_lanes), ref.id,
                  sides.left);
    if (to_right)
      Refs::store(right, nr, moved_right + simt::popcount(right_lanes & lower_lanes), ref.id,
                  sides.right);
    moved_left += simt::popcount(left_lanes);
    moved_right += simt::popcount(right_lanes);
  }
  if (moved_left != nl || moved_right != nr) {
    if (warp_.lane() == 0)
      warp_.fail(count_mismatch, task.n, std::uint64_t{nl} << 32 | nr,
                 std::uint64_t{moved_left} << 32 | moved_right);
  }
}

template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::descend(const NodeTask& parent,
                                                    const ChosenSplit& split, std::byte* left,
                                                    std::byte* right, std::uint32_t pair) {
  const unsigned first = split.nl() >= split.nr() ? 0 : 1;
  const ParentSplit cut = parent_split(split);
  task_ = child_task(parent, cut, first, first == 0 ? left : right, pair);
  push_child(child_task(parent, cut, 1 - first, first == 0 ? right : left, pair));
}

template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::push_child(const NodeTask& task) {
  if (warp_.lane() == 0) {
    if (task.n == 0) {
      tree_.write_empty_leaf(task);
    } else {
      stack_.store_in_free_entry(task);
    }
  }
  if (task.n != 0) stack_.push_free_entry();
  warp_.sync();
}

template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::publish_oldest(std::uint64_t tickets) {
  const std::uint32_t waiting = TaskQueue::waiting(warp_.shfl(tickets, 0));
  if (waiting == 0 || stack_.is_empty()) return;
  [[maybe_unused]] const auto in = probe_.in(Phase::give);
  stack_.publish_oldest(k_.queue, mostly_idle(waiting));
}

}  // namespace heapwood::kdtree
