// SPDX-License-Identifier: MIT
// The cost of the synchronization primitives alone: the experiments of Gelado and Garland 2019,
// sections 5.1 and 5.2.
//   semaphores  Every thread takes one unit of a resource that grows in batches. A batch is one
//               atomic operation, and units are not searched for. An upper bound for two-stage
//               allocation (figure 5).
//   rcu         A doubly linked list. Every thread searches for one tag. A thread that finds it
//               removes the element and reclaims it when all readers that may access it have left:
//               each thread waits at a barrier, or delegates (figure 6).
#pragma once

#include <cstdint>

#include "simt/device.hpp"
#include "simt/error.hpp"

namespace heapwood::workloads {

enum class PrimitiveTest : std::uint8_t {
  counting_semaphore,
  bulk_semaphore,
  plain_rcu,
  delegated_rcu,
  published_semaphore  // the bulk semaphore with three counts and compare-and-swap
};

struct PrimitiveJob {
  simt::DeviceId device;
  PrimitiveTest test = PrimitiveTest::bulk_semaphore;
  std::uint32_t threads = 1024;
  std::uint32_t batch = 512;  // of the semaphores
  // Rcu: one thread of this many removes an element; the others only read.
  std::uint32_t readers = 1;
  double seconds = 60;  // time limit
};

struct PrimitiveResult {
  double ms = 0;
  std::uint64_t done = 0;  // units taken or elements reclaimed; less than `wanted` is an error
  std::uint64_t wanted = 0;
};

// Throws Error{Exit::device} for a GPU in builds without CUDA.
PrimitiveResult run_primitive(const PrimitiveJob& job);

namespace primitives_cuda {
PrimitiveResult run(const PrimitiveJob& job);  // defined only if simt::has_cuda
}

}  // namespace heapwood::workloads
