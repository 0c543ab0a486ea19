// SPDX-License-Identifier: MIT
#include "workloads/stress_primitives.hpp"

namespace heapwood::workloads::primitives_cuda {

PrimitiveResult run(const PrimitiveJob&) {
  throw Error(Exit::device, "stress: this program was built without CUDA");
}

}  // namespace heapwood::workloads::primitives_cuda
