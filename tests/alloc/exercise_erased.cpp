// SPDX-License-Identifier: MIT
#include "tests/alloc/exercise_erased_impl.hpp"

namespace heapwood::alloc::test {

template workloads::ExerciseResult exercise_erased(const ErasedFunctions<simt::Cpu>&,
                                                   const workloads::ExerciseJob&);
template workloads::StressResult stress_erased(const ErasedFunctions<simt::Cpu>&, const simt::Cpu&,
                                               const workloads::StressJob&);

}  // namespace heapwood::alloc::test
