// SPDX-License-Identifier: MIT
// What the measuring programs of this folder share: the heap under test, timing by events. The
// allocator is chosen when a program is compiled, Heapwood unless told otherwise:
//   nvcc -DMEASURED=Halloc -include heapwood/alloc/allocators/halloc.hpp ...
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <heapwood/heap.hpp>
#include <vector>

#include "tests/library/gpu/check.hpp"

namespace heapwood_test {

#if defined(MEASURED)
using Measured = heapwood::alloc::MEASURED;
#else
using Measured = heapwood::alloc::Heapwood;
#endif
using MeasuredHeap = heapwood::basic_heap<Measured>;
using MeasuredHandle = heapwood::basic_heap_handle<Measured>;

// Ends the program if a call has failed.
inline void require_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::printf("FAILED  ] %s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

// The time of what `f` launches, in milliseconds.
template <class F>
float time_of(const F& f) {
  static cudaEvent_t begin, end;
  static const bool created =
      cudaEventCreate(&begin) == cudaSuccess && cudaEventCreate(&end) == cudaSuccess;
  if (!created) require_cuda(cudaErrorUnknown, "events");
  require_cuda(cudaDeviceSynchronize(), "work before the measurement");
  cudaEventRecord(begin);
  f();
  cudaEventRecord(end);
  require_cuda(cudaEventSynchronize(end), "the measured kernel");
  require_cuda(cudaGetLastError(), "launch");
  float milliseconds = 0;
  cudaEventElapsedTime(&milliseconds, begin, end);
  return milliseconds;
}

inline float median(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// A size distributed uniformly from 16 to 8192 bytes, or `bytes` if it is not 0.
__host__ __device__ inline std::size_t size_of(std::size_t bytes, std::uint32_t drawn) {
  return bytes != 0 ? bytes : 16 + static_cast<std::size_t>(std::uint64_t{drawn} * 8177 >> 32);
}

}  // namespace heapwood_test
