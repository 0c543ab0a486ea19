// SPDX-License-Identifier: MIT
#include "host_alloc/hybrid.hpp"

#include <algorithm>
#include <bit>

namespace heapwood::host_alloc {

void Hybrid::link(std::uint32_t pool) {
  std::uint32_t& first = first_with_space(pools_[pool].size);
  pools_[pool].before = no_pool;
  pools_[pool].after = first;
  if (first != no_pool) pools_[first].before = pool;
  first = pool;
}

void Hybrid::unlink(std::uint32_t pool) {
  const ObjectPool& p = pools_[pool];
  if (p.before != no_pool) pools_[p.before].after = p.after;
  if (p.after != no_pool) pools_[p.after].before = p.before;
  if (std::uint32_t& first = first_with_space(p.size); first == pool) first = p.after;
}

std::uint32_t Hybrid::add_pool(std::size_t size) {
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

void Hybrid::drop(std::uint32_t pool) {
  unlink(pool);
  pool_at_.erase(pools_[pool].base);
  blocks_.deallocate(pointer_to(pools_[pool].base));
  pools_[pool].base = 0;
  unused_.push_back(pool);
}

bool Hybrid::drop_empty_pools() {
  bool any = false;
  for (std::uint32_t pool = 0; pool < pools_.size(); ++pool) {
    if (pools_[pool].base == 0 || pools_[pool].free != ~std::uint64_t{0}) continue;
    drop(pool);
    any = true;
  }
  return any;
}

LiveBlock Hybrid::allocate(std::size_t bytes, std::size_t alignment) {
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

LiveBlock Hybrid::deallocate(void* block) {
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

std::size_t Hybrid::shrink() {
  drop_empty_pools();
  return blocks_.shrink();
}

// The block of a pool is walked object by object; adjacent free objects are reported as one region.
void Hybrid::walk(const std::function<void(const HostRegion&)>& visit) const {
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
        const unsigned run =
            std::min<unsigned>(static_cast<unsigned>(std::countr_one(pool.free >> i)), objects - i);
        visit({address, run * pool.size, 0, HostRegion::State::free});
        i += run;
      }
    }
  });
}

}  // namespace heapwood::host_alloc
