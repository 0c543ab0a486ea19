// SPDX-License-Identifier: MIT
// The device code of the dynamic graph that needs no allocator, compiled once per device: sorting
// and grouping of batches, copies between rows and adjacencies, both baselines, and the algorithms.
#pragma once

#include <cstdint>
#include <memory>

#include "simt/memory.hpp"
#include "workloads/graph/class_order.hpp"
#include "workloads/graph/vertex_table.hpp"

namespace heapwood::workloads::graph {

struct PageArguments;  // page_kernels.hpp

// Which of the sorted keys of a graph and its insertions stay: of equal ones the first, unless it
// is a loop, is in the sorted `removed`, or is from or to a vertex of `deleted`.
struct RowFilter {
  const EdgeKey* keys;
  const EdgeKey* removed;
  std::uint64_t removed_count;
  VertexSet deleted;  // words == nullptr: none
};

class DeviceSteps {
 public:
  virtual ~DeviceSteps() = default;
  // A double that is returned is in milliseconds of the device.

  // Sorts `count` keys of vertices below `vertices`. `spare` is as large; the sorted keys may be in
  // it afterwards: then the two pointers are exchanged.
  virtual double sort(EdgeKey*& keys, EdgeKey*& spare, std::uint64_t count,
                      std::uint32_t vertices) = 0;
  // Lists the first edge of each source of a sorted batch, in any order; sets `groups`.
  virtual double group(const EdgeKey* keys, std::uint32_t edges, std::uint32_t* firsts,
                       std::uint32_t& groups) = 0;
  // Lists the vertices of rows of CSR that have edges, in the order of their size classes
  // (class_order.hpp). `order`: ClassOrder::max_listed(count) words.
  virtual double order_by_class(const std::uint64_t* offsets, std::uint32_t count,
                                std::uint32_t* order, ClassRanges& ranges) = 0;
  // Writes rows of CSR to the blocks of the vertices [first, first + count). Vertices without a
  // block are skipped.
  virtual double write(Vertex* vertices, std::uint32_t first, std::uint32_t count,
                       const std::uint64_t* offsets, const std::uint32_t* destinations) = 0;
  // offsets[v]: the sum of the degrees below v; count + 1 of them. Returns the number of edges.
  virtual std::uint64_t sum_degrees(const GraphView& view, std::uint64_t* offsets) = 0;
  // The edges in the order of the vertices.
  virtual double gather(const GraphView& view, const std::uint64_t* offsets, EdgeKey* keys) = 0;
  // The sum of edge_hash_of() over all edges.
  virtual std::uint64_t hash_edges(const GraphView& view) = 0;
  // Writes the edges back, after gather(), in another order within each vertex.
  virtual double scatter(const GraphView& view, const std::uint64_t* offsets,
                         const EdgeKey* keys) = 0;

  // Linked pages: appends the vertices [first, first + count) with rows of CSR; updates; deletes
  // vertices.
  virtual double insert_page_rows(const PageArguments& arguments, const std::uint64_t* offsets,
                                  const std::uint32_t* destinations, std::uint32_t first,
                                  std::uint32_t count, double& allocate_ms) = 0;
  virtual double update_pages(const PageArguments& arguments) = 0;
  virtual double delete_from_pages(const PageArguments& arguments) = 0;

  // Rows: builds them from `count` sorted keys by a scan over the filter. positions: count + 1.
  virtual double rebuild(const RowFilter& filter, std::uint64_t count, std::uint64_t* positions,
                         const CsrView& rows, std::uint64_t& edges) = 0;
  // Appends other rows to the existing ones, which have `edges` edges in total; the destinations
  // must have space.
  virtual double append_rows(const CsrView& rows, std::uint64_t edges, const std::uint64_t* offsets,
                             const std::uint32_t* destinations, std::uint32_t more_vertices,
                             std::uint64_t more_edges) = 0;
  // The number of distinct sorted keys that are edges of the sorted rows.
  virtual std::uint64_t count_present(const CsrView& rows, const EdgeKey* keys,
                                      std::uint64_t count) = 0;
  virtual double copy(std::uint32_t* to, const std::uint32_t* from, std::uint64_t count) = 0;

  // One iteration: next[v] = (1 - damping) / n + damping x the sum of rank / degree over the edges
  // to v. The rank of a vertex without edges is not passed on.
  virtual double page_rank(const GraphView& view, const float* ranks, float* next,
                           float damping) = 0;
  // Triples u < v < w with edges from u to v, u to w and v to w; adjacencies are sorted.
  virtual double triangles(const GraphView& view, const std::uint64_t* offsets,
                           std::uint64_t& count) = 0;
  // distances: edges from `source`, ~0 if there is no path. queue: two words per vertex.
  virtual double breadth_first(const GraphView& view, std::uint32_t source,
                               std::uint32_t* distances, std::uint32_t* queue,
                               std::uint32_t& levels) = 0;
};

// Throws Error{Exit::device} for a GPU in builds without CUDA. `seconds`: the limit of a launch.
std::unique_ptr<DeviceSteps> device_steps(const simt::DeviceId& device, double seconds);

namespace steps_cuda {
std::unique_ptr<DeviceSteps> device_steps(const simt::DeviceId& device, double seconds);
}

}  // namespace heapwood::workloads::graph
