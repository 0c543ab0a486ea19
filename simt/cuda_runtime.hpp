// SPDX-License-Identifier: MIT
// The CUDA runtime as the rest of simt/ needs it, without its headers: cuda_runtime.cu implements it where CUDA is built,
// cuda_absent.cpp where it is not.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "simt/device.hpp"
#include "simt/virtual_range.hpp"

namespace heapwood::simt::cuda_runtime {

// One entry a GPU; where none can be used, one unusable entry that says why.
std::vector<DeviceInfo> list();
void* allocate(int device, std::size_t bytes);  // nullptr where there is not enough; throws Error
void free(int device, void* pointer) noexcept;
void upload(int device, void* to, const void* from, std::size_t bytes);
void download(int device, void* to, const void* from, std::size_t bytes);
void fill(int device, void* to, int byte, std::size_t bytes);
std::size_t available(int device);

// cudaMallocAsync and cudaFreeAsync on the default stream, whose order kernels and copies have.
void* pool_allocate(int device, std::size_t bytes);
void pool_free(int device, void* pointer) noexcept;
void pool_trim(int device);
std::size_t pool_reserved(int device);

std::unique_ptr<VirtualRange> reserve_range(int device, std::size_t bytes);

}  // namespace heapwood::simt::cuda_runtime
