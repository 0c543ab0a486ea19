// SPDX-License-Identifier: MIT
// A graph that changes, in one of three layouts: blocks of an allocator (block_graph.hpp), linked
// pages (page_graph.hpp), or sparse rows that are rebuilt (csr_graph.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simt/memory.hpp"
#include "workloads/graph/graph_view.hpp"
#include "workloads/graph/host_graph.hpp"

namespace heapwood::workloads::graph {

// A graph in device memory, from which all layouts are initialized.
struct DeviceRows {
  simt::Buffer<std::uint64_t> offsets;
  simt::Buffer<std::uint32_t> destinations;
  std::uint32_t vertices = 0;

  DeviceRows() = default;
  DeviceRows(const simt::DeviceId& device, const HostGraph& graph)
      : offsets(device, std::span<const std::uint64_t>(graph.offsets)),
        destinations(device, std::span<const std::uint32_t>(graph.destinations)),
        vertices(graph.vertices()) {}
  std::uint64_t edges() const { return destinations.size(); }
};

struct InitResult {
  double reset_ms = 0;                           // of the pool, by the host's clock
  double allocate_ms = 0;                        // one malloc per vertex, and counting classes
  double write_ms = 0;                           // the adjacencies
  std::uint64_t refused = 0, refused_edges = 0;  // vertices without a block, and their edges
  double ms() const { return allocate_ms + write_ms; }
};

struct UpdateResult {
  // update(): sorting and grouping the batch, not part of `ms`. insert_vertices(): requesting the
  // blocks or pages, part of `ms`.
  double prepare_ms = 0;
  double ms = 0;
  std::uint64_t inserted = 0, deleted = 0;  // edges
  std::uint64_t moved = 0;                  // adjacencies copied to another block
  std::uint64_t refused = 0;                // requests
  std::uint64_t refused_edges = 0;          // that were therefore not inserted
};

// Memory while no kernel runs.
struct GraphMemory {
  std::uint64_t edges = 0;
  std::uint64_t table_bytes = 0;    // the vertices
  std::uint64_t payload_bytes = 0;  // 4 per edge
  std::uint64_t block_bytes = 0;    // blocks, pages or rows in use, as requested
  std::uint64_t blocks = 0;
  std::uint64_t held_bytes = 0;      // of the pool: neither free nor the allocator's tables
  std::uint64_t metadata_bytes = 0;  // the allocator's tables
  std::uint64_t address_bytes = 0;   // from the pool's base to the end of the highest block
  std::uint64_t free_bytes = 0, largest_free_bytes = 0;
  double external = 0;         // 1 - largest free region, neighbours merged / all free bytes
  std::uint64_t overlaps = 0;  // blocks that begin before another one ends
  // The pool could be walked. If not, the bytes held, free and of metadata, the largest free region
  // and `external` have no meaning.
  bool measured = false;
};

struct PageRankResult {
  std::vector<double> iterations_ms;
  std::vector<float> ranks;
};
struct TriangleResult {
  double ms = 0;
  std::uint64_t triangles = 0;
};
struct SearchResult {
  double ms = 0;
  std::uint32_t levels = 0;
  std::vector<std::uint32_t> distances;
};

class GraphStore {
 public:
  virtual ~GraphStore() = default;
  // Discards the present graph.
  virtual InitResult init(const DeviceRows& rows) = 0;
  // Removes and inserts edges, given in any order. No edge is in both; repeated edges, loops, edges
  // to insert that exist and edges to delete that do not are ignored.
  virtual UpdateResult update(std::span<const EdgeKey> inserts,
                              std::span<const EdgeKey> deletes) = 0;
  // Appends vertices with the edges of the rows.
  virtual UpdateResult insert_vertices(const DeviceRows& rows) = 0;
  // Deletes all edges from and to these vertices, whose numbers are not used again.
  virtual UpdateResult delete_vertices(std::span<const std::uint32_t> vertices) = 0;

  virtual GraphView view() const = 0;
  virtual GraphMemory memory() = 0;
  // The edges in order.
  virtual std::vector<EdgeKey> edges() = 0;
  // A hash of the set of edges: equal sets have equal hashes.
  virtual std::uint64_t edge_hash() = 0;

  virtual PageRankResult page_rank(unsigned iterations, float damping) = 0;
  virtual TriangleResult triangles() = 0;  // sorts the adjacencies, which is not timed
  virtual SearchResult breadth_first(std::uint32_t source) = 0;
};

}  // namespace heapwood::workloads::graph
