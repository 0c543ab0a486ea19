// SPDX-License-Identifier: MIT
#include "workloads/stress_primitives.hpp"

#include "simt/cpu.hpp"
#include "workloads/stress_primitives_run.hpp"

namespace heapwood::workloads {

PrimitiveResult run_primitive(const PrimitiveJob& job) {
  if (job.device.kind == simt::DeviceKind::cuda) return primitives_cuda::run(job);
  return primitive_detail::run(simt::Cpu(job.device), job);
}

}  // namespace heapwood::workloads
