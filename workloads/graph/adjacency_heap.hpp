// SPDX-License-Identifier: MIT
// The part of the dynamic graph that is compiled per allocator and device: the kernels that request
// and free adjacency blocks. Everything else is compiled once per device (device_steps.hpp) or once
// (store.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "alloc/allocator.hpp"
#include "workloads/graph/class_order.hpp"
#include "workloads/graph/vertex_table.hpp"

namespace heapwood::workloads::graph {

// Sums over the launches whose results are not reported per group of edges. `changed` counts the
// edges that a deletion of vertices removed or, at an allocation, the edges of vertices whose block
// was refused. There are several copies, so that warps rarely contend for one.
struct UpdateTotals {
  static constexpr std::uint32_t copies = 64;
  std::uint64_t changed, moved, refused, padding;  // `padding` makes 32 bytes
};

// Adds to the warp's copy of the sums.
template <class Warp>
HEAPWOOD_INLINE void add_totals(const Warp& warp, UpdateTotals* totals, std::uint64_t changed,
                                std::uint32_t moved, std::uint32_t refused) {
  UpdateTotals& own = totals[warp.worker() % UpdateTotals::copies];
  // relaxed: sums order no other memory.
  if (changed > 0) simt::atomic_ref<std::uint64_t>(own.changed).fetch_add(changed, simt::relaxed);
  if (moved > 0) simt::atomic_ref<std::uint64_t>(own.moved).fetch_add(moved, simt::relaxed);
  if (refused > 0) simt::atomic_ref<std::uint64_t>(own.refused).fetch_add(refused, simt::relaxed);
}

// Requests a block for each vertex of [first, first + count) or, if there is an `order`, for each
// vertex in that list (class_order.hpp). A vertex whose request is refused has degree 0.
struct AllocateArguments {
  Vertex* vertices;
  const std::uint64_t* offsets;  // degree of v = offsets[v + 1] - offsets[v]
  UpdateTotals* totals;          // UpdateTotals::copies entries
  std::uint32_t first, count;
  const std::uint32_t* order;  // nullptr: all vertices in their order
  ClassRanges ranges;          // parts of the list `order`
};

// Inserts and removes the edges of two batches, or deletes a set of vertices with all their edges.
struct UpdateArguments {
  Vertex* vertices;
  EdgeBatch inserts, deletes;
  bool locks;         // two warps may update one vertex, so warps lock vertices
  VertexSet deleted;  // words == nullptr: edge updates
  UpdateTotals* totals;
  std::uint32_t vertex_count;  // vertices in the table, for deletions of vertices
};

struct HeapJob {
  simt::DeviceId device;
  // Owned by the caller; only its head is touched if blocks lie outside it (traits.in_pool).
  alloc::Pool pool;
  alloc::AllocatorOptions options;
  double seconds = 60;  // time limit of a launch
};

class AdjacencyHeap {
 public:
  virtual ~AdjacencyHeap() = default;
  virtual const alloc::AllocatorTraits& traits() const = 0;
  // These functions return milliseconds: reset() by the host's clock, the others by the device's.
  virtual double reset() = 0;
  virtual double allocate(const AllocateArguments& arguments) = 0;
  virtual double update(const UpdateArguments& arguments) = 0;

  // The pool's regions while no kernel runs; empty if the allocator cannot be walked.
  virtual std::vector<alloc::Region> regions() const = 0;
};

}  // namespace heapwood::workloads::graph
