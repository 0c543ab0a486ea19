// SPDX-License-Identifier: MIT
// The exercise and the stress tests with an allocator that is called through function pointers: the
// kernels are compiled once per executable and device, for all allocators.
#pragma once

#include "alloc/erased.hpp"
#include "simt/cpu.hpp"
#include "simt/lockstep.hpp"
#include "workloads/exercise.hpp"
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

template <class A, class Device>
workloads::ExerciseResult exercise(const workloads::ExerciseJob& job) {
  return exercise_erased<Device>(ErasedAllocator<A, Device>::functions, job);
}
template <class A, class Device>
workloads::StressResult stress(const Device& device, const workloads::StressJob& job) {
  const ErasedFunctions<Device>& functions = ErasedAllocator<A, Device>::functions;
  const bool uses_builtin = job.options.large_backend == LargeBackend::builtin;
  return stress_erased<Device>(uses_builtin ? *functions.with_builtin : functions, device, job);
}

}  // namespace heapwood::alloc::test
