// SPDX-License-Identifier: MIT
// The exercise and the stress tests with an allocator that is called through function pointers: the
// kernels are compiled once per executable and device, for all allocators.
#pragma once

#include <gtest/gtest.h>

#include "alloc/erased.hpp"
#include "simt/cpu.hpp"
#include "tests/alloc/exercise.hpp"
#include "tests/simt/lockstep.hpp"
#include "workloads/stress.hpp"

namespace heapwood::alloc::test {

// Devices: simt::Cpu (exercise_erased.cpp); simt::Lockstep<4> and <8>
// (exercise_direct_lockstep.cpp).
template <class Device>
workloads::ExerciseResult exercise_erased(const ErasedFunctions<Device>&,
                                          const workloads::ExerciseJob&);
template <class Device>
workloads::StressResult stress_erased(const ErasedFunctions<Device>&, const Device&,
                                      const workloads::StressJob&);

// Runs the job and checks that every block has kept its contents.
template <class A, class Device>
workloads::ExerciseResult exercise(const workloads::ExerciseJob& job) {
  const auto result = exercise_erased<Device>(ErasedAllocator<A, Device>::functions, job);
  if (A::traits.keeps_live_memory) {
    EXPECT_EQ(result.mismatches, 0u) << "words of a block were changed by another owner";
  }
  return result;
}
template <class A, class Device>
workloads::StressResult stress(const Device& device, const workloads::StressJob& job) {
  return stress_erased<Device>(
      ErasedAllocator<A, Device>::functions.variant(job.options.large_backend), device, job);
}

}  // namespace heapwood::alloc::test
