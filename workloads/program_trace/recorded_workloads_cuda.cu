// SPDX-License-Identifier: MIT
#include "simt/cuda.hpp"
#include "workloads/program_trace/recorded_workloads_run.hpp"

namespace heapwood::workloads::recorded_cuda {

std::unique_ptr<graph::AdjacencyHeap> adjacency_heap(const graph::HeapJob& job,
                                                     alloc::RecordedMemory& memory) {
  return recorded_detail::adjacency_heap<simt::Cuda>(job, memory);
}

void stress(const StressJob& job, alloc::RecordedMemory& memory) {
  recorded_detail::stress<simt::Cuda>(job, memory);
}

void strings(const strings::StringsJob& job, alloc::RecordedMemory& memory) {
  recorded_detail::strings<simt::Cuda>(job, memory);
}

void particles(const particles::ParticlesJob& job, alloc::RecordedMemory& memory) {
  recorded_detail::particles<simt::Cuda>(job, memory);
}

}  // namespace heapwood::workloads::recorded_cuda
