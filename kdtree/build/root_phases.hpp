// SPDX-License-Identifier: MIT
// The start of a build: the phases `bounds` and `init` of the root. All warps join both from the
// launch on. A phase is divided into pieces, which warps claim through one word per phase.
#pragma once

#include <cstdint>

#include "kdtree/build/kernel.hpp"
#include "kdtree/build/ref_memory.hpp"

namespace heapwood::kdtree {

// Every warp calls gather_bounds(), then begin_init() and, if that returns `open`, fill().
template <class Kernel, class Warp>
class RootPhases {
 public:
  using Refs = typename Kernel::Refs;
  using Scratch = typename Kernel::Scratch;
  using Memory = RefMemory<Kernel, Warp>;
  using Probe = typename Kernel::Probe::template Of<Warp>;

  HEAPWOOD_INLINE RootPhases(const Kernel& kernel, Warp& warp, Scratch& scratch, const Probe& probe)
      : k_(kernel),
        warp_(warp),
        scratch_(scratch),
        probe_(probe),
        root_(kernel.shared[root_index]),
        chunk_(chunk_size_for<Refs>(warp, kernel.triangle_count, warp.workers())),
        chunks_((kernel.triangle_count + chunk_ - 1) / chunk_) {}

  // Copies corners and finds the scene's bounds. Returns true to the warp that finished the last
  // piece, which must call open().
  HEAPWOOD_INLINE bool gather_bounds(Memory& memory) {
    std::uint64_t& pieces = k_.counters->bounds_pieces;
    return process_pieces(pieces, claim_piece(pieces), array_pieces + chunks_,
                          [&](std::uint32_t piece) {
                            if (array_pieces != 0 && piece == 0) {
                              std::byte* const array = memory.allocate(k_.triangle_count);
                              if (warp_.lane() == 0) root_.task.refs = array;
                            } else {
                              gather_piece((piece - array_pieces) * chunk_);
                            }
                          });
  }
  // Starts the phase `init`. Returns false if the root's array was refused.
  HEAPWOOD_INLINE bool open(Memory& memory) {
    const std::uint32_t n = k_.triangle_count;
    const Box scene = root_.tight_box();
    std::byte* const array = array_pieces != 0 ? root_.task.refs : memory.allocate(n);
    warp_.sync();  // all lanes have read root_
    if (warp_.lane() == 0) {
      k_.counters->bounds = scene;
      root_.task = {array, n, 0, scene, NodePath(scale_of(scene)), root_allowance(n)};
      // release: publishes the scene's bounds and what was written in the phase `bounds`.
      simt::atomic_ref<RootState>(k_.counters->root)
          .store(array != nullptr ? RootState::open : RootState::refused, simt::release);
    }
    warp_.sync();
    return array != nullptr;
  }

  // Waits for the end of the phase `bounds`. Returns `unknown` if the kernel is aborted.
  HEAPWOOD_INLINE RootState begin_init() {
    // Claims a piece of the next phase before the wait, because the claim is itself a round trip to
    // L2. A late warp delays no phase: it has claimed nothing yet, and other warps continue.
    first_init_piece_ = claim_piece(k_.counters->init_pieces);
    [[maybe_unused]] const auto in = probe_.in(Phase::wait);
    RootState state = RootState::unknown;
    if (warp_.lane() == 0) {
      const simt::atomic_ref<RootState> word(k_.counters->root);
      // Polls relaxed and acquires once the value has arrived: each acquire on a GPU invalidates
      // L1. The wait ends, because pieces of `bounds` belong to warps that do not wait.
      simt::wait_until(warp_, [&] { return word.load(simt::relaxed) != RootState::unknown; });
      state = word.load(simt::acquire);
    }
    return static_cast<RootState>(warp_.shfl(static_cast<std::uint32_t>(state), 0));
  }
  // Fills the root's array and counts its refs in bins. Returns true to the warp that finished the
  // last piece, which continues with the root.
  HEAPWOOD_INLINE bool fill() {
    return process_pieces(k_.counters->init_pieces, first_init_piece_, chunks_,
                          [&](std::uint32_t piece) { fill_piece(piece * chunk_); });
  }

 private:
  static constexpr bool uses_simd = kdtree::uses_simd<Refs, Warp>;
  // With a context, allocating the root's array is one more piece of the phase `bounds`. After that
  // phase, all warps would wait for the call.
  static constexpr std::uint32_t array_pieces = Kernel::has_context ? 1 : 0;

  // Counts `finished` (0 or 1) pieces and claims the next one. Returns the previous word.
  HEAPWOOD_INLINE std::uint64_t claim_piece(std::uint64_t& pieces, std::uint64_t finished = 0) {
    warp_.sync();
    std::uint64_t seen = 0;
    // acq_rel: publishes a finished piece's results; the warp that finishes the last piece sees
    // all.
    if (warp_.lane() == 0)
      seen = simt::global_ref(pieces).fetch_add(finished << 32 | 1, simt::acq_rel);
    return warp_.shfl(seen, 0);
  }
  // Processes pieces until none is left. Returns true to the warp that finished the last piece.
  template <class Do>
  HEAPWOOD_INLINE bool process_pieces(std::uint64_t& pieces, std::uint64_t seen,
                                      std::uint32_t count, Do piece) {
    while (static_cast<std::uint32_t>(seen) < count) {
      piece(static_cast<std::uint32_t>(seen));
      seen = claim_piece(pieces, 1);
      if ((seen >> 32) + 1 == count) return true;
    }
    return false;
  }

  HEAPWOOD_INLINE void gather_piece(std::uint32_t first) {
    [[maybe_unused]] const auto in = probe_.in(Phase::bounds, 0);
    const std::uint32_t n = k_.triangle_count, last = n - first < chunk_ ? n : first + chunk_;
    copy_corners(warp_, k_.vertices, k_.triangles, first, last,
                 !Refs::stores_bounds && k_.are_boxes, k_.corners, root_);
  }
  HEAPWOOD_INLINE void fill_piece(std::uint32_t first) {
    [[maybe_unused]] const auto in = probe_.in(Phase::init, 0);
    const NodeTask task = root_.task;
    const std::uint32_t last = task.n - first < chunk_ ? task.n : first + chunk_;
    set_counting_axes(warp_, scratch_.choose.axes, task.box);
    clear_histograms(warp_, scratch_.choose);
    for (std::uint32_t i = first + warp_.lane(); i < last; i += Warp::width) {
      const Box box = bounds(k_.corners[i].unpack());
      Refs::store(task.refs, i, i, box);
      if constexpr (!uses_simd)
        count_in_bins(warp_, scratch_.choose.histogram, scratch_.choose.axes, box);
    }
    if constexpr (uses_simd) {
      bin_array_for(root_, scratch_.choose, task.refs, first, last, task.box);
      return;
    }
    warp_.sync();
    root_.add_histogram(warp_, scratch_.choose.histogram);
  }

  const Kernel& k_;
  Warp& warp_;
  Scratch& scratch_;
  [[no_unique_address]] Probe probe_;
  SharedNode& root_;
  // Refs per piece; number of pieces, without the one that allocates the array.
  std::uint32_t chunk_, chunks_;
  std::uint64_t first_init_piece_ = 0;
};

}  // namespace heapwood::kdtree
