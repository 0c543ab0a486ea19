// SPDX-License-Identifier: MIT
// Owned device memory: Memory is bytes, Buffer<T> is an array of trivially copyable T.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#include <tuple>
#endif

#include "simt/device.hpp"

namespace heapwood::simt {

// Raw operations on device memory. `device_allocate` throws Error{Exit::failed} with the size if
// memory is exhausted; CPU memory is untouched zero pages, contents of GPU memory are unspecified.
// Copies are complete when the call returns.
void* device_allocate(const DeviceId& device, std::size_t bytes);
void device_free(const DeviceId& device, void* pointer, std::size_t bytes) noexcept;
void device_upload(const DeviceId& device, void* to, const void* from_host, std::size_t bytes);
void device_download(const DeviceId& device, void* to_host, const void* from, std::size_t bytes);
void device_fill(const DeviceId& device, void* to, int byte, std::size_t bytes);
// Gives malloc() in kernels at least this much of a GPU's memory, or exactly (device_heap.hpp).
void reserve_malloc_heap(const DeviceId& device, std::size_t bytes, bool exactly = false);
// All later kernels of this process run on `count` of a GPU's multiprocessors, in a green context.
// The driver rounds `count` up, on compute capability 9.0 to a multiple of 8. Throws
// Error{Exit::failed} if the driver cannot separate them.
void limit_multiprocessors(const DeviceId& device, unsigned count);
// Bytes that can still be allocated.
std::size_t device_available(const DeviceId& device);

// The source of memory for device_allocate(), and so for every Memory and Buffer: the platform
// (cudaMalloc, mmap), or one that was set.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // Returns a block aligned to 256 bytes; nullptr if memory is exhausted.
  virtual void* allocate(const DeviceId& device, std::size_t bytes) = 0;
  virtual void deallocate(const DeviceId& device, void* block) noexcept = 0;
  virtual std::size_t available(const DeviceId& device) = 0;
};

// nullptr selects the platform. A block is freed to the source that is set at that time, so the
// source must be changed only while no block is allocated.
void set_memory_source(MemorySource* source) noexcept;

// Memory of the platform, whatever source is set; nullptr if it is exhausted. On the CPU zero
// pages.
void* platform_allocate(const DeviceId& device, std::size_t bytes);
void platform_free(const DeviceId& device, void* block, std::size_t bytes) noexcept;
std::size_t platform_available(const DeviceId& device);

// Overloads for a device that moves memory itself, in the order of its stream (stream_device.hpp).
// They need no compiled code, so allocators can be used as headers alone.
template <class Id>
auto device_upload(const Id& id, void* to, const void* from_host, std::size_t bytes)
    -> decltype(id.upload(to, from_host, bytes)) {
  id.upload(to, from_host, bytes);
}
template <class Id>
auto device_download(const Id& id, void* to_host, const void* from, std::size_t bytes)
    -> decltype(id.download(to_host, from, bytes)) {
  id.download(to_host, from, bytes);
}
template <class Id>
auto device_fill(const Id& id, void* to, int byte, std::size_t bytes)
    -> decltype(id.fill(to, byte, bytes)) {
  id.fill(to, byte, bytes);
}

#if __cplusplus >= 202002L  // not in the library, whose users may compile with C++17

class Memory {
 public:
  Memory() = default;
  Memory(const DeviceId& device, std::size_t bytes)
      : device_(device), data_(bytes ? device_allocate(device, bytes) : nullptr), bytes_(bytes) {}
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    Memory(std::move(other)).swap(*this);
    return *this;
  }
  ~Memory() {
    if (data_) device_free(device_, data_, bytes_);
  }

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::size_t bytes() const { return bytes_; }
  const DeviceId& device() const { return device_; }
  void fill(int byte) {
    if (bytes_) device_fill(device_, data_, byte, bytes_);
  }

 private:
  void swap(Memory& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  DeviceId device_{};
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  Buffer(const DeviceId& device, std::size_t count)
      : memory_(device, count * sizeof(T)), count_(count) {}
  Buffer(const DeviceId& device, std::span<const T> host) : Buffer(device, host.size()) {
    upload(host);
  }

  T* data() const { return reinterpret_cast<T*>(memory_.data()); }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return memory_.bytes(); }
  const DeviceId& device() const { return memory_.device(); }
  void fill(int byte) { memory_.fill(byte); }
  // The number of elements that fit into the memory; set_size() does not reallocate.
  std::size_t capacity() const { return bytes() / sizeof(T); }
  void set_size(std::size_t count) { count_ = count < capacity() ? count : capacity(); }

  void upload(std::span<const T> host, std::size_t first = 0) {
    if (!host.empty()) device_upload(device(), data() + first, host.data(), host.size_bytes());
  }
  std::vector<T> download() const { return download(0, count_); }
  std::vector<T> download(std::size_t first, std::size_t count) const {
    std::vector<T> host(count);
    if (count) device_download(device(), host.data(), data() + first, count * sizeof(T));
    return host;
  }

 private:
  Memory memory_;
  std::size_t count_ = 0;
};

// Arrays in one block, in the given order: `memory`, which is replaced if it is too small. A GPU's
// driver needs longer to allocate and free a block than a kernel to fill it.
template <class... T>
std::tuple<std::span<T>...> allocate_arrays(Memory& memory, const DeviceId& device,
                                            const std::array<std::size_t, sizeof...(T)>& counts) {
  constexpr std::size_t alignment = 256, sizes[] = {sizeof(T)...};
  std::array<std::size_t, sizeof...(T)> begins;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < sizeof...(T); ++i) {
    begins[i] = bytes;
    bytes += (counts[i] * sizes[i] + alignment - 1) / alignment * alignment;
  }
  if (bytes > memory.bytes()) memory = Memory(device, bytes);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::tuple(std::span<T>(reinterpret_cast<T*>(memory.data() + begins[I]), counts[I])...);
  }
  (std::index_sequence_for<T...>());
}

// Host memory, page-locked for a GPU. Throws Error{Exit::failed} if memory is exhausted.
void* pinned_allocate(const DeviceId& device, std::size_t bytes);
void pinned_free(const DeviceId& device, void* pointer) noexcept;

template <class T>
class PinnedArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit PinnedArray(const DeviceId& device) : device_(device) {}
  PinnedArray(PinnedArray&&) = delete;
  ~PinnedArray() { pinned_free(device_, data_); }

  std::span<const T> values() const { return {data_, count_}; }
  std::span<T> values() { return {data_, count_}; }
  void assign(std::span<const T> values) {
    resize(values.size());
    if (!values.empty()) std::memcpy(data_, values.data(), values.size_bytes());
  }
  // Allocates only if `count` is above the capacity; the values are then unspecified.
  void resize(std::size_t count) {
    if (count > capacity_) {
      const std::size_t more = std::max(count, capacity_ + capacity_ / 4);
      pinned_free(device_, std::exchange(data_, nullptr));
      capacity_ = count_ = 0;
      data_ = static_cast<T*>(pinned_allocate(device_, more * sizeof(T)));
      capacity_ = more;
    }
    count_ = count;
  }

 private:
  DeviceId device_;
  T* data_ = nullptr;
  std::size_t count_ = 0, capacity_ = 0;
};

#endif

}  // namespace heapwood::simt
