// SPDX-License-Identifier: MIT
// A program trace (docs/workloads.md) for the heap map. A trace has no addresses: its requests are
// served once more by an allocator, one at a time in their recorded order, so that the map at each
// event is the pool's real state. Contention is not shown.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "alloc/recording/program_trace.hpp"
#include "bench/program/options.hpp"
#include "viewer/recording.hpp"

namespace heapwood::viewer {

// Whether a file is a program trace: by its beginning, or by a name that ends in .trace.
bool is_program_trace(const std::string& path);

class TraceRecorder {
 public:
  using Allocators = std::vector<const registry::RegisteredAllocator*>;
  // Reads the file; throws Error{Exit::scene} if it is not a valid trace. The pool is the one that
  // `heapwood replay` gives to these allocators.
  TraceRecorder(const std::string& path, const bench::PoolSize& pool, const Allocators& allocators,
                const simt::DeviceInfo& device, double seconds);
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

}  // namespace heapwood::viewer
