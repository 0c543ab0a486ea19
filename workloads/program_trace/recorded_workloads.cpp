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

void record_stress(const StressJob& job, alloc::RecordedMemory& memory) {
  if (job.device.kind == simt::DeviceKind::cpu)
    return recorded_detail::stress<simt::Cpu>(job, memory);
  if constexpr (simt::has_cuda) return recorded_cuda::stress(job, memory);
  simt::throw_without_cuda("recording");
}

void record_strings(const strings::StringsJob& job, alloc::RecordedMemory& memory) {
  if (job.device.kind == simt::DeviceKind::cpu)
    return recorded_detail::strings<simt::Cpu>(job, memory);
  if constexpr (simt::has_cuda) return recorded_cuda::strings(job, memory);
  simt::throw_without_cuda("recording");
}

void record_particles(const particles::ParticlesJob& job, alloc::RecordedMemory& memory) {
  if (job.device.kind == simt::DeviceKind::cpu)
    return recorded_detail::particles<simt::Cpu>(job, memory);
  if constexpr (simt::has_cuda) return recorded_cuda::particles(job, memory);
  simt::throw_without_cuda("recording");
}

}  // namespace heapwood::workloads
