// SPDX-License-Identifier: MIT
#include "workloads/program_trace/recorded_workloads.hpp"

#include "simt/cpu.hpp"
#include "simt/has_cuda.hpp"
#include "workloads/program_trace/recorded_workloads_run.hpp"

namespace heapwood::workloads {

namespace {

[[noreturn]] void throw_without_cuda() {
  throw Error(Exit::device, "recording: this program was built without CUDA");
}

}  // namespace

std::unique_ptr<graph::AdjacencyHeap> recorded_adjacency_heap(const graph::HeapJob& job,
                                                              alloc::RecordedMemory& memory) {
  if (job.device.kind == simt::DeviceKind::cpu)
    return recorded_detail::adjacency_heap<simt::Cpu>(job, memory);
  if constexpr (simt::has_cuda)
    return recorded_cuda::adjacency_heap(job, memory);
  else
    throw_without_cuda();
}

void record_stress(const StressJob& job, alloc::RecordedMemory& memory) {
  if (job.device.kind == simt::DeviceKind::cpu)
    return recorded_detail::stress<simt::Cpu>(job, memory);
  if constexpr (simt::has_cuda)
    recorded_cuda::stress(job, memory);
  else
    throw_without_cuda();
}

}  // namespace heapwood::workloads
