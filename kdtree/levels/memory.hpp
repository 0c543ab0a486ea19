// SPDX-License-Identifier: MIT
// Owned arrays of device memory from a host-managed allocator, with statistics of a build's
// requests.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "host_alloc/host_allocator.hpp"
#include "simt/memory.hpp"

namespace heapwood::kdtree {

class LevelMemory {
 public:
  struct Account {
    std::uint64_t allocations = 0;
    std::uint64_t requested_bytes = 0;  // sum over all allocations
    std::uint64_t live_bytes = 0, peak_bytes = 0;
    double seconds = 0;  // in the allocator
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
    timed([&] { block = allocator_.allocate(bytes); });
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
    timed([&] { allocator_.deallocate(block); });
    account_.live_bytes -= bytes;
  }

 private:
  template <class F>
  void timed(F f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    account_.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

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
      : memory_(&memory),
        data_(size ? static_cast<T*>(memory.allocate(size * sizeof(T), what)) : nullptr),
        size_(size) {}
  LevelArray(LevelArray&& other) noexcept { swap(other); }
  LevelArray& operator=(LevelArray&& other) noexcept {
    LevelArray(std::move(other)).swap(*this);
    return *this;
  }
  ~LevelArray() {
    if (data_) memory_->release(data_, bytes());
  }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }
  void fill(int byte) {
    if (size_) simt::device_fill(memory_->device(), data_, byte, bytes());
  }
  std::vector<T> download() const {
    std::vector<T> host(size_);
    if (size_) simt::device_download(memory_->device(), host.data(), data_, bytes());
    return host;
  }

 private:
  void swap(LevelArray& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  LevelMemory* memory_ = nullptr;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace heapwood::kdtree
