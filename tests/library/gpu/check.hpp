// SPDX-License-Identifier: MIT
// Checks of the programs in this folder: a line per failure, and an exit status. Random numbers.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <source_location>

namespace heapwood_test {

inline int failures = 0;

inline void check(bool holds, std::source_location where = std::source_location::current()) {
  if (holds) return;
  ++failures;
  std::printf("FAILED  ] %s:%u\n", where.file_name(), static_cast<unsigned>(where.line()));
}
inline void check_cuda(cudaError_t status,
                       std::source_location where = std::source_location::current()) {
  if (status != cudaSuccess) std::printf("CUDA: %s\n", cudaGetErrorString(status));
  check(status == cudaSuccess, where);
}
inline std::size_t free_device_bytes() {
  std::size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total));
  return free;
}

// A number that depends on two others, such as a thread and the number of its request.
__host__ __device__ inline std::uint32_t draw(std::uint32_t a, std::uint32_t b) {
  std::uint32_t x = a * 747796405u + b * 2891336453u + 12345u;
  x = ((x >> (x >> 28) % 16) ^ x) * 277803737u;
  return x >> 16 ^ x;
}

// The exit status of the program.
inline int finish(const char* what) {
  if (failures == 0) {
    std::printf("PASSED  ] %s\n", what);
  } else {
    std::printf("FAILED  ] %s: %d checks\n", what, failures);
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace heapwood_test
