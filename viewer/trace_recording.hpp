// SPDX-License-Identifier: MIT
// A program trace (docs/workloads.md) for the heap map. A trace has no addresses: its requests
// are served once more by an allocator, one at a time in their recorded order, so that the map at
// each event is the pool's real state. Contention is not shown. Stress tests are shown so, too:
// their requests are recorded first, as `heapwood stress --record-trace` does.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "alloc/recording/program_trace.hpp"
#include "bench/program/options.hpp"
#include "viewer/recording.hpp"
#include "workloads/graph/generate.hpp"
#include "workloads/graph/host_graph.hpp"
#include "workloads/stress.hpp"

namespace heapwood::viewer {

// Whether a file is a program trace: by its beginning, or by a name that ends in .trace.
bool is_program_trace(const std::string& path);

// A stress test for the heap map. `name` is that of a choice and of its recordings.
struct StressChoice {
  const char *name, *hint;
  workloads::Lifetimes order;
  std::size_t max_bytes;  // of a request
};
std::span<const StressChoice> stress_choices();
// The requests of a test, by 1,000 threads.
alloc::ProgramTrace record_stress(const StressChoice& choice, const simt::DeviceInfo& device,
                                  double seconds);

class TraceRecorder {
 public:
  using Allocators = std::vector<const registry::RegisteredAllocator*>;
  // Reads the file; throws Error{Exit::scene} if it is not a valid trace. The pool is the one that
  // `heapwood replay` gives to these allocators.
  TraceRecorder(const std::string& path, const bench::PoolSize& pool, const Allocators& allocators,
                const simt::DeviceInfo& device, double seconds);
  // The same of a trace in memory.
  TraceRecorder(std::string name, alloc::ProgramTrace trace, const bench::PoolSize& pool,
                const Allocators& allocators, const simt::DeviceInfo& device, double seconds);
  const std::string& name() const { return name_; }
  // What the trace leaves out of the program's run; "" for nothing.
  const std::string& warning() const { return warning_; }
  // Throws Error{Exit::usage} for an allocator that cannot serve the trace.
  std::shared_ptr<const Recording> record(const registry::RegisteredAllocator& entry) const;

 private:
  std::string name_, warning_;
  simt::DeviceInfo device_;
  double seconds_;
  alloc::ProgramTrace trace_;
  std::uint64_t pool_bytes_ = 0;
};

struct GraphSettings {
  std::string graph = "rgg:20k";  // as for 'heapwood graph'
  int rounds = 60;
  int batch = 2000;       // edges inserted and deleted per round
  bool pressure = false;  // updates of 1,000 vertices only
};

struct GraphRecording {
  std::shared_ptr<const Recording> recording;
  std::uint64_t edge_hash = 0;  // after the last round
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
