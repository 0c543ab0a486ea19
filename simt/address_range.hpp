// SPDX-License-Identifier: MIT
// AddressRange: a reserved range of addresses into which memory is mapped piecewise. With nvcc it
// is a GPU's (cuMemAddressReserve, cuMemCreate, cuMemMap), with a host compiler the process's (mmap
// and mprotect). Reserved addresses without memory must not be accessed.
#pragma once

#include "simt/config.hpp"  // first

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "simt/error.hpp"
#if defined(__CUDACC__)
#include <cuda.h>

#include "simt/stream_device.hpp"
#else
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#endif

namespace heapwood::simt {

#if defined(__CUDACC__)

namespace range_detail {

// The driver's functions, looked up at run time so that a program starts without a driver.
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
  static const Driver& get() {
    static const Driver driver;
    return driver;
  }
  void check(CUresult status, const char* what) const {
    if (status == CUDA_SUCCESS) return;
    const char* name = "unknown error";
    error_name(status, &name);
    throw Error(Exit::failed, std::string("CUDA: ") + what + ": " + name);
  }

 private:
  template <class Function>
  static void look_up(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(stream_detail::driver_function(name));
    if (function == nullptr)
      throw Error(Exit::device, std::string("the driver does not provide ") + name);
  }
};

}  // namespace range_detail

class CudaRange {
 public:
  // Rounds `bytes` up to the granularity. Throws Error if the addresses cannot be reserved.
  CudaRange(int device, std::size_t bytes)
      : device_(device), context_(StreamDevice(device).context()) {
    properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties_.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    std::size_t minimum = 0;
    driver_.check(driver_.granularity(&minimum, &properties_, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                  "cuMemGetAllocationGranularity");
    granularity_ = std::max(granularity_, minimum);
    bytes_ = (bytes + granularity_ - 1) / granularity_ * granularity_;
    driver_.check(driver_.reserve(&base_, bytes_, granularity_, 0, 0), "cuMemAddressReserve");
  }
  // Waits for no kernel. After cudaDeviceReset(), which has freed the memory, does nothing.
  ~CudaRange() {
    if (StreamDevice(device_).context() != context_) return;
    while (!pieces_.empty()) unmap(pieces_.begin()->first, pieces_.begin()->second.bytes);
    driver_.release_addresses(base_, bytes_);
  }
  CudaRange(CudaRange&&) = delete;

  std::byte* base() const { return reinterpret_cast<std::byte*>(base_); }
  std::size_t bytes() const { return bytes_; }
  // The unit of offsets and sizes passed to map().
  std::size_t granularity() const { return granularity_; }

  // Returns false if the device's memory is exhausted. Throws Error{Exit::failed} on any other
  // failure.
  bool map(std::size_t offset, std::size_t bytes) {
    const stream_detail::CurrentDevice current(device_);
    CUmemGenericAllocationHandle handle{};
    const CUresult status = driver_.create(&handle, bytes, &properties_, 0);
    if (status == CUDA_ERROR_OUT_OF_MEMORY) return false;
    driver_.check(status, "cuMemCreate");
    CUmemAccessDesc access{};
    access.location = properties_.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUresult mapped = driver_.map(base_ + offset, bytes, 0, handle, 0);
    if (mapped == CUDA_SUCCESS) {
      mapped = driver_.set_access(base_ + offset, bytes, &access, 1);
      if (mapped != CUDA_SUCCESS) driver_.unmap(base_ + offset, bytes);
    }
    if (mapped != CUDA_SUCCESS) driver_.release(handle);
    driver_.check(mapped, "cuMemMap or cuMemSetAccess");
    pieces_.emplace(offset, Piece{bytes, handle});
    return true;
  }
  // Unmaps exactly what one call of map() has mapped. No kernel may be using it.
  void unmap(std::size_t offset, std::size_t) noexcept {
    const auto piece = pieces_.find(offset);
    if (piece == pieces_.end()) return;
    const stream_detail::CurrentDevice current(device_);
    driver_.unmap(base_ + offset, piece->second.bytes);
    driver_.release(piece->second.handle);
    pieces_.erase(piece);
  }

 private:
  struct Piece {
    std::size_t bytes;
    CUmemGenericAllocationHandle handle;
  };

  int device_;
  std::uint64_t context_;
  const range_detail::Driver& driver_ = range_detail::Driver::get();
  CUmemAllocationProp properties_{};
  CUdeviceptr base_ = 0;
  std::size_t bytes_ = 0, granularity_ = std::size_t{2} << 20;
  std::map<std::size_t, Piece> pieces_;
};
using AddressRange = CudaRange;

#else

// Addresses without memory are PROT_NONE: an access faults, as on a GPU.
class CpuRange {
 public:
  explicit CpuRange(int, std::size_t bytes)
      : bytes_((bytes + granularity() - 1) / granularity() * granularity()),
        reserved_bytes_(bytes_ + granularity()) {  // for alignment: mmap aligns to pages only
    reserved_ = bytes_ < bytes || reserved_bytes_ < bytes_
                    ? MAP_FAILED
                    : mmap(nullptr, reserved_bytes_, PROT_NONE, flags, -1, 0);
    if (reserved_ == MAP_FAILED) {
      throw Error(Exit::failed, "cannot reserve " + std::to_string(bytes >> 20) +
                                    " MiB of addresses: " + std::strerror(errno) +
                                    "; raise the limit (ulimit -v)");
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(reserved_);
    base_ = static_cast<std::byte*>(reserved_) +
            (granularity() - begin % granularity()) % granularity();
  }
  ~CpuRange() { munmap(reserved_, reserved_bytes_); }
  CpuRange(CpuRange&&) = delete;

  std::byte* base() const { return base_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t granularity() const { return std::size_t{2} << 20; }

  bool map(std::size_t offset, std::size_t bytes) {
    if (mprotect(base_ + offset, bytes, PROT_READ | PROT_WRITE) == 0) return true;
    if (errno == ENOMEM) return false;
    throw Error(Exit::failed,
                "cannot map " + std::to_string(bytes >> 20) + " MiB: " + std::strerror(errno));
  }
  void unmap(std::size_t offset, std::size_t bytes) noexcept {
    // Replaces the pages by a new mapping, which returns them to the system.
    [[maybe_unused]] void* fresh = mmap(base_ + offset, bytes, PROT_NONE, flags | MAP_FIXED, -1, 0);
  }

 private:
  static constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  std::size_t bytes_, reserved_bytes_;
  void* reserved_ = nullptr;
  std::byte* base_ = nullptr;
};
using AddressRange = CpuRange;

#endif

}  // namespace heapwood::simt
