// SPDX-License-Identifier: MIT
// CUDA runtime functions without CUDA's headers: implemented by cuda_runtime.cu or cuda_absent.cpp.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "simt/device.hpp"
#include "simt/virtual_range.hpp"

namespace heapwood::simt::cuda_runtime {

// The entry for a GPU that there is not.
inline DeviceInfo no_gpu(const std::string& reason) {
  DeviceInfo none;
  none.id = {DeviceKind::cuda, 0, 0};
  none.key = "cuda:0";
  none.name = "CUDA";
  none.reason = reason;
  return none;
}

// One entry per GPU; if there is none, one unusable entry with the reason.
std::vector<DeviceInfo> list();
// The entry of one GPU, which is unusable if there is none. Other GPUs are not touched, because
// describing a GPU creates a context on it.
DeviceInfo describe(int index);
// How many GPUs there are, usable or not.
int count();
void* allocate(int device, std::size_t bytes);  // nullptr if memory is exhausted; throws Error
void free(int device, void* pointer) noexcept;
void upload(int device, void* to, const void* from, std::size_t bytes);
void download(int device, void* to, const void* from, std::size_t bytes);
void fill(int device, void* to, int byte, std::size_t bytes);
void reserve_malloc_heap(int device, std::size_t bytes, bool exactly);
void limit_multiprocessors(int device, unsigned count);
std::size_t available(int device);

// Page-locked host memory, from which copies run at the speed of the bus.
void* pinned_allocate(std::size_t bytes);  // nullptr if memory is exhausted
void pinned_free(void* pointer) noexcept;

// Memory from the device's CUDA memory pool (cudaMallocAsync, cudaFreeAsync), in the order of the
// default stream. The pool keeps freed memory until pool_trim().
void* pool_allocate(int device, std::size_t bytes);
void pool_free(int device, void* pointer) noexcept;
void pool_trim(int device);
std::size_t pool_reserved(int device);  // physical memory that the pool holds

std::unique_ptr<VirtualRange> reserve_range(int device, std::size_t bytes);

}  // namespace heapwood::simt::cuda_runtime
