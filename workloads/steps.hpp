// SPDX-License-Identifier: MIT
// Shared by the workloads that run a fixed sequence of steps with an allocator: strings, particles.
#pragma once

#include <cstdint>
#include <vector>

#include "alloc/allocator.hpp"

namespace heapwood::workloads {

struct StepsJob {
  simt::DeviceId device;
  // Owned by the caller; only its head is touched if blocks lie outside it (traits.in_pool).
  alloc::Pool pool;
  alloc::AllocatorOptions options;
  bool inspects = false;  // checks the result and measures the memory; not for timed runs
  double seconds = 60;    // time limit of a launch
};

struct StepResult {
  double ms = 0;
  std::uint64_t requests = 0, refused = 0;
};

// The pool after a step or round.
struct StepMemory {
  std::uint32_t step = 0;
  std::uint64_t live_bytes = 0;  // requested and not freed
  std::uint64_t held_bytes = 0;  // neither free nor the allocator's tables
};

struct StepsResult {
  double reset_ms = 0;  // create(), by the host's clock
  std::vector<StepResult> steps;
  std::vector<StepMemory> memory;  // empty if the pool cannot be walked

  std::uint64_t refused() const {
    std::uint64_t sum = 0;
    for (const StepResult& step : steps) sum += step.refused;
    return sum;
  }
};

// Bytes of the pool that are neither free nor tables; 0 if the pool cannot be walked.
template <class A>
std::uint64_t held_bytes_of(const A& allocator, const simt::DeviceId& device) {
  std::uint64_t held = 0;
  allocator.walk(alloc::HostView(device), [&](const alloc::Region& region) {
    if (region.state == alloc::Region::State::used || region.state == alloc::Region::State::held)
      held += region.bytes;
  });
  return held;
}

// A kernel with one item per thread, whose warps do not wait for each other.
struct StepKernel {
  struct Scratch {};
  static constexpr bool independent = true;
  static constexpr unsigned block_threads = 256, blocks_per_multiprocessor = 3;

  template <class Warp>
  HEAPWOOD_INLINE static std::uint64_t item_of(const Warp& warp) {
    return std::uint64_t{warp.worker()} * Warp::width + warp.lane();
  }
};

// The sum of 64-bit numbers over the lanes of a warp.
template <class Warp>
HEAPWOOD_INLINE std::uint64_t add_up(const Warp& warp, std::uint64_t value) {
  constexpr unsigned bits = 24;
  constexpr std::uint64_t mask = (1u << bits) - 1;
  std::uint64_t sum = 0;
  HEAPWOOD_UNROLLED
  for (unsigned shift = 0; shift < 64; shift += bits)
    sum += std::uint64_t{warp.reduce_add(static_cast<std::uint32_t>(value >> shift & mask))}
           << shift;
  return sum;
}

// The number of warps for as many items.
template <class Device>
unsigned warps_for(std::uint64_t items) {
  constexpr unsigned width = Device::Warp::width;
  return static_cast<unsigned>((items + width - 1) / width);
}

// The time limit of a launch that frees blocks of a heap outside the pool. Such a heap is not
// reset, so blocks that were not freed would be missing in later runs.
inline constexpr double max_free_seconds = 60;

}  // namespace heapwood::workloads
