// SPDX-License-Identifier: MIT
// VirtualRange on a GPU by CUDA's virtual memory management. The driver's functions are looked up
// at run time, so that the program starts without a driver.
#include <cuda.h>

#include <algorithm>
#include <map>
#include <string>

#include "simt/cuda.hpp"
#include "simt/cuda_runtime.hpp"

namespace heapwood::simt::cuda_runtime {

namespace {

template <class Function>
void look_up(Function*& function, const char* name) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &entry, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t status = cudaGetDriverEntryPoint(name, &entry, cudaEnableDefault, &found);
#endif
  if (status != cudaSuccess || found != cudaDriverEntryPointSuccess || entry == nullptr) {
    cudaGetLastError();
    throw Error(Exit::device, std::string("the driver does not provide ") + name +
                                  "; use --host-allocator cudamalloc");
  }
  function = reinterpret_cast<Function*>(entry);
}

struct Driver {
  decltype(::cuMemGetAllocationGranularity)* granularity;
  decltype(::cuMemAddressReserve)* reserve;
  decltype(::cuMemAddressFree)* release_addresses;
  decltype(::cuMemCreate)* create;
  decltype(::cuMemRelease)* release;
  decltype(::cuMemMap)* map;
  decltype(::cuMemUnmap)* unmap;
  decltype(::cuMemSetAccess)* set_access;
  decltype(::cuGetErrorName)* error_name;

  Driver() {
    look_up(granularity, "cuMemGetAllocationGranularity");
    look_up(reserve, "cuMemAddressReserve");
    look_up(release_addresses, "cuMemAddressFree");
    look_up(create, "cuMemCreate");
    look_up(release, "cuMemRelease");
    look_up(map, "cuMemMap");
    look_up(unmap, "cuMemUnmap");
    look_up(set_access, "cuMemSetAccess");
    look_up(error_name, "cuGetErrorName");
  }

  void check(CUresult status, const char* what) const {
    if (status == CUDA_SUCCESS) return;
    const char* name = "unknown error";
    error_name(status, &name);
    throw Error(Exit::failed, std::string("CUDA: ") + what + ": " + name);
  }
};

const Driver& driver() {
  static const Driver functions;
  return functions;
}

class CudaRange final : public VirtualRange {
 public:
  CudaRange(int device, std::size_t bytes) : device_(device), driver_(driver()) {
    check_cuda(cudaSetDevice(device), "cudaSetDevice");
    properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties_.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    std::size_t minimum = 0;
    driver_.check(driver_.granularity(&minimum, &properties_, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                  "cuMemGetAllocationGranularity");
    granularity_ = std::max(granularity_, minimum);
    bytes_ = (bytes + granularity_ - 1) / granularity_ * granularity_;
    CUdeviceptr base = 0;
    driver_.check(driver_.reserve(&base, bytes_, granularity_, 0, 0), "cuMemAddressReserve");
    base_ = reinterpret_cast<std::byte*>(base);
  }
  ~CudaRange() override {
    while (!handles_.empty()) unmap(handles_.begin()->first, handles_.begin()->second.bytes);
    driver_.release_addresses(address(0), bytes_);
  }

  bool map(std::size_t offset, std::size_t bytes) override {
    check_cuda(cudaSetDevice(device_), "cudaSetDevice");
    CUmemGenericAllocationHandle handle{};
    const CUresult status = driver_.create(&handle, bytes, &properties_, 0);
    if (status == CUDA_ERROR_OUT_OF_MEMORY) return false;
    driver_.check(status, "cuMemCreate");
    CUmemAccessDesc access{};
    access.location = properties_.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUresult mapped = driver_.map(address(offset), bytes, 0, handle, 0);
    if (mapped == CUDA_SUCCESS) {
      mapped = driver_.set_access(address(offset), bytes, &access, 1);
      if (mapped != CUDA_SUCCESS) driver_.unmap(address(offset), bytes);
    }
    if (mapped != CUDA_SUCCESS) driver_.release(handle);
    driver_.check(mapped, "cuMemMap or cuMemSetAccess");
    handles_.emplace(offset, Piece{bytes, handle});
    return true;
  }

  void unmap(std::size_t offset, std::size_t) noexcept override {
    const auto piece = handles_.find(offset);
    if (piece == handles_.end()) return;
    cudaSetDevice(device_);
    driver_.unmap(address(offset), piece->second.bytes);
    driver_.release(piece->second.handle);
    handles_.erase(piece);
  }

 private:
  struct Piece {
    std::size_t bytes;
    CUmemGenericAllocationHandle handle;
  };

  CUdeviceptr address(std::size_t offset) const {
    return reinterpret_cast<CUdeviceptr>(base_) + offset;
  }

  int device_;
  const Driver& driver_;
  CUmemAllocationProp properties_{};
  std::map<std::size_t, Piece> handles_;
};

}  // namespace

std::unique_ptr<VirtualRange> reserve_range(int device, std::size_t bytes) {
  return std::make_unique<CudaRange>(device, bytes);
}

}  // namespace heapwood::simt::cuda_runtime
