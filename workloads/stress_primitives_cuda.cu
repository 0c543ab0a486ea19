// SPDX-License-Identifier: MIT
#include "simt/cuda.hpp"
#include "workloads/stress_primitives_run.hpp"

namespace heapwood::workloads::primitives_cuda {

PrimitiveResult run(const PrimitiveJob& job) {
  return primitive_detail::run(simt::Cuda(job.device), job);
}

}  // namespace heapwood::workloads::primitives_cuda
