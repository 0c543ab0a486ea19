// SPDX-License-Identifier: MIT
// Common to the tests of host allocators: addresses that cannot be accessed.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <memory>
#include <random>
#include <string>

#include "host_alloc/host_allocator.hpp"
#include "tests/test_device.hpp"

namespace heapwood::host_alloc::testing {

inline constexpr std::size_t kib = 1024, mib = 1024 * kib;

// Stays PROT_NONE when mapped: an allocator that accesses the memory it manages ends the test with
// a signal.
class UntouchableRange final : public simt::VirtualRange {
 public:
  explicit UntouchableRange(std::size_t bytes, std::size_t device_bytes = ~std::size_t{0})
      : left_(device_bytes) {
    bytes_ = bytes;
    reserved_ = mmap(nullptr, bytes + granularity_, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved_ == MAP_FAILED) throw Error(Exit::failed, "no addresses");
    const auto begin = reinterpret_cast<std::uintptr_t>(reserved_);
    base_ =
        static_cast<std::byte*>(reserved_) + (granularity_ - begin % granularity_) % granularity_;
  }
  ~UntouchableRange() override { munmap(reserved_, bytes_ + granularity_); }

  bool map(std::size_t offset, std::size_t bytes) override {
    EXPECT_EQ(offset % granularity_, 0u);
    EXPECT_EQ(bytes % granularity_, 0u);
    EXPECT_GT(bytes, 0u);
    EXPECT_LE(offset + bytes, bytes_);
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }
  void unmap(std::size_t, std::size_t bytes) noexcept override { left_ += bytes; }

 private:
  void* reserved_ = nullptr;
  std::size_t left_;
};

inline std::unique_ptr<HostAllocator> untouchable(const std::string& id,
                                                  const HostAllocatorOptions& options) {
  return make_host_allocator(id, std::make_unique<UntouchableRange>(4 * options.capacity), options);
}

// The message of the Error that `call` throws, or an empty string if it throws none.
template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline std::size_t below(std::mt19937_64& random, std::size_t n) {
  return static_cast<std::size_t>(random() % n);
}

}  // namespace heapwood::host_alloc::testing
