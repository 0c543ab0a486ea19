// SPDX-License-Identifier: MIT
// Object pools for requests under 4 KiB, segregated fit for larger ones (Bell, Kumar and Gill 2024,
// section III.C). A pool is 64 objects of one size, a multiple of 256 bytes, in a block of
// segregated fit; a 64-bit mask records which are free. If there is no space for a pool, an object
// gets a block of its own.
#pragma once

#include <array>
#include <vector>

#include "host_alloc/segregated_fit.hpp"

namespace heapwood::host_alloc {

class Hybrid final : public Policy {
 public:
  Hybrid(std::unique_ptr<simt::VirtualRange> range, const HostAllocatorOptions& options)
      : blocks_(std::move(range), options, 0) {
    first_with_space_.fill(no_pool);
  }

  LiveBlock allocate(std::size_t bytes, std::size_t alignment) override;
  LiveBlock deallocate(void* block) override;
  void walk(const std::function<void(const HostRegion&)>& visit) const override;
  std::size_t shrink() override;
  std::optional<std::size_t> mapped_bytes() const override { return blocks_.mapped_bytes(); }
  std::uint64_t mappings() const override { return blocks_.mappings(); }

 private:
  static constexpr std::size_t limit = 4096;
  static constexpr unsigned objects = 64;
  static constexpr std::uint32_t no_pool = ~std::uint32_t{0};
  struct ObjectPool {
    std::uintptr_t base = 0;  // 0: an unused entry
    std::size_t size = 0;     // of an object
    std::uint64_t free = 0;   // bit i: object i
    // In the list of pools of its size that have space.
    std::uint32_t before = no_pool, after = no_pool;
  };
  struct Object {
    std::uint32_t pool, index;
    std::size_t requested;
  };

  std::uint32_t& first_with_space(std::size_t size) { return first_with_space_[size / unit - 1]; }
  void link(std::uint32_t pool);
  void unlink(std::uint32_t pool);
  std::uint32_t add_pool(std::size_t size);
  bool drop_empty_pools();
  void drop(std::uint32_t pool);

  SegregatedFit blocks_;
  std::vector<ObjectPool> pools_;
  std::vector<std::uint32_t> unused_;                         // entries of pools_
  std::array<std::uint32_t, limit / unit> first_with_space_;  // by size: the first pool with space
  AddressTable<Object> live_;
  AddressTable<std::uint32_t> pool_at_;
};

}  // namespace heapwood::host_alloc
