// SPDX-License-Identifier: MIT
#include "simt/cuda.hpp"
#include "workloads/particles/rings_run.hpp"

namespace heapwood::workloads::particles::particles_cuda {

Census count(const simt::DeviceId& device, const List* lists, std::uint64_t primaries,
             double seconds) {
  return rings_detail::count(simt::Cuda(device), lists, primaries, seconds);
}

StepsResult run_rings(const ParticlesJob& job) {
  return rings_detail::run_rings(simt::Cuda(job.device), job);
}

}  // namespace heapwood::workloads::particles::particles_cuda
