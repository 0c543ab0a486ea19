// SPDX-License-Identifier: MIT
// Jobs of heapwood stress, strings and particles for tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "alloc/allocators/cuda_malloc.hpp"
#include "registry/registry.hpp"
#include "tests/test_device.hpp"
#include "workloads/steps.hpp"
#include "workloads/stress.hpp"

namespace heapwood::workloads {

// Every registered allocator on the device of tests/test_device.hpp.
class StressJobs : public testing::Test {
 protected:
  StressJob job(StressTest test, std::size_t pool_bytes, unsigned warps, unsigned lanes) {
    memory_ = simt::Memory(device_, pool_bytes);
    StressJob j;
    j.device = device_;
    j.pool = {memory_.data(), pool_bytes};
    j.test = test;
    j.threads = warps * lanes;
    j.lanes = lanes;
    return j;
  }

  template <class F>
  void each_allocator(F f) {
    for (const registry::RegisteredAllocator& entry : registry::allocators()) {
      const registry::CompiledAllocator* compiled = entry.on(device_.kind);
      if (compiled == nullptr) continue;
      SCOPED_TRACE(entry.traits->id);
      f(*compiled);
    }
  }

  simt::DeviceId device_ = tests::test_device().id;
  simt::Memory memory_;
};

class StepsJobs : public StressJobs {
 protected:
  template <class Job>
  Job job_in(std::size_t pool_bytes) {
    if (memory_.bytes() != pool_bytes) memory_ = simt::Memory(device_, pool_bytes);
    Job job;
    job.device = device_;
    job.pool = {memory_.data(), pool_bytes};
    job.inspects = true;
    return job;
  }

  // run(allocator, pool_bytes) is called with every allocator: with an ample pool, where check()
  // receives the result, and with a small one. A pool below `needed` bytes must refuse requests.
  template <class Run, class Check>
  void run_each(Run run, std::size_t needed, Check check) {
    each_allocator([&](const registry::CompiledAllocator& allocator) {
      const alloc::AllocatorTraits& traits = *allocator.traits;
      if (!traits.keeps_live_memory) return;
      const StepsResult ample = run(allocator, std::size_t{16} << 20);
      for (const StepMemory& memory : ample.memory) EXPECT_GE(memory.held_bytes, memory.live_bytes);
      const std::size_t pool = std::max<std::size_t>(64 << 10, traits.smallest_pool);
      const StepsResult small = run(allocator, pool);
      EXPECT_TRUE(!traits.in_pool || pool >= needed || small.refused() > 0);
      if (std::string(traits.id) == "toy") return;  // few blocks of one size
      EXPECT_EQ(ample.refused(), 0u);
      check(ample);
    });
  }

  // run(allocator) leaves no blocks in a heap outside the pool.
  template <class Run>
  void expect_no_blocks_left(Run run) {
    if (device_.kind != simt::DeviceKind::cpu) GTEST_SKIP() << "a GPU's heap does not count";
    const registry::RegisteredAllocator* const builtin = registry::find("cuda");
    if (builtin == nullptr) GTEST_SKIP() << "not compiled in";
    run(*builtin->cpu);
    EXPECT_EQ(reinterpret_cast<const alloc::CudaMalloc::Head*>(memory_.data())->live, 0u);
  }
};

}  // namespace heapwood::workloads
