// SPDX-License-Identifier: MIT
#include "simt/cuda.hpp"
#include "workloads/program_trace/recorded_workloads_run.hpp"

namespace heapwood::workloads::recorded_cuda {

std::unique_ptr<graph::AdjacencyHeap> adjacency_heap(const graph::HeapJob& job,
                                                     alloc::RecordedMemory& memory) {
  return recorded_detail::adjacency_heap<simt::Cuda>(job, memory);
}

void record(const RecordedJob& job, alloc::RecordedMemory& memory) {
  recorded_detail::record<simt::Cuda>(job, memory);
}

}  // namespace heapwood::workloads::recorded_cuda
