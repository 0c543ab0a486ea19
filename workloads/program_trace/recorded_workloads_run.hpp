// SPDX-License-Identifier: MIT
// The recorded workloads on a Device.
#pragma once

#include <memory>

#include "alloc/allocators/heapwood.hpp"
#include "workloads/graph/adjacency_run.hpp"
#include "workloads/program_trace/recorded_workloads.hpp"
#include "workloads/program_trace/recording_device.hpp"
#include "workloads/stress_lifetimes.hpp"

namespace heapwood::workloads::recorded_detail {

using Allocator = RecordingOn<alloc::Heapwood>;

template <class Device>
std::unique_ptr<graph::AdjacencyHeap> adjacency_heap(const graph::HeapJob& job,
                                                     alloc::RecordedMemory& memory) {
  using Recording = RecordingDevice<Device>;
  return std::make_unique<graph::AdjacencyRun<Allocator, Recording>>(
      Recording(Device(job.device), memory), job);
}

template <class Device>
void stress(const StressJob& job, alloc::RecordedMemory& memory) {
  using Recording = RecordingDevice<Device>;
  const Recording device(Device(job.device), memory);
  StressLifetimes<Allocator, Recording>(device, job).run();
}

}  // namespace heapwood::workloads::recorded_detail

// In recorded_workloads_cuda.cu.
namespace heapwood::workloads::recorded_cuda {

std::unique_ptr<graph::AdjacencyHeap> adjacency_heap(const graph::HeapJob& job,
                                                     alloc::RecordedMemory& memory);
void stress(const StressJob& job, alloc::RecordedMemory& memory);

}  // namespace heapwood::workloads::recorded_cuda
