// SPDX-License-Identifier: MIT
// Jobs of heapwood stress for tests.
#pragma once

#include <gtest/gtest.h>

#include "registry/registry.hpp"
#include "tests/test_device.hpp"
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

}  // namespace heapwood::workloads
