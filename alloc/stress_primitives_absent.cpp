// SPDX-License-Identifier: MIT
#include "alloc/stress_primitives.hpp"

namespace heapwood::alloc::primitives_cuda {

PrimitiveResult run(const PrimitiveJob&) { throw Error(Exit::device, "stress: this program was built without CUDA"); }

}  // namespace heapwood::alloc::primitives_cuda
