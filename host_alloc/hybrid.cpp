// SPDX-License-Identifier: MIT
// Object pools for requests under 4 KiB, segregated fit for larger ones (Bell, Kumar and Gill 2024,
// section III.C). A pool is 64 objects of one size, a multiple of 256 bytes, in a block of
// segregated fit; a 64-bit mask records which are free. If there is no space for a pool, an object
// gets a block of its own.
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "host_alloc/segregated_fit.hpp"

namespace heapwood::host_alloc {
namespace {

class Hybrid final : public Policy {
 public:
  Hybrid(std::unique_ptr<simt::VirtualRange> range, const HostAllocatorOptions& options)
      : blocks_(std::move(range), options, 0) {
    first_with_space_.fill(no_pool);
  }

  LiveBlock allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes < limit && alignment <= unit) {
      const std::size_t size = (bytes + unit - 1) / unit * unit;
      std::uint32_t pool = first_with_space(size);
      if (pool == no_pool) pool = add_pool(size);
      if (pool != no_pool) {
        ObjectPool& p = pools_[pool];
        const auto index = static_cast<std::uint32_t>(std::countr_zero(p.free));
        p.free &= p.free - 1;
        if (p.free == 0) unlink(pool);
        const std::uintptr_t address = p.base + index * size;
        live_.emplace(address, Object{pool, index, bytes});
        return {pointer_to(address), bytes, size};
      }
    }
    LiveBlock block = blocks_.allocate(bytes, alignment);
    if (block.address == nullptr && drop_empty_pools()) block = blocks_.allocate(bytes, alignment);
    return block;
  }
  LiveBlock deallocate(void* block) override {
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    const auto found = live_.find(address);
    if (found == live_.end()) {
      // The block of a pool itself does not belong to the caller.
      if (!blocks_.is_live(block) || pool_at_.find(address) != pool_at_.end())
        refuse_free(*this, block);
      return blocks_.deallocate(block);
    }
    const Object object = found->second;
    live_.erase(found);
    ObjectPool& pool = pools_[object.pool];
    if (pool.free == 0) link(object.pool);
    pool.free |= std::uint64_t{1} << object.index;
    const LiveBlock freed{block, object.requested, pool.size};
    // One empty pool per size is kept, so that alternating requests and frees do not create and
    // destroy one each time.
    if (pool.free == ~std::uint64_t{0} && (pool.before != no_pool || pool.after != no_pool))
      drop(object.pool);
    return freed;
  }
  // The block of a pool is walked object by object; adjacent free objects are one region.
  void walk(const std::function<void(const HostRegion&)>& visit) const override {
    blocks_.walk([&](const HostRegion& region) {
      const auto found = pool_at_.find(region.address);
      if (region.state != HostRegion::State::used || found == pool_at_.end()) return visit(region);
      const ObjectPool& pool = pools_[found->second];
      for (unsigned i = 0; i < objects;) {
        const std::uintptr_t address = pool.base + i * pool.size;
        if ((pool.free >> i & 1) == 0) {
          visit({address, pool.size, live_.at(address).requested, HostRegion::State::used});
          ++i;
        } else {
          const unsigned run = std::min<unsigned>(
              static_cast<unsigned>(std::countr_one(pool.free >> i)), objects - i);
          visit({address, run * pool.size, 0, HostRegion::State::free});
          i += run;
        }
      }
    });
  }
  std::size_t shrink() override {
    drop_empty_pools();
    return blocks_.shrink();
  }
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
  void link(std::uint32_t pool) {
    std::uint32_t& first = first_with_space(pools_[pool].size);
    pools_[pool].before = no_pool;
    pools_[pool].after = first;
    if (first != no_pool) pools_[first].before = pool;
    first = pool;
  }
  void unlink(std::uint32_t pool) {
    const ObjectPool& p = pools_[pool];
    if (p.before != no_pool) pools_[p.before].after = p.after;
    if (p.after != no_pool) pools_[p.after].before = p.before;
    if (std::uint32_t& first = first_with_space(p.size); first == pool) first = p.after;
  }
  std::uint32_t add_pool(std::size_t size) {
    const LiveBlock block = blocks_.allocate(size * objects, unit);
    if (block.address == nullptr) return no_pool;
    std::uint32_t pool = static_cast<std::uint32_t>(pools_.size());
    if (unused_.empty()) {
      pools_.emplace_back();
    } else {
      pool = unused_.back();
      unused_.pop_back();
    }
    pools_[pool] = {};
    pools_[pool].base = reinterpret_cast<std::uintptr_t>(block.address);
    pools_[pool].size = size;
    pools_[pool].free = ~std::uint64_t{0};
    pool_at_.emplace(pools_[pool].base, pool);
    link(pool);
    return pool;
  }
  bool drop_empty_pools() {
    bool any = false;
    for (std::uint32_t pool = 0; pool < pools_.size(); ++pool) {
      if (pools_[pool].base == 0 || pools_[pool].free != ~std::uint64_t{0}) continue;
      drop(pool);
      any = true;
    }
    return any;
  }
  void drop(std::uint32_t pool) {
    unlink(pool);
    pool_at_.erase(pools_[pool].base);
    blocks_.deallocate(pointer_to(pools_[pool].base));
    pools_[pool].base = 0;
    unused_.push_back(pool);
  }

  SegregatedFit blocks_;
  std::vector<ObjectPool> pools_;
  std::vector<std::uint32_t> unused_;                         // entries of pools_
  std::array<std::uint32_t, limit / unit> first_with_space_;  // by size: the first pool with space
  AddressTable<Object> live_;
  AddressTable<std::uint32_t> pool_at_;
};

}  // namespace

std::unique_ptr<Policy> make_hybrid(std::unique_ptr<simt::VirtualRange> range,
                                    const HostAllocatorOptions& options) {
  return std::make_unique<Hybrid>(std::move(range), options);
}

}  // namespace heapwood::host_alloc
