// SPDX-License-Identifier: MIT
// malloc, free, calloc and realloc in device code use the heap of set_device_heap
// (device_heap.hpp); host code keeps the C library's. Works on unchanged sources:
//
//   nvcc -std=c++20 -include heapwood/malloc.hpp program.cu
//
// cudaDeviceSetLimit(cudaLimitMallocHeapSize, bytes) then makes and selects a heap of that size,
// so a program that calls it needs no other change. Device code of CUDA has no calloc and realloc;
// here it has. realloc keeps a block that has the size already, and returns nullptr for a block of
// CUDA's, whose size is not known. `new` and `delete`: operator_new.hpp.
//
// nvcc compiles a source once for the host and once for each GPU. The names are macros only in the
// latter, so nothing changes in host code, in its classes with members of these names, and in what
// the linker sees. In a .cu file compiled with -rdc=true a device function with one of these names
// is known to other files as heapwood_malloc etc. With a host compiler the names are macros
// everywhere, and code inside a device_scope counts as device code.
#pragma once

#include "heapwood/device_heap.hpp"  // first

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#if !defined(__CUDACC_RTC__)
#include <stdlib.h>
#endif

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
// The limit of CUDA's heap becomes the size of the heap that replaces it; other limits go to CUDA.
inline cudaError_t heapwood_set_limit(cudaLimit limit, std::size_t value) {
  if (limit != cudaLimitMallocHeapSize) return cudaDeviceSetLimit(limit, value);
  static std::unique_ptr<heapwood::device_heap::heap_type> heap;
  try {
    auto next = std::make_unique<heapwood::device_heap::heap_type>(value);
    heapwood::set_device_heap(*next);
    heap = std::move(next);
  } catch (const heapwood::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return cudaErrorMemoryAllocation;
  }
  return cudaSuccess;
}
#define cudaDeviceSetLimit heapwood_set_limit
#endif

#if defined(__CUDA_ARCH__) || !defined(__CUDACC__)

// Inline, because each source file defines these functions, and the linker must keep one of each.
#if defined(__CUDACC__)
#define HEAPWOOD_REPLACEMENT extern "C" inline __host__ __device__
#else
#define HEAPWOOD_REPLACEMENT extern "C" inline
#endif

HEAPWOOD_REPLACEMENT void* heapwood_malloc(size_t bytes) noexcept {
  return heapwood::device_heap::is_device_call()
             ? heapwood::device_heap::allocate(bytes, heapwood::alloc::granule)
             : ::malloc(bytes);
}
HEAPWOOD_REPLACEMENT void heapwood_free(void* block) noexcept {
  heapwood::device_heap::deallocate(block, heapwood::alloc::granule);
}
HEAPWOOD_REPLACEMENT void* heapwood_calloc(size_t count, size_t size) noexcept {
  const size_t bytes = heapwood::detail::multiply_sizes(count, size);
  void* const block = heapwood_malloc(bytes);
  if (block != nullptr) heapwood::detail::clear_block(block, bytes);
  return block;
}
#undef HEAPWOOD_REPLACEMENT
// A template, so that only programs that call it need a heap that knows the sizes of its blocks.
template <class Handle = heapwood::device_heap::handle_type>
HEAPWOOD_FN void* heapwood_realloc(void* block, size_t bytes) noexcept {
  const Handle& heap = heapwood::device_heap::selected;
  if (block == nullptr) return heapwood_malloc(bytes);
  if (heapwood::device_heap::is_selected() && heap.owns(block)) return heap.realloc(block, bytes);
#if defined(__CUDA_ARCH__)
  return nullptr;
#else
  return ::realloc(block, bytes);
#endif
}

namespace std {
using ::heapwood_calloc;
using ::heapwood_free;
using ::heapwood_malloc;
using ::heapwood_realloc;
}  // namespace std

#define malloc heapwood_malloc
#define free heapwood_free
#define calloc heapwood_calloc
#define realloc heapwood_realloc

#endif
