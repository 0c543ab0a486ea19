// SPDX-License-Identifier: MIT
#include "workloads/program_trace/recorded_workloads.hpp"

#include "simt/cpu.hpp"
#include "simt/launch.hpp"
#include "workloads/program_trace/recorded_workloads_run.hpp"

namespace heapwood::workloads {

std::unique_ptr<graph::AdjacencyHeap> recorded_adjacency_heap(const graph::HeapJob& job,
                                                              alloc::RecordedMemory& memory) {
  if (job.device.kind == simt::DeviceKind::cpu)
    return recorded_detail::adjacency_heap<simt::Cpu>(job, memory);
  if constexpr (simt::has_cuda) return recorded_cuda::adjacency_heap(job, memory);
  simt::throw_without_cuda("recording");
}

void record(const RecordedJob& job, alloc::RecordedMemory& memory) {
  const simt::DeviceId device = std::visit([](const auto& one) { return one.device; }, job);
  if (device.kind == simt::DeviceKind::cpu) return recorded_detail::record<simt::Cpu>(job, memory);
  if constexpr (simt::has_cuda) return recorded_cuda::record(job, memory);
  simt::throw_without_cuda("recording");
}

}  // namespace heapwood::workloads
