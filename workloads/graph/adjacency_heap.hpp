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

// The requests that an initialization was refused, and the edges of their vertices. There are
// several copies, so that warps rarely contend for one.
struct RefusalTotals {
  static constexpr std::uint32_t copies = 64;
  std::uint64_t requests, edges;
};

// Adds a vertex to the warp's copy of the sums.
template <class Warp>
HEAPWOOD_INLINE void add_refusal(const Warp& warp, RefusalTotals* totals, std::uint64_t edges) {
  RefusalTotals& own = totals[warp.worker() % RefusalTotals::copies];
  // relaxed: sums order no other memory.
  simt::atomic_ref<std::uint64_t>(own.requests).fetch_add(1, simt::relaxed);
  simt::atomic_ref<std::uint64_t>(own.edges).fetch_add(edges, simt::relaxed);
}

// Requests a block for each vertex or, if there is an `order`, for each vertex in that list
// (class_order.hpp). A vertex whose request is refused has degree 0.
struct AllocateArguments {
  Vertex* vertices;
  const std::uint64_t* offsets;  // degree of v = offsets[v + 1] - offsets[v]
  RefusalTotals* totals;         // RefusalTotals::copies entries
  std::uint32_t count;           // number of vertices
  const std::uint32_t* order;    // nullptr: all vertices in their order
  ClassRanges ranges;            // parts of the list `order`
};

// Inserts and removes the edges of two batches, or frees all blocks.
struct UpdateArguments {
  Vertex* vertices;
  EdgeBatch inserts, deletes;
  bool locks;               // two warps may update one vertex, so warps lock vertices
  std::uint32_t freed = 0;  // number of vertices whose blocks are freed; 0: edge updates
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
