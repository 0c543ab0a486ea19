// SPDX-License-Identifier: MIT
// Workloads that record their requests, with the allocator Heapwood (recorded_workloads_run.hpp).
#pragma once

#include <memory>
#include <variant>

#include "alloc/adaptors/recorded.hpp"
#include "workloads/graph/adjacency_heap.hpp"
#include "workloads/particles/particles.hpp"
#include "workloads/stress.hpp"
#include "workloads/strings/strings.hpp"

namespace heapwood::workloads {

// A workload whose kernels request memory by themselves. Stress tests: those with lifetimes only
// (has_lifetimes()).
using RecordedJob = std::variant<StressJob, strings::StringsJob, particles::ParticlesJob>;

// Both record requests and frees since their last reset. Throw Error{Exit::device} for a GPU in a
// program without CUDA.
void record(const RecordedJob& job, alloc::RecordedMemory& memory);
std::unique_ptr<graph::AdjacencyHeap> recorded_adjacency_heap(const graph::HeapJob& job,
                                                              alloc::RecordedMemory& memory);

// For a GPU: in recorded_workloads_cuda.cu.
namespace recorded_cuda {
void record(const RecordedJob& job, alloc::RecordedMemory& memory);
std::unique_ptr<graph::AdjacencyHeap> adjacency_heap(const graph::HeapJob& job,
                                                     alloc::RecordedMemory& memory);
}  // namespace recorded_cuda

}  // namespace heapwood::workloads
