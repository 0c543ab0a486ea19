// SPDX-License-Identifier: MIT
// Checks of the programs in this folder: a line per failure, and an exit status.
#pragma once

#include <cuda_runtime.h>

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
