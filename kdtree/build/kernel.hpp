// SPDX-License-Identifier: MIT
// The single-kernel builder: persistent warps take nodes from one queue and split them until none
// is left. Every split asks the allocator for the children's arrays, and the last reader of the
// parent's array frees it (RegEff section 6). Many warps split a large node together
// (shared_node.hpp); one warp splits small nodes depth-first with a private stack.
// docs/architecture.md describes the protocol; worker.hpp is the code of one warp.
#pragma once

#include <cstdint>
#include <type_traits>

#include "alloc/allocator.hpp"
#include "kdtree/build/build.hpp"
#include "kdtree/build/probe.hpp"
#include "kdtree/build/shared_node.hpp"
#include "kdtree/build/task_queue.hpp"
#include "kdtree/split/choose.hpp"

namespace heapwood::kdtree {

// Error codes, passed to Warp::fail.
enum BuildError : std::uint32_t {
  nodes_overflow = 1,  // the node array is full
  refs_overflow = 2,   // the ref array is full
  count_mismatch = 3,  // a bug: a partition moved other numbers of refs than the choice counted
};

// Chunks of a shared node, item.chunk to `end`, for which the queue had no space: this warp does
// them.
struct Backlog {
  WorkItem item;
  std::uint32_t end = 0;
};

// unknown: the scene's bounds are not complete. open: the root's array exists and can be filled.
// refused: the allocator refused it.
enum class RootState : std::uint32_t { unknown, open, refused };

// Counters that all warps add to, each on its own cache line.
struct BuildCounters {
  alignas(128) std::uint64_t pairs = 1;  // node pairs reserved; pair 0 is the root's
  alignas(128) std::uint64_t refs = 0;   // entries of the output reserved
  alignas(128) std::uint64_t failed_splits = 0;
  // size of the first request that failed, or of the larger of two made together
  std::uint64_t failed_bytes = 0;
  Box bounds;  // of the scene, written by one warp
  // One word for each of the root's two phases (root_phases.hpp), {pieces finished:32, pieces
  // claimed:32}, and the state that separates the phases.
  alignas(128) std::uint64_t bounds_pieces = 0;
  alignas(128) std::uint64_t init_pieces = 0;
  alignas(128) RootState root = RootState::unknown;
};

// `ProbeType` records what each warp is doing (probe.hpp).
template <class Allocator, RefKind kind, class ProbeType = NoProbe>
struct BuildKernel {
  using Refs = RefArray<kind>;
  using Probe = ProbeType;
  // Blocks of two warps: the smaller a block, the finer the steps in which the number of resident
  // warps, and so of registers per warp, can be chosen. Warps do not depend on their block.
  static constexpr unsigned block_threads = 64;
  static constexpr unsigned blocks_per_multiprocessor =
      warps_per_multiprocessor * 32 / block_threads;
  static constexpr unsigned stack_size = 64;  // a power of two above max_depth
  static_assert(stack_size > max_depth);
  // A node must have min_published_refs refs to be published for another warp. A warp with more
  // than max_kept_tasks nodes on its stack publishes nodes of any size: if each split cuts most
  // refs in two, a few refs become many nodes.
  static constexpr std::uint32_t min_published_refs = 12, min_published_refs_when_idle = 4,
                                 max_kept_tasks = 6;
  // While most warps are idle, a shared node's child with more refs than this becomes a shared node
  // too, because the whole build then waits for it. The value is measured (docs/experiments.md);
  // the tree does not depend on it.
  static constexpr std::uint32_t shared_limit_when_idle = 384;
  static_assert(shared_limit_when_idle >= exact_limit && shared_limit_when_idle <= shared_limit);
  // The stack cannot overflow: a node that moves to the top leaves fewer than max_kept_tasks nodes
  // below it, and is then split down to the last level at most.
  static_assert(stack_size >= max_kept_tasks - 1 + max_depth - 1);

  // Whether small nodes are split in a loop without calls, which leaves nodes that need a call to
  // the code after it (NodeSplitter::split_nodes). For allocators without a context the loop would
  // need a second copy of the allocator's code.
  static constexpr bool has_context = requires { typename Allocator::WarpState; };
  static constexpr bool splits_in_loop = has_context || alloc::never_frees<Allocator>;
  // A node whose split has been chosen, with the blocks of its children if they are allocated.
  struct Unfinished {
    ChosenSplit split;
    alloc::BlockPair blocks;
    std::uint64_t tickets;
  };
  // A node whose split has been chosen. children: its children's arrays; `left` is nullptr until
  // they are allocated. parent: the node's own array of n refs; nullptr once it is freed.
  struct Replacement {
    ChildArrays children;
    std::byte* parent;
    std::uint32_t n;
  };
  struct Nothing {};

  // The warp's fast memory, with the state of the allocator's context, if any, and of the probe.
  struct Scratch : alloc::WarpStateOf<Allocator>::Type, Probe::State {
    ChooseScratch choose;
    [[no_unique_address]] std::conditional_t<splits_in_loop, Unfinished, Nothing> unfinished;
    ChosenSplit chosen;  // split of the warp's node, valid if the node's path says so
    [[no_unique_address]] std::conditional_t<has_context, Replacement, Nothing> replacement;
    Backlog backlog;
    bool refused;  // this warp was just refused memory, or has just released its cached memory
    // the node that was retried after all warps had released their cached memory
    std::uint32_t last_try;
    NodeTask stack[stack_size];
  };

  Allocator allocator;
  SahCosts costs;
  const Vec3* vertices;
  const Triangle* triangles;
  std::uint32_t triangle_count;  // at least 1
  bool are_boxes;                // refs have the kind `boxes`
  Probe probe;                   // a probe without members occupies only padding
  PackedCorners* corners;
  TaskQueue queue;
  SharedNodes shared;
  BuildCounters* counters;
  Node* nodes;
  std::uint64_t pair_capacity;
  std::uint32_t* refs;
  std::uint64_t ref_capacity;

  template <class Warp>
  HEAPWOOD_INLINE void operator()(Warp& warp, Scratch& scratch) const;  // worker.hpp
};

// Refs per chunk of a shared node: enough to be worth waking a warp, few enough to occupy all
// warps. If `waiting` warps have no other work, chunks are smaller.
HEAPWOOD_INLINE std::uint32_t chunk_size(std::uint32_t n, std::uint32_t waiting = 0) {
  const auto in_rounds = [](std::uint32_t refs) { return (refs + 31) / 32 * 32; };
  const std::uint32_t even = in_rounds(n / 2048),
                      one_each = waiting == 0 ? 128 : in_rounds(n / waiting);
  const std::uint32_t lower_limit = one_each < 32 ? 32 : one_each > 128 ? 128 : one_each;
  return even < lower_limit ? lower_limit : even > 512 ? 512 : even;
}

// Whether this warp processes refs with SIMD (simd.hpp): a CPU thread with clipped refs.
template <class Refs, class Warp>
inline constexpr bool uses_simd = Warp::width == 1 && Refs::stores_bounds;

// chunk_size() for a given warp. A CPU thread with SIMD has no rounds of 32 lanes: its chunks are
// larger, as long as every thread gets some.
template <class Refs, class Warp>
HEAPWOOD_INLINE std::uint32_t chunk_size_for(Warp& warp, std::uint32_t n, std::uint32_t waiting) {
  if constexpr (uses_simd<Refs, Warp>) {
    const std::uint32_t even = n / (4 * warp.workers());
    return even < 512 ? 512 : even > 16384 ? 16384 : even;
  }
  return chunk_size(n, waiting);
}

// The data of a split that both children need.
struct ParentSplit {
  unsigned axis;
  float plane;
  std::uint32_t nl, nr;
  NodePath path;  // path of both children
  float allowance;
};
HEAPWOOD_INLINE ParentSplit parent_split(const ChosenSplit& split) {
  return {split.axis(),
          split.position(),
          split.nl(),
          split.nr(),
          split.children.path.next_level(),
          split.children.allowance};
}

// The task of the child on side `side`. Selects member by member, because selecting whole structs
// would put them into local memory.
HEAPWOOD_INLINE NodeTask child_task(const NodeTask& parent, const ParentSplit& split, unsigned side,
                                    std::byte* refs, std::uint32_t pair) {
  return {refs,
          side == 0 ? split.nl : split.nr,
          2 * pair + side,
          {set(parent.box.lo, side == 0 ? 3 : split.axis, split.plane),
           set(parent.box.hi, side == 0 ? split.axis : 3, split.plane)},
          split.path,
          split.allowance};
}

// Copies the corners of the triangles [first, last), so that they can be read in the order of the
// triangles' ids, and adds their bounds to those of `scene`. `are_boxes`: refs have the kind
// `boxes`. All lanes call.
template <class Warp>
HEAPWOOD_INLINE void copy_corners(Warp& warp, const Vec3* vertices, const Triangle* triangles,
                                  std::uint32_t first, std::uint32_t last, bool are_boxes,
                                  PackedCorners* corners, SharedNode& scene) {
  Box box;
  for (std::uint32_t i = first + warp.lane(); i < last; i += Warp::width) {
    const Triangle t = triangles[i];
    // Adding zero turns -0 into +0: from here on equal coordinates have equal bits.
    const Vec3 zero{0.0f, 0.0f, 0.0f};
    const Vec3 a = vertices[t.v[0]] + zero, b = vertices[t.v[1]] + zero,
               c = vertices[t.v[2]] + zero;
    const Corners corners_of_t{a, b, c};
    corners[i] = PackedCorners::pack(corners_of_t, are_boxes);
    box.grow(bounds(corners_of_t));
  }
  GatheredBounds<Warp> tight;
  tight.add(warp, true, box);
  tight.add_to(scene, warp);
}

// Clears the histograms of a chunk's refs, for both children.
template <class Warp>
HEAPWOOD_INLINE void clear_histograms(Warp& warp, ChooseScratch& scratch) {
  for (unsigned k = warp.lane(); k < 2 * histogram_words; k += Warp::width)
    scratch.histogram[k] = 0;
  warp.sync();
}

// Counts the clipped refs [first, last) in the bins of `node`. `refs` is the node's array and `box`
// its box. For one CPU thread; other threads may still be filling other parts of the array.
inline void bin_array_for(SharedNode& node, ChooseScratch& scratch, const std::byte* refs,
                          std::uint32_t first, std::uint32_t last, const Box& box) {
  const Box tight = bin_refs(refs, first, last, box, scratch.sums);
  node.add(scratch.sums, tight);
}

}  // namespace heapwood::kdtree
