// SPDX-License-Identifier: MIT
// The part of the dynamic graph's device code that needs no allocator, compiled once per device:
// sorting and grouping of batches, copies between rows and adjacencies, both baselines, and the
// algorithms.
#pragma once

#include <cstdint>
#include <memory>

#include "simt/memory.hpp"
#include "workloads/graph/adjacency_heap.hpp"
#include "workloads/graph/class_order.hpp"
#include "workloads/graph/vertex_table.hpp"

namespace heapwood::workloads::graph {

struct PageArguments;  // page_kernels.hpp

// Decides which of the sorted keys of a graph and its insertions stay. Of equal keys only the first
// may stay. It goes if it is a loop or is in the sorted list `removed`.
struct RowFilter {
  const EdgeKey* keys;
  const EdgeKey* removed;
  std::uint64_t removed_count;
};

class DeviceSteps {
 public:
  virtual ~DeviceSteps() = default;
  // Functions that return a double return milliseconds on the device.

  // Sorts `count` keys of vertices below `vertices`. `spare` has the same size. If the sorted keys
  // end up there, the two pointers are exchanged.
  virtual double sort(EdgeKey*& keys, EdgeKey*& spare, std::uint64_t count,
                      std::uint32_t vertices) = 0;
  // Lists the first edge of each source of a sorted batch, in any order; sets `groups`.
  virtual double group(const EdgeKey* keys, std::uint32_t edges, std::uint32_t* firsts,
                       std::uint32_t& groups) = 0;
  // Lists the vertices that have edges, in the order of their size classes (class_order.hpp).
  // `offsets` are those of sparse rows (CSR). `order` has ClassOrder::max_listed(count) entries.
  virtual double order_by_class(const std::uint64_t* offsets, std::uint32_t count,
                                std::uint32_t* order, ClassRanges& ranges) = 0;
  // Writes sparse rows (CSR) to the blocks of the vertices; skips vertices without a block.
  virtual double write(const BlocksView& view, const std::uint64_t* offsets,
                       const std::uint32_t* destinations) = 0;
  // Sets offsets[v], for v up to the number of vertices, to the sum of the degrees of the vertices
  // below v. Returns the number of edges.
  virtual std::uint64_t sum_degrees(const GraphView& view, std::uint64_t* offsets) = 0;
  // Reads the edges as keys, in the order of the vertices.
  virtual double gather(const GraphView& view, const std::uint64_t* offsets, EdgeKey* keys) = 0;
  // Returns the sum of edge_hash_of() over all edges.
  virtual std::uint64_t hash_edges(const GraphView& view) = 0;
  // Writes keys from gather() back to the graph; their order within a vertex may have changed.
  virtual double scatter(const GraphView& view, const std::uint64_t* offsets,
                         const EdgeKey* keys) = 0;

  // Graphs in linked pages: the first two take pages and write sparse rows (CSR) to them; the third
  // updates edges.
  virtual double allocate_pages(const PageArguments& arguments, const std::uint64_t* offsets,
                                RefusalTotals* totals) = 0;
  virtual double write_pages(const PagesView& view, const std::uint64_t* offsets,
                             const std::uint32_t* destinations) = 0;
  virtual double update_pages(const PageArguments& arguments) = 0;

  // Builds sparse rows from the `count` sorted keys that pass the filter. `positions` has count + 1
  // entries, for a prefix sum over the filter.
  virtual double rebuild(const RowFilter& filter, std::uint64_t count, std::uint64_t* positions,
                         const CsrView& rows, std::uint64_t& edges) = 0;
  // Copies sparse rows with `edges` edges.
  virtual double write_rows(const CsrView& to, const std::uint64_t* offsets,
                            const std::uint32_t* destinations, std::uint64_t edges) = 0;
  // Returns the number of distinct sorted keys that are edges of the sorted rows.
  virtual std::uint64_t count_present(const CsrView& rows, const EdgeKey* keys,
                                      std::uint64_t count) = 0;

  // One iteration: next[v] = (1 - damping) / n + damping x the sum of rank / degree over the edges
  // to v. The rank of a vertex without edges is not passed on.
  virtual double page_rank(const GraphView& view, const float* ranks, float* next,
                           float damping) = 0;
  // Counts triples u < v < w with edges from u to v, u to w and v to w. Adjacencies must be sorted.
  virtual double triangles(const GraphView& view, const std::uint64_t* offsets,
                           std::uint64_t& count) = 0;
};

// Throws Error{Exit::device} for a GPU in builds without CUDA. `seconds`: the limit of a launch.
std::unique_ptr<DeviceSteps> device_steps(const simt::DeviceId& device, double seconds);

namespace steps_cuda {
std::unique_ptr<DeviceSteps> device_steps(const simt::DeviceId& device, double seconds);
}

}  // namespace heapwood::workloads::graph
