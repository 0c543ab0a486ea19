// SPDX-License-Identifier: MIT
// Records the adjacency blocks of a dynamic graph over rounds of updates, for the heap map. Each
// round inserts a batch of edges and deletes that of the round before, so the graph keeps its size.
//
// The blocks are read from the vertex table between rounds, on any device and without a second
// compilation of the kernels. A round therefore counts as one moment: its frees come before its
// allocations, and a block that lives for less than a round is not seen.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/program/options.hpp"
#include "viewer/recording.hpp"
#include "workloads/graph/generate.hpp"
#include "workloads/graph/host_graph.hpp"

namespace heapwood::viewer {

struct GraphSettings {
  std::string graph = "rgg:20k";  // as for 'heapwood graph'
  int rounds = 60;
  int batch = 2000;       // edges inserted and deleted per round
  bool pressure = false;  // updates of 1,000 vertices only
};

struct GraphRecording {
  std::shared_ptr<const Recording> recording;
  std::uint64_t edge_hash = 0;  // after the last round
  std::uint64_t refused = 0;    // requests
};

class GraphRecorder {
 public:
  // Loads or generates the graph; throws as workloads::graph::load_graph does.
  GraphRecorder(const GraphSettings& settings, const bench::PoolSize& pool,
                const simt::DeviceInfo& device, double seconds);
  const std::string& name() const { return name_; }
  // Throws Error{Exit::usage} for an allocator that cannot run the workload. `progress` is called
  // with the number of rounds done.
  GraphRecording record(const registry::RegisteredAllocator& entry,
                        const std::function<void(unsigned)>& progress) const;

 private:
  GraphSettings settings_;
  simt::DeviceInfo device_;
  double seconds_;
  workloads::graph::HostGraph graph_;
  std::string name_;
  std::uint64_t pool_bytes_ = 0;
};

// Why an allocator cannot run updates of a graph whose blocks are shown; nullptr if it can.
const char* cannot_update_graphs(const alloc::AllocatorTraits& traits);

}  // namespace heapwood::viewer
