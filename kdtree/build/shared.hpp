// SPDX-License-Identifier: MIT
// The code of one warp in nodes that many warps split together: choose -> split, level by level.
// The phases of the root are in root.hpp.
#pragma once

#include <cstdint>

#include "kdtree/build/worker.hpp"

namespace heapwood::kdtree {

// Publishes the chunks of a split, or leaves all of them in this warp's backlog if the queue has no
// space.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::publish_chunks(std::uint32_t index,
                                                           std::uint32_t chunks,
                                                           std::int32_t room) {
  [[maybe_unused]] const auto in = probe_.in(Phase::give);
  warp_.sync();
  if (k_.queue.push_shared(warp_, WorkKind::split_chunk, index, chunks, room)) return;
  if (warp_.lane() == 0) scratch_.backlog = {{WorkKind::split_chunk, index, 0}, chunks};
  warp_.sync();
}

template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::run_chunk(const WorkItem& item) {
  const std::uint32_t index = item.index;
  SharedNode& node = k_.shared[index];
  [[maybe_unused]] const auto in = probe_.in(Phase::move, node.task.path.depth());
  split_chunk(node, item.chunk);
  const std::uint32_t chunks = node.chunks;
  warp_.sync();
  bool ended = false;
  // acq_rel: publishes this chunk's refs and sums. The warp that finishes the last chunk sees those
  // of all chunks, and all reads of the parent's array are done.
  if (warp_.lane() == 0) {
    ended = simt::atomic_ref<std::uint32_t>(node.done).fetch_add(1, simt::acq_rel) + 1 == chunks;
  }
  if (warp_.any(ended)) end_split(node, index);
}
// Clears the histograms of a chunk's refs in Scratch.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::clear_sums() {
  for (unsigned k = warp_.lane(); k < 2 * histogram_words; k += Warp::width)
    scratch_.choose.histogram[k] = 0;
  warp_.sync();
}

// Stores a shared node's split and opens the phase that moves its refs.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::open_split(std::uint32_t index, const NodeTask& task,
                                                       const ChosenSplit& split,
                                                       const alloc::BlockPair& arrays,
                                                       std::uint32_t pair, std::uint64_t tickets) {
  SharedNode& node = k_.shared[index];
  std::byte* const left = static_cast<std::byte*>(arrays.first);
  std::byte* const right = static_cast<std::byte*>(arrays.second);
  const std::uint32_t waiting = TaskQueue::waiting(warp_.shfl(tickets, 0));
  const std::uint32_t chunk = chunk_of(task.n, waiting), chunks = (task.n + chunk - 1) / chunk;
  const std::uint32_t max_unshared =
      !uses_simd && mostly_idle(waiting) ? Kernel::shared_limit_when_idle : shared_limit;
  const unsigned axis = split.axis();
  const float p = split.position();
  // Two round trips to L2 overlap: one lane reserves space in the queue, another one the children's
  // shared nodes.
  std::int32_t room = 0;
  std::uint32_t indices[2] = {no_shared_node, no_shared_node};
  constexpr unsigned second = Warp::width == 1 ? 0 : 1;
  if (warp_.lane() == 0) room = k_.queue.reserve_room(chunks);
  if (warp_.lane() == second) {
    k_.shared.allocate_pair(split.nl() > max_unshared, split.nr() > max_unshared, indices[0],
                            indices[1]);
  }
  SIMT_UNROLLED
  for (unsigned side = 0; side < 2; ++side) indices[side] = warp_.shfl(indices[side], second);
  if (warp_.lane() == 0) {
    const ParentSplit cut = parent_split(split);
    node.axis = axis;
    node.plane = p;
    node.flats_right = split.flats_right();
    node.child_path = cut.path;
    node.child_allowance = cut.allowance;
    node.pair = pair;
    node.chunk = chunk;
    node.chunks = chunks;
    node.done = 0;
    SIMT_UNROLLED
    for (unsigned side = 0; side < 2; ++side) {
      const std::uint32_t n = side == 0 ? split.nl() : split.nr(), child = indices[side];
      node.child[side] = side == 0 ? left : right;
      node.child_n[side] = n;
      node.child_index[side] = child;
      if (child != no_shared_node) {
        k_.shared[child].task = child_task(task, cut, side, side == 0 ? left : right, pair);
      }
    }
  }
  publish_chunks(index, chunks, room);
}

// Moves a chunk's refs to the children, and bins them for each child that is a shared node.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::split_chunk(SharedNode& node, std::uint32_t chunk) {
  if constexpr (uses_simd) {
    split_chunk_simd(node, chunk);
    return;
  }
  // All loads from the node are issued before the first one is waited for.
  const NodeTask task = node.task;
  const unsigned axis = node.axis;
  const float p = node.plane;
  const bool flats_right = node.flats_right;
  std::byte* const left = node.child[0];
  std::byte* const right = node.child[1];
  const std::uint32_t nl = node.child_n[0], nr = node.child_n[1];
  const bool bin_left = node.child_index[0] != no_shared_node,
             bin_right = node.child_index[1] != no_shared_node;
  const std::uint32_t size = node.chunk, first = chunk * size,
                      last = task.n - first < size ? task.n : first + size;
  const Box below{task.box.lo, set(task.box.hi, axis, p)},
      above{set(task.box.lo, axis, p), task.box.hi};
  for (unsigned k = warp_.lane(); k < 6; k += Warp::width)
    scratch_.choose.axes[k] = counting_axis(select(k >= 3, above, below), k % 3);
  clear_sums();
  const std::uint32_t lower_lanes = (1u << warp_.lane()) - 1u;
  // Reserves positions {left:32 | right:32} in the children's arrays: for the whole chunk at once
  // if loading its refs twice is cheap, else for one round of lanes.
  const auto reserve_places = [&](std::uint64_t wanted) {
    std::uint64_t at = 0;
    // relaxed: the positions are distinct, and nothing is read through them before the phase ends.
    if (warp_.lane() == 0) at = simt::global_ref(node.cursor).fetch_add(wanted, simt::relaxed);
    return warp_.shfl(at, 0);
  };
  std::uint64_t at = 0;
  if constexpr (Refs::stores_bounds) {
    // Two 16-bit counts in one word: a chunk has at most 512 refs.
    std::uint32_t sides = 0;
    SIMT_UNROLLED_4
    for (std::uint32_t i = first + warp_.lane(); i < last; i += Warp::width) {
      float lo, hi;
      Refs::load_bounds(task.refs, task.n, i, axis, lo, hi);
      const bool to_left = goes_left(lo, hi, p, flats_right),
                 to_right = goes_right(lo, hi, p, flats_right);
      sides += (to_left ? 1u : 0u) + (to_right ? 1u << 16 : 0u);
      if (to_left && to_right) k_.corners[Refs::load_id(task.refs, i)].prefetch();
    }
    sides = warp_.reduce_add(sides);
    at = reserve_places((sides & 0xffffu) | std::uint64_t{sides >> 16} << 32);
  }
  GatheredBounds<Warp, 2> tight;
  SIMT_ROLLED
  for (std::uint32_t base = first; base < last; base += Warp::width) {
    const std::uint32_t i = base + warp_.lane();
    Ref ref{};
    bool to_left = false, to_right = false;
    if (i < last) {
      ref = Refs::load(task.refs, task.n, i, task.box, k_.corners);
      to_left = goes_left(ref.box.lo[axis], ref.box.hi[axis], p, flats_right);
      to_right = goes_right(ref.box.lo[axis], ref.box.hi[axis], p, flats_right);
    }
    const std::uint32_t left_lanes = warp_.ballot(to_left), right_lanes = warp_.ballot(to_right);
    const std::uint64_t round =
        simt::popcount(left_lanes) | std::uint64_t{simt::popcount(right_lanes)} << 32;
    if constexpr (!Refs::stores_bounds) at = reserve_places(round);
    Sides sides{ref.box, ref.box};
    if constexpr (Refs::stores_bounds) {
      if (to_left && to_right) sides = split_bounds(k_.corners[ref.id].unpack(), ref.box, axis, p);
    } else {
      // The bounds that the child will compute when it loads the ref.
      if (to_left && bin_left) sides.left = Refs::clip(k_.corners, ref.id, below);
      if (to_right && bin_right) sides.right = Refs::clip(k_.corners, ref.id, above);
    }
    // Sanity check: cannot fail, because the choice counted with the same comparisons.
    const bool fits = static_cast<std::uint32_t>(at) + simt::popcount(left_lanes) <= nl &&
                      static_cast<std::uint32_t>(at >> 32) + simt::popcount(right_lanes) <= nr;
    if (!fits) {
      if (warp_.lane() == 0) warp_.fail(count_mismatch, task.n, std::uint64_t{nl} << 32 | nr, at);
      stop_ = true;
      return;
    }
    if (to_left) {
      Refs::store(left, nl,
                  static_cast<std::uint32_t>(at) + simt::popcount(left_lanes & lower_lanes), ref.id,
                  sides.left);
    }
    if (to_right) {
      Refs::store(right, nr,
                  static_cast<std::uint32_t>(at >> 32) + simt::popcount(right_lanes & lower_lanes),
                  ref.id, sides.right);
    }
    at += round;
    // Pass 0 bins one side of every lane's ref, so that both sides share a pass; pass 1 bins the
    // right side of straddling refs.
    const bool first_right = !to_left;
    SIMT_ROLLED
    for (unsigned pass = 0; pass < 2; ++pass) {
      const bool to_side = pass == 0 ? to_left : to_right,
                 bin_side = pass == 0 ? bin_left : bin_right;
      if (bin_side) {
        tight.add(warp_, to_side, select(pass != 0, sides.right, sides.left), pass);
      }
      const bool right = pass != 0 || first_right;
      const bool counts = pass == 0 ? (to_left ? bin_left : to_right && bin_right)
                                    : to_left && to_right && bin_right;
      if (warp_.any(counts)) {
        count_in_bins(warp_, scratch_.choose.histogram + (right ? histogram_words : 0),
                      scratch_.choose.axes + (right ? 3 : 0),
                      select(right, sides.right, sides.left), counts);
      }
    }
  }
  warp_.sync();
  if (bin_left) {
    SharedNode& child = k_.shared[node.child_index[0]];
    child.add_histogram(warp_, scratch_.choose.histogram);
    tight.add_to(child, warp_, 0);
  }
  if (bin_right) {
    SharedNode& child = k_.shared[node.child_index[1]];
    child.add_histogram(warp_, scratch_.choose.histogram + histogram_words);
    tight.add_to(child, warp_, 1);
  }
}

// split_chunk() for one CPU thread: the positions of the whole chunk are reserved at once, and the
// moved refs are binned afterwards, one side after the other.
template <class Kernel, class Warp>
void BuildWorker<Kernel, Warp>::split_chunk_simd(SharedNode& node, std::uint32_t chunk) {
  const NodeTask task = node.task;
  const std::uint32_t size = node.chunk, first = chunk * size,
                      last = task.n - first < size ? task.n : first + size;
  const Cut cut{node.axis, node.plane, node.flats_right};
  const Moved sides = count_sides(task.refs, task.n, first, last, cut, k_.corners);
  // relaxed: each position is reserved once.
  const std::uint64_t at =
      simt::global_ref(node.cursor)
          .fetch_add(sides.left | std::uint64_t{sides.right} << 32, simt::relaxed);
  const Target left{node.child[0], node.child_n[0], static_cast<std::uint32_t>(at)};
  const Target right{node.child[1], node.child_n[1], static_cast<std::uint32_t>(at >> 32)};
  // Sanity check: cannot fail, because the choice counted with the same comparisons.
  if (left.next + sides.left > left.n || right.next + sides.right > right.n) {
    warp_.fail(count_mismatch, task.n, std::uint64_t{left.n} << 32 | right.n, at);
    stop_ = true;
    return;
  }
  move_refs(task.refs, task.n, first, last, cut, k_.corners, left, right);
  const auto bin_child = [&](unsigned side, const Target& child, std::uint32_t moved,
                             const Box& box) {
    if (node.child_index[side] == no_shared_node) return;
    bin_for(k_.shared[node.child_index[side]], child.refs, child.n, child.next, child.next + moved,
            box);
  };
  bin_child(0, left, sides.left, {task.box.lo, set(task.box.hi, cut.axis, cut.plane)});
  bin_child(1, right, sides.right, {set(task.box.lo, cut.axis, cut.plane), task.box.hi});
}

// Called by the warp that finished the last chunk, the last reader of the parent's array. It
// publishes one child, frees the array and continues with the other child. Work that no warp waits
// for comes last, because the build waits for the path from level to level of a large node.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::end_split(SharedNode& node, std::uint32_t index) {
  // Values that are needed late are loaded late: the kernel has no register to spare.
  const std::uint32_t left_index = node.child_index[0], right_index = node.child_index[1];
  const bool both_shared = left_index != no_shared_node && right_index != no_shared_node;
  const bool none_shared = left_index == no_shared_node && right_index == no_shared_node;
  std::uint32_t small =
      (left_index == no_shared_node ? 1u : 0u) | (right_index == no_shared_node ? 2u : 0u);
  emptied_ = index;
  // The parent's pending unit passes to one child; the other child gets its own.
  if (both_shared) {
    if (warp_.lane() == 0) k_.queue.add_pending(1);
    if (!k_.queue.push_shared(warp_, WorkKind::choose, left_index, 1)) {
      // no space: this warp splits the child as an unshared node
      k_.shared.release(warp_, left_index);
      small = 1;
      pending_units_ += 1;
    }
  } else if (none_shared) {
    pending_units_ += 1;
  } else if (pending_units_ == 0) {
    // The tasks on the stack need one pending unit together: a new one.
    if (warp_.lane() == 0) k_.queue.add_pending(1);
    pending_units_ = 1;
  }
  SIMT_ROLLED
  for (unsigned side = 0; side < 2; ++side) {
    if ((small >> side & 1) == 0) continue;
    push_child(child_task(node.task,
                          {node.axis, node.plane, node.child_n[0], node.child_n[1], node.child_path,
                           node.child_allowance},
                          side, node.child[side], node.pair));
  }
  if (!memory_.delays_parent_free()) memory_.free(node.task.refs, node.task.n);
  const std::uint32_t tasks = stack_.size();
  if (!both_shared && (!none_shared || tasks > 1)) publish_oldest(k_.queue.load_tickets(warp_));
  if (!none_shared) continue_with_shared(right_index != no_shared_node ? right_index : left_index);
}
// Releases the shared node whose children end_split() has started. The memory of its array is free
// then, so a deferred node can be retried: among small nodes some warp finishes a unit all the time
// and retries, but here no unit is finished.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::release_emptied() {
  if (emptied_ == no_shared_node) return;
  const NodeTask& task = k_.shared[emptied_].task;
  if (memory_.delays_parent_free()) memory_.free(task.refs, task.n);
  if (defers_nodes && k_.queue.has_deferred(warp_)) TaskQueue::push_retry(k_.queue, warp_);
  k_.shared.release(warp_, emptied_);
  emptied_ = no_shared_node;
}

template <class Allocator, RefKind kind, class ProbeType>
template <class Warp>
SIMT_INLINE void BuildKernel<Allocator, kind, ProbeType>::operator()(Warp& warp,
                                                                     Scratch& scratch) const {
  BuildWorker<BuildKernel, Warp>(*this, warp, scratch).run();
}

}  // namespace heapwood::kdtree
