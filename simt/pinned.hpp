// SPDX-License-Identifier: MIT
// An array in host memory from which uploads to a device are fast: page-locked for a GPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "simt/device.hpp"

namespace heapwood::simt {

// Page-locked for a GPU, plain for the CPU. Throws Error{Exit::failed} if memory is exhausted.
void* pinned_allocate(const DeviceId& device, std::size_t bytes);
void pinned_free(const DeviceId& device, void* pointer) noexcept;

template <class T>
class PinnedArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit PinnedArray(const DeviceId& device) : device_(device) {}
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;
  ~PinnedArray() { pinned_free(device_, data_); }

  std::span<const T> values() const { return {data_, count_}; }
  // Copies the values. Allocates only if there are more of them than the capacity.
  void assign(std::span<const T> values) {
    if (values.size() > capacity_) {
      const std::size_t more = std::max(values.size(), capacity_ + capacity_ / 4);
      pinned_free(device_, std::exchange(data_, nullptr));
      capacity_ = count_ = 0;
      data_ = static_cast<T*>(pinned_allocate(device_, more * sizeof(T)));
      capacity_ = more;
    }
    if (!values.empty()) std::memcpy(data_, values.data(), values.size_bytes());
    count_ = values.size();
  }

 private:
  DeviceId device_;
  T* data_ = nullptr;
  std::size_t count_ = 0, capacity_ = 0;
};

}  // namespace heapwood::simt
