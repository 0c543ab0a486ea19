// SPDX-License-Identifier: MIT
#include "tests/alloc/exercise_erased_impl.hpp"

namespace heapwood::alloc::test {

using Four = simt::Lockstep<4>;
using Eight = simt::Lockstep<8>;
template workloads::ExerciseResult exercise_erased(const ErasedFunctions<Four>&,
                                                   const workloads::ExerciseJob&);
template workloads::ExerciseResult exercise_erased(const ErasedFunctions<Eight>&,
                                                   const workloads::ExerciseJob&);
template workloads::StressResult stress_erased(const ErasedFunctions<Four>&, const Four&,
                                               const workloads::StressJob&);

}  // namespace heapwood::alloc::test
