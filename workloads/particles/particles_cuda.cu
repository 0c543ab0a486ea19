// SPDX-License-Identifier: MIT
#include "simt/cuda.hpp"
#include "workloads/particles/rings_run.hpp"

namespace heapwood::workloads::particles::particles_cuda {

StepsResult run_rings(const ParticlesJob& job) {
  return rings_detail::run_rings(simt::Cuda(job.device), job);
}

}  // namespace heapwood::workloads::particles::particles_cuda
