// SPDX-License-Identifier: MIT
// Shared by the workloads that run a fixed sequence of steps with an allocator: strings, particles.
#pragma once

#include <cstdint>
#include <vector>

#include "alloc/allocator.hpp"
#include "simt/clock.hpp"
#include "workloads/thread_kernels.hpp"

namespace heapwood::workloads {

struct StepsJob {
  simt::DeviceId device;
  // Owned by the caller; only its head is touched if blocks lie outside it (traits.in_pool).
  alloc::Pool pool;
  alloc::AllocatorOptions options;
  bool inspects = false;  // checks the result and measures the memory; not for timed runs
  double seconds = 60;    // time limit of a step: a kernel of strings, all rounds of particles
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
  double inspection_seconds = 0;   // spent so far
  std::uint64_t digest = 0;        // of the particles at the end

  double ms() const {
    double sum = 0;
    for (const StepResult& step : steps) sum += step.ms;
    return sum;
  }
  std::uint64_t refused() const {
    std::uint64_t sum = 0;
    for (const StepResult& step : steps) sum += step.refused;
    return sum;
  }
};

// Adds the state of the pool after a step, unless inspections have already taken long. live()
// returns the bytes in use.
template <class A, class Live>
void inspect_pool(const A& allocator, const simt::DeviceId& device, std::uint32_t step, Live live,
                  StepsResult& result) {
  constexpr double max_seconds = 4;
  if (result.inspection_seconds > max_seconds) return;
  result.inspection_seconds +=
      simt::measure_ms([&] {
        StepMemory memory{step, live(), 0};
        allocator.walk(alloc::HostView(device), [&](const alloc::Region& region) {
          if (region.state == alloc::Region::State::used ||
              region.state == alloc::Region::State::held)
            memory.held_bytes += region.bytes;
        });
        if (memory.held_bytes != 0 || memory.live_bytes == 0) result.memory.push_back(memory);
      }) /
      1e3;
}

using StepKernel = ThreadKernel<3>;

}  // namespace heapwood::workloads
