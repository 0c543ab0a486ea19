// SPDX-License-Identifier: MIT
// The memory use of a replay: the pool at several times, while no kernel runs. Host code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "alloc/recording/program_trace.hpp"
#include "alloc/statistics.hpp"
#include "workloads/stress.hpp"

namespace heapwood::workloads {

// The pool after a number of events of the trace.
struct ReplaySample {
  std::size_t event = 0;
  PoolState pool;
  // Bytes of the pool that have been part of a block at any time, and the end of the highest one.
  std::uint64_t touched_bytes = 0, address_bytes = 0;

  // Neither free nor the allocator's tables; 0 if the pool cannot be walked.
  std::uint64_t held_bytes = 0;
};

struct ReplayInspection {
  std::vector<ReplaySample> samples;
  std::uint64_t overlaps = 0;  // between blocks in use together, in all samples
};

// Follows a trace from sample to sample.
class ReplayInspector {
 public:
  // in_pool: blocks lie in the pool, which can be walked.
  ReplayInspector(const alloc::ProgramTrace& trace, alloc::Pool pool, bool in_pool);

  // blocks: ReplayData::blocks after the first `event` events; regions: a walk.
  void observe(std::size_t event, std::span<const std::uint64_t> blocks,
               std::span<const alloc::Region> regions);
  ReplayInspection take() { return std::move(inspection_); }

 private:
  void touch(std::uint64_t offset, std::uint64_t bytes);

  const alloc::ProgramTrace& trace_;
  alloc::Pool pool_;
  bool in_pool_;
  std::size_t next_ = 0;               // event
  std::vector<std::uint32_t> live_;    // requests
  std::vector<std::uint32_t> places_;  // of a request in live_
  std::vector<std::uint64_t> bytes_;   // by request
  std::vector<bool> touched_;          // granules of the pool
  std::uint64_t touched_bytes_ = 0, address_bytes_ = 0;
  ReplayInspection inspection_;
};

}  // namespace heapwood::workloads
