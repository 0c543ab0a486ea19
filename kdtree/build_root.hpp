// SPDX-License-Identifier: MIT
// How a build begins: bounds -> init for the root, in which all warps take part from the launch on. Pieces are handed out by one word
// for each phase: as items of the queue, two thousand of them, either phase would begin 10 us later.
#pragma once

#include <cstdint>

#include "kdtree/build_worker.hpp"

namespace heapwood::kdtree {

// The root's unit of pending work was announced before the launch.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::begin_tree() {
  SharedNode& root = k_.shared[root_slot];
  const std::uint32_t n = k_.triangle_count, chunk = chunk_of(n, warp_.workers()), chunks = (n + chunk - 1) / chunk;
  BuildCounters& counters = *k_.counters;
  bool ended = do_pieces(counters.bounds_pieces, claim_piece(counters.bounds_pieces), root_array_pieces + chunks,
                         [&](std::uint32_t piece) {
                           if (root_array_pieces != 0 && piece == 0) {
                             std::byte* const array = allocate(n);
                             if (warp_.lane() == 0) root.task.refs = array;
                           } else {
                             bounds_piece(root, (piece - root_array_pieces) * chunk, chunk);
                           }
                         });
  if (ended) end_bounds(root);
  if constexpr (has_context) context_.begin(warp_);
  // Taken before the wait, since it is a trip to L2 itself. Warps that are late hold nobody up: there are as many pieces as warps, or more,
  // and whoever is done takes another.
  const std::uint64_t seen = claim_piece(counters.init_pieces);
  if (wait_for_bounds() != RootState::open) return;
  ended = do_pieces(counters.init_pieces, seen, chunks,
                    [&](std::uint32_t piece) { init_piece(root, piece * chunk, chunk); });
  if (ended) end_init(root);
}

// Finishes one or no piece of a phase and takes another: what the word was before.
template <class Kernel, class Warp>
SIMT_INLINE std::uint64_t BuildWorker<Kernel, Warp>::claim_piece(std::uint64_t& pieces, std::uint64_t finished) {
  warp_.sync();
  std::uint64_t seen = 0;
  // acq_rel: publishes a piece's results; whoever finishes the last one sees those of all.
  if (warp_.lane() == 0) seen = simt::global_ref(pieces).fetch_add(finished << 32 | 1, simt::acq_rel);
  return warp_.shfl(seen, 0);
}
// Does pieces as long as there are any. True: this warp has finished the last one.
template <class Kernel, class Warp>
template <class Do>
SIMT_INLINE bool BuildWorker<Kernel, Warp>::do_pieces(std::uint64_t& pieces, std::uint64_t seen, std::uint32_t count,
                                                      Do piece) {
  while (static_cast<std::uint32_t>(seen) < count) {
    piece(static_cast<std::uint32_t>(seen));
    seen = claim_piece(pieces, 1);
    if ((seen >> 32) + 1 == count) return true;
  }
  return false;
}

// Copies the triangles' corners, so that they can be read in order of their ids, and gathers the scene's bounds.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::bounds_piece(SharedNode& root, std::uint32_t first, std::uint32_t chunk) {
  [[maybe_unused]] const auto in = probe_.in(Phase::bounds, 0);
  const std::uint32_t n = k_.triangle_count, last = n - first < chunk ? n : first + chunk;
  Box box;
  for (std::uint32_t i = first + warp_.lane(); i < last; i += Warp::width) {
    const Triangle t = k_.triangles[i];
    const Vec3 zero{0.0f, 0.0f, 0.0f};  // adding it turns -0 into +0: equal coordinates have equal bits from here on
    const Vec3 a = k_.vertices[t.v[0]] + zero, b = k_.vertices[t.v[1]] + zero, c = k_.vertices[t.v[2]] + zero;
    k_.corners[i] = {{a.x, a.y, a.z, 0.0f}, {b.x, b.y, b.z, 0.0f}, {c.x, c.y, c.z, 0.0f}};
    box.grow(bounds(Corners{a, b, c}));
  }
  GatheredBounds<Warp> tight;
  tight.add(warp_, true, box);
  tight.add_to(root, warp_);
}

template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::end_bounds(SharedNode& root) {
  const std::uint32_t n = k_.triangle_count;
  const Box scene = root.tight_box();
  std::byte* const array = root_array_pieces != 0 ? root.task.refs : allocate(n);
  warp_.sync();  // all have read
  if (warp_.lane() == 0) {
    k_.counters->bounds = scene;
    root.task = {array, n, 0, scene, NodePath(scale_of(scene)), max_refs_per_triangle};
    // release: publishes the scene's bounds, and everything that was written to the root's pieces.
    simt::atomic_ref<RootState>(k_.counters->root)
        .store(array != nullptr ? RootState::open : RootState::refused, simt::release);
  }
  warp_.sync();
  if (array != nullptr) return;
  // Not even the root fits: one leaf with every triangle.
  const std::uint32_t at = reserve_refs(n);
  if (stop_) return;
  for (std::uint32_t i = warp_.lane(); i < n; i += Warp::width) k_.refs[at + i] = i;
  if (warp_.lane() == 0) {
    k_.nodes[0] = Node::make_leaf(at, n);
    note_node(root.task, true);
  }
  pending_units_ += 1;
}

template <class Kernel, class Warp>
SIMT_INLINE RootState BuildWorker<Kernel, Warp>::wait_for_bounds() {
  [[maybe_unused]] const auto in = probe_.in(Phase::wait);
  RootState state = RootState::unknown;
  if (warp_.lane() == 0) {
    const simt::atomic_ref<RootState> word(k_.counters->root);
    // Relaxed until it is there, then acquire, as in TaskQueue::pop(). Ends: the bounds' pieces are with warps that do not wait.
    simt::wait_until(warp_, [&] { return word.load(simt::relaxed) != RootState::unknown; });
    state = word.load(simt::acquire);
  }
  state = static_cast<RootState>(warp_.shfl(static_cast<std::uint32_t>(state), 0));
  stop_ = stop_ || state == RootState::unknown;  // aborted
  return state;
}

// Fills the root's array and bins it.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::init_piece(SharedNode& root, std::uint32_t first, std::uint32_t chunk) {
  [[maybe_unused]] const auto in = probe_.in(Phase::init, 0);
  const NodeTask task = root.task;
  const std::uint32_t last = task.n - first < chunk ? task.n : first + chunk;
  set_counting_axes(warp_, scratch_.choose.axes, task.box);
  clear_sums();
  for (std::uint32_t i = first + warp_.lane(); i < last; i += Warp::width) {
    const Box box = bounds(k_.corners[i].unpack());
    Refs::store(task.refs, task.n, i, i, box);
    if constexpr (!uses_simd) count_in_bins(warp_, scratch_.choose.histogram, scratch_.choose.axes, box);
  }
  if constexpr (uses_simd) {
    bin_for(root, task.refs, task.n, first, last, task.box);
    return;
  }
  warp_.sync();
  root.add_histogram(warp_, scratch_.choose.histogram);
}

template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::end_init(SharedNode& root) {
  if (k_.triangle_count > shared_limit) {
    take_shared(root_slot);
    return;
  }
  task_ = root.task;
  has_task_ = true;
  pending_units_ += 1;
  k_.shared.release(warp_, root_slot);
}

}  // namespace heapwood::kdtree
