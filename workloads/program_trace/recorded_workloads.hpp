// SPDX-License-Identifier: MIT
// Workloads that record their requests, with the allocator Heapwood (recorded_workloads_run.hpp).
#pragma once

#include <memory>

#include "alloc/adaptors/recorded.hpp"
#include "workloads/graph/adjacency_heap.hpp"
#include "workloads/particles/particles.hpp"
#include "workloads/stress.hpp"
#include "workloads/strings/strings.hpp"

namespace heapwood::workloads {

// Each of these records its requests and frees since its last reset. Throws Error{Exit::device} for
// a GPU in a program without CUDA.
std::unique_ptr<graph::AdjacencyHeap> recorded_adjacency_heap(const graph::HeapJob& job,
                                                              alloc::RecordedMemory& memory);
// For tests with lifetimes only (has_lifetimes()).
void record_stress(const StressJob& job, alloc::RecordedMemory& memory);
void record_strings(const strings::StringsJob& job, alloc::RecordedMemory& memory);
void record_particles(const particles::ParticlesJob& job, alloc::RecordedMemory& memory);

}  // namespace heapwood::workloads
