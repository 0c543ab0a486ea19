// SPDX-License-Identifier: MIT
// Owned arrays of device memory from a host-managed allocator, with statistics of a build's
// requests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "host_alloc/host_allocator.hpp"
#include "simt/clock.hpp"
#include "simt/memory.hpp"

namespace heapwood::kdtree {

class LevelMemory {
 public:
  struct Account {
    std::uint64_t allocations = 0;
    std::uint64_t requested_bytes = 0;  // sum over all allocations
    std::uint64_t live_bytes = 0, peak_bytes = 0;
    double ms = 0;  // in the allocator
  };

  LevelMemory(const simt::DeviceId& device, host_alloc::HostAllocator& allocator)
      : device_(device), allocator_(allocator) {}
  LevelMemory(const LevelMemory&) = delete;
  LevelMemory& operator=(const LevelMemory&) = delete;

  const simt::DeviceId& device() const { return device_; }
  const Account& account() const { return account_; }
  void begin_account() {
    account_ = {.live_bytes = account_.live_bytes, .peak_bytes = account_.live_bytes};
  }

  void* allocate(std::size_t bytes, const char* what) {
    void* block = nullptr;
    account_.ms += simt::measure_ms([&] { block = allocator_.allocate(bytes); });
    if (block == nullptr) {
      throw Error(Exit::failed, "per-level builder: cannot allocate " + std::to_string(bytes) +
                                    " bytes of " + what + " (" +
                                    std::to_string(account_.live_bytes >> 20) +
                                    " MiB in use by this build); use --refs ids, another host "
                                    "allocator or a smaller scene");
    }
    account_.allocations += 1;
    account_.requested_bytes += bytes;
    account_.live_bytes += bytes;
    account_.peak_bytes = std::max(account_.peak_bytes, account_.live_bytes);
    return block;
  }
  void release(void* block, std::size_t bytes) noexcept {
    account_.ms += simt::measure_ms([&] { allocator_.deallocate(block); });
    account_.live_bytes -= bytes;
  }

 private:
  simt::DeviceId device_;
  host_alloc::HostAllocator& allocator_;
  Account account_;
};

// An array of trivially copyable T; an empty one makes no request. The error message of a refused
// request names `what`.
template <class T>
class LevelArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  LevelArray() = default;
  LevelArray(LevelMemory& memory, std::size_t size, const char* what)
      : data_(size ? static_cast<T*>(memory.allocate(size * sizeof(T), what)) : nullptr,
              {&memory, size}) {}

  T* data() const { return data_.get(); }
  std::size_t size() const { return data_ ? data_.get_deleter().size : 0; }
  std::size_t bytes() const { return size() * sizeof(T); }
  void fill(int byte) {
    if (data_) simt::device_fill(device(), data(), byte, bytes());
  }
  std::vector<T> download() const {
    std::vector<T> host(size());
    if (data_) simt::device_download(device(), host.data(), data(), bytes());
    return host;
  }

 private:
  struct Release {
    LevelMemory* memory = nullptr;
    std::size_t size = 0;
    void operator()(T* data) const { memory->release(data, size * sizeof(T)); }
  };
  const simt::DeviceId& device() const { return data_.get_deleter().memory->device(); }

  std::unique_ptr<T, Release> data_;
};

}  // namespace heapwood::kdtree
