// SPDX-License-Identifier: MIT
// The start of a build: the root's phases bounds and init, which all warps join from the launch on.
// Warps claim pieces by one word per phase: two thousand pieces as items of the queue would delay
// each phase by 10 us.
#pragma once

#include <cstdint>

#include "kdtree/build/corner_copies.hpp"
#include "kdtree/build/worker.hpp"

namespace heapwood::kdtree {

// The root's pending unit is counted before the launch.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::begin_tree() {
  SharedNode& root = k_.shared[root_index];
  const std::uint32_t n = k_.triangle_count, chunk = chunk_of(n, warp_.workers()),
                      chunks = (n + chunk - 1) / chunk;
  BuildCounters& counters = *k_.counters;
  bool ended = process_pieces(counters.bounds_pieces, claim_piece(counters.bounds_pieces),
                              root_array_pieces + chunks, [&](std::uint32_t piece) {
                                if (root_array_pieces != 0 && piece == 0) {
                                  std::byte* const array = memory_.allocate(n);
                                  if (warp_.lane() == 0) root.task.refs = array;
                                } else {
                                  bounds_piece(root, (piece - root_array_pieces) * chunk, chunk);
                                }
                              });
  if (ended) end_bounds(root);
  memory_.begin();
  // The piece is claimed before the wait because the claim is itself a round trip to L2. Late warps
  // delay no phase: there are at least as many pieces as warps, and a warp that finishes one claims
  // another.
  const std::uint64_t seen = claim_piece(counters.init_pieces);
  if (wait_for_bounds() != RootState::open) return;
  ended = process_pieces(counters.init_pieces, seen, chunks,
                         [&](std::uint32_t piece) { init_piece(root, piece * chunk, chunk); });
  if (ended) end_init(root);
}

// Counts `finished` (0 or 1) pieces of a phase as done and claims the next piece. Returns the
// word's previous value.
template <class Kernel, class Warp>
SIMT_INLINE std::uint64_t BuildWorker<Kernel, Warp>::claim_piece(std::uint64_t& pieces,
                                                                 std::uint64_t finished) {
  warp_.sync();
  std::uint64_t seen = 0;
  // acq_rel: publishes the results of a finished piece; the warp that finishes the last piece sees
  // the results of all.
  if (warp_.lane() == 0)
    seen = simt::global_ref(pieces).fetch_add(finished << 32 | 1, simt::acq_rel);
  return warp_.shfl(seen, 0);
}
// Processes pieces until none is left. True: this warp finished the last one.
template <class Kernel, class Warp>
template <class Do>
SIMT_INLINE bool BuildWorker<Kernel, Warp>::process_pieces(std::uint64_t& pieces,
                                                           std::uint64_t seen, std::uint32_t count,
                                                           Do piece) {
  while (static_cast<std::uint32_t>(seen) < count) {
    piece(static_cast<std::uint32_t>(seen));
    seen = claim_piece(pieces, 1);
    if ((seen >> 32) + 1 == count) return true;
  }
  return false;
}

// Copies the corners of a piece's triangles, so that they can be read in the order of their ids,
// and gathers the scene's bounds.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::bounds_piece(SharedNode& root, std::uint32_t first,
                                                         std::uint32_t chunk) {
  [[maybe_unused]] const auto in = probe_.in(Phase::bounds, 0);
  const std::uint32_t n = k_.triangle_count, last = n - first < chunk ? n : first + chunk;
  copy_corners(warp_, k_.vertices, k_.triangles, first, last, k_.corners, root);
}

template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::end_bounds(SharedNode& root) {
  const std::uint32_t n = k_.triangle_count;
  const Box scene = root.tight_box();
  std::byte* const array = root_array_pieces != 0 ? root.task.refs : memory_.allocate(n);
  warp_.sync();  // all lanes have read it
  if (warp_.lane() == 0) {
    k_.counters->bounds = scene;
    root.task = {array, n, 0, scene, NodePath(scale_of(scene)), root_allowance(n)};
    // release: publishes the scene's bounds and everything that was written in the bounds phase.
    simt::atomic_ref<RootState>(k_.counters->root)
        .store(array != nullptr ? RootState::open : RootState::refused, simt::release);
  }
  warp_.sync();
  if (array != nullptr) return;
  // The root's array was refused: the tree is one leaf with every triangle.
  tree_.write_root_leaf(stop_);
  if (stop_) return;
  pending_units_ += 1;
}

template <class Kernel, class Warp>
SIMT_INLINE RootState BuildWorker<Kernel, Warp>::wait_for_bounds() {
  [[maybe_unused]] const auto in = probe_.in(Phase::wait);
  RootState state = RootState::unknown;
  if (warp_.lane() == 0) {
    const simt::atomic_ref<RootState> word(k_.counters->root);
    // Loads are relaxed until the value arrives, then one is acquire, as in TaskQueue::pop(). The
    // wait ends: the pieces of the bounds phase belong to warps that do not wait.
    simt::wait_until(warp_, [&] { return word.load(simt::relaxed) != RootState::unknown; });
    state = word.load(simt::acquire);
  }
  state = static_cast<RootState>(warp_.shfl(static_cast<std::uint32_t>(state), 0));
  stop_ = stop_ || state == RootState::unknown;  // aborted
  return state;
}

// Fills a piece of the root's array and bins it.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::init_piece(SharedNode& root, std::uint32_t first,
                                                       std::uint32_t chunk) {
  [[maybe_unused]] const auto in = probe_.in(Phase::init, 0);
  const NodeTask task = root.task;
  const std::uint32_t last = task.n - first < chunk ? task.n : first + chunk;
  set_counting_axes(warp_, scratch_.choose.axes, task.box);
  clear_sums();
  for (std::uint32_t i = first + warp_.lane(); i < last; i += Warp::width) {
    const Box box = bounds(k_.corners[i].unpack());
    Refs::store(task.refs, task.n, i, i, box);
    if constexpr (!uses_simd)
      count_in_bins(warp_, scratch_.choose.histogram, scratch_.choose.axes, box);
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
    continue_with_shared(root_index);
    return;
  }
  task_ = root.task;
  has_task_ = true;
  pending_units_ += 1;
  k_.shared.release(warp_, root_index);
}

}  // namespace heapwood::kdtree
