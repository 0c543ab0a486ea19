// SPDX-License-Identifier: MIT
// The exercise on a device of CPU threads, compiled once per device for all allocators.
#pragma once

#include "alloc/erased.hpp"
#include "tests/alloc/targets.hpp"
#include "workloads/exercise_run.hpp"

namespace heapwood::alloc::test {

template <class Device>
RunExercise exercise_erased(const ErasedFunctions<Device>& functions) {
  return [&functions](const workloads::ExerciseJob& job) {
    const ErasedDevice<Device> device(workloads::exercise_detail::make_device<Device>(job),
                                      functions);
    return workloads::exercise_on<Erased<Device>>(device, job);
  };
}

}  // namespace heapwood::alloc::test
