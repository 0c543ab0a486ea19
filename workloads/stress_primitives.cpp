// SPDX-License-Identifier: MIT
#include "workloads/stress_primitives.hpp"

#include "simt/cpu.hpp"
#include "simt/launch.hpp"
#include "workloads/stress_primitives_run.hpp"

namespace heapwood::workloads {

PrimitiveResult run_primitive(const PrimitiveJob& job) {
  if (job.device.kind == simt::DeviceKind::cpu)
    return primitive_detail::run(simt::Cpu(job.device), job);
  if constexpr (simt::has_cuda) return primitives_cuda::run(job);
  simt::throw_without_cuda("stress");
}

}  // namespace heapwood::workloads
