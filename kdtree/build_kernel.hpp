// SPDX-License-Identifier: MIT
// The single-kernel builder: persistent warps take nodes to split from one queue until nothing is left. Every split asks
// the allocator for the children's arrays, and the last reader of the parent's array frees it (RegEff section 6, [DS]).
// Large nodes are split by many warps (shared_node.hpp); small ones depth-first by one warp with a private stack.
// docs/architecture.md describes the protocol; build_worker.hpp is one warp's part in it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "alloc/allocator.hpp"
#include "kdtree/build.hpp"
#include "kdtree/build_probe.hpp"
#include "kdtree/choose.hpp"
#include "kdtree/shared_node.hpp"
#include "kdtree/task_queue.hpp"

namespace heapwood::kdtree {

// Codes for Warp::fail.
enum BuildError : std::uint32_t {
  nodes_overflow = 1,  // the node array is full
  refs_overflow = 2,   // the ref array is full
  count_mismatch = 3,  // a partition did not move the refs that the choice had counted: a bug
};

// Chunks [item.chunk, end) that a warp does itself, because the queue had no room.
struct Backlog {
  WorkItem item;
  std::uint32_t end = 0;
};

// unknown: the scene's bounds are not. open: the root's array is there to be filled. refused: there is none.
enum class RootState : std::uint32_t { unknown, open, refused };

// Words that all warps add to, each on its own line.
struct BuildCounters {
  alignas(128) std::uint64_t pairs = 1;  // node pairs taken; pair 0 is the root's
  alignas(128) std::uint64_t refs = 0;   // entries of the output taken
  alignas(128) std::uint64_t failed_splits = 0;
  std::uint64_t failed_bytes = 0;  // the larger one of the first two requests of which one failed
  Box bounds;                      // of the scene, written by one warp
  // The root's phases (build_root.hpp): pieces finished:32 | taken:32, and what is between them.
  alignas(128) std::uint64_t bounds_pieces = 0;
  alignas(128) std::uint64_t init_pieces = 0;
  alignas(128) RootState root = RootState::unknown;
};

// `ProbeType` is told what each warp is doing (build_probe.hpp).
template <class Allocator, RefKind kind, class ProbeType = NoProbe>
struct BuildKernel {
  using Refs = RefArray<kind>;
  using Probe = ProbeType;
  // Blocks of two warps give the finest steps of registers a warp; warps are independent of their block. With 96
  // registers each, some of them spilled, 20 beat 16 with as many as they like, but in scenes too small for either.
  static constexpr unsigned block_threads = 64;
  static constexpr unsigned blocks_per_multiprocessor = warps_per_multiprocessor * 32 / block_threads;
  static constexpr unsigned stack_size = 64;  // a power of two above max_depth
  static_assert(stack_size > max_depth);
  // Refs of the least node that is given to another warp: the way there costs both warps about as much as a split, and, when most
  // warps have nothing to do, only the giver. With many nodes on a warp's stack any is given: where each split cuts most refs in
  // two, few refs become many nodes.
  static constexpr std::uint32_t min_published_refs = 12, min_published_refs_when_idle = 4, max_kept_tasks = 6;
  // A shared node's child that has more refs than this is shared, too, while most warps have nothing to do: then the build waits for it.
  // The best by little of 256, 384 and 512 (docs/performance.md, "One node behind the other"). The tree is the same.
  static constexpr std::uint32_t shared_limit_when_idle = 384;
  static_assert(shared_limit_when_idle >= exact_limit && shared_limit_when_idle <= shared_limit);
  // Whoever comes to the top leaves fewer than `many` below, and splits on down to the last level.
  static_assert(stack_size >= max_kept_tasks - 1 + max_depth - 1);

  // Whether small nodes are split in a loop without calls, and what takes one is done behind it (BuildWorker::split_nodes). With the code
  // of other allocators in it, twice, that loop is up to 20% slower than one place for all nodes.
  static constexpr bool has_context = requires { typename Allocator::WarpState; };
  static constexpr bool splits_in_loop = has_context || Allocator::traits.frees == alloc::Frees::never;
  // A node that has been chosen a split for; its children's arrays, if there are any.
  struct Unfinished {
    Split split;
    alloc::BlockPair arrays;
    std::uint64_t look;
  };
  struct Nothing {};

  // With the allocator's part, where it has a context, and the probe's.
  struct Scratch : alloc::WarpStateOf<Allocator>::Type, Probe::State {
    ChooseScratch choose;
    [[no_unique_address]] std::conditional_t<splits_in_loop, Unfinished, Nothing> unfinished;
    Backlog backlog;
    bool refused;            // this warp has just been refused memory, or has given back what it kept
    std::uint32_t last_try;  // the node for which all warps have given back what they kept
    NodeTask stack[stack_size];
  };

  Allocator allocator;
  SahCosts costs;
  const Vec3* vertices;
  const Triangle* triangles;
  std::uint32_t triangle_count;  // at least 1
  Probe probe;                   // an empty one is in what would be padding
  PackedCorners* corners;
  TaskQueue queue;
  SharedNodes shared;
  BuildCounters* counters;
  Node* nodes;
  std::uint64_t pair_capacity;
  std::uint32_t* refs;
  std::uint64_t ref_capacity;

  template <class Warp>
  SIMT_INLINE void operator()(Warp& warp, Scratch& scratch) const;  // build_worker.hpp
};

// Refs a chunk of a shared node has: enough for a warp to be worth waking, few enough to feed all of them. Fewer where that many
// warps have nothing else to do: then the build waits for this node, and a chunk's time goes with its rounds of 32 refs.
SIMT_INLINE std::uint32_t chunk_size(std::uint32_t n, std::uint32_t waiting = 0) {
  const auto in_rounds = [](std::uint32_t refs) { return (refs + 31) / 32 * 32; };
  const std::uint32_t even = in_rounds(n / 2048), one_each = waiting == 0 ? 128 : in_rounds(n / waiting);
  const std::uint32_t lower_limit = one_each < 32 ? 32 : one_each > 128 ? 128 : one_each;
  return even < lower_limit ? lower_limit : even > 512 ? 512 : even;
}

// What a child needs to know of its parent's split.
struct ParentSplit {
  unsigned axis;
  float plane;
  std::uint32_t nl, nr;
  NodePath path;  // the children's
  float allowance;
};
SIMT_INLINE ParentSplit parent_split(const NodeTask& parent, const Split& split) {
  return {split.axis(),
          split.position(),
          split.nl(),
          split.nr(),
          parent.path.below(split.is_poor()),
          allowance_below(parent.allowance, parent.n, split.added(parent.n))};
}

// The task of one side's child. Built from selected components: selecting whole structs would put them into local memory.
SIMT_INLINE NodeTask child_task(const NodeTask& parent, const ParentSplit& split, unsigned side, std::byte* refs,
                                std::uint32_t pair) {
  return {refs,
          side == 0 ? split.nl : split.nr,
          2 * pair + side,
          {set(parent.box.lo, side == 0 ? 3 : split.axis, split.plane),
           set(parent.box.hi, side == 0 ? split.axis : 3, split.plane)},
          split.path,
          split.allowance};
}

}  // namespace heapwood::kdtree
