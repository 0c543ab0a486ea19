// SPDX-License-Identifier: MIT
#pragma once

#include "tests/alloc/exercise_erased.hpp"
#include "tests/alloc/exercise_run.hpp"
#include "workloads/stress_run.hpp"

namespace heapwood::alloc::test {

template <class Device>
workloads::ExerciseResult exercise_erased(const ErasedFunctions<Device>& functions,
                                          const workloads::ExerciseJob& job) {
  const ErasedDevice<Device> device(workloads::exercise_detail::make_device<Device>(job),
                                    functions);
  return workloads::exercise_on<Erased<Device>>(device, job);
}

template <class Device>
workloads::StressResult stress_erased(const ErasedFunctions<Device>& functions,
                                      const Device& device, const workloads::StressJob& job) {
  return workloads::stress<Erased<Device>>(ErasedDevice<Device>(device, functions), job);
}

}  // namespace heapwood::alloc::test
