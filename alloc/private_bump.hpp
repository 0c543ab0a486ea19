// SPDX-License-Identifier: MIT
// PrivateBump: nearly the lowest cost possible for an allocator that still hands out memory. Each
// warp takes 64 KiB at a time and bump-allocates from it; a free does nothing. A baseline
// (kdtree/build/profile.hpp), not in the registry.
//
// One cost remains: a build never uses memory twice, so its arrays come from memory and not from a
// cache.
#pragma once

#include "alloc/allocator.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc {

struct PrivateBump {
  static constexpr AllocatorTraits traits{.id = "bump",
                                          .label = "Private bump",
                                          .paper = "none",
                                          .note = "one range of memory per warp; never frees",
                                          .frees = Frees::never,
                                          .lower_bound = true};
  static constexpr std::uint64_t batch_bytes = 64 << 10, header = 256;

  std::byte* memory = nullptr;  // after the header
  std::uint64_t capacity = 0;
  std::uint64_t* next = nullptr;  // bytes requested so far, failed requests included

  template <class Device>
  static PrivateBump create(Pool pool, const AllocatorOptions&, const Device& device) {
    check_pool(traits, pool);
    simt::device_fill(device.id(), pool.base, 0, header);
    return {pool.base + header, (pool.bytes - header) / granule * granule,
            as<std::uint64_t>(pool.base)};
  }

  // Called by one lane. Takes `bytes` bytes and returns their offset, which may lie beyond the
  // pool. relaxed: every byte is handed out once.
  HEAPWOOD_INLINE std::uint64_t take(std::uint64_t bytes) const {
    if (bytes > capacity) return capacity;
    return Word64(*next).fetch_add(bytes, simt::relaxed);
  }

  struct WarpState {};
  template <class Warp>
  class Context {
   public:
    HEAPWOOD_INLINE Context(const PrivateBump& shared, Warp&, WarpState&) : shared_(shared) {}

    HEAPWOOD_INLINE void* allocate(Warp& warp, std::uint32_t n) {
      const std::uint64_t size = std::uint64_t{n == 0 ? 1 : n} * granule;
      if (end_ - next_ < size) {
        const bool is_separate = size > batch_bytes / 4;  // the rest of the batch is kept
        const std::uint64_t wanted = is_separate ? size : batch_bytes;
        std::uint64_t offset = 0;
        if (warp.lane() == 0) offset = shared_.take(wanted);
        offset = warp.shfl(offset, 0);
        if (offset > shared_.capacity || wanted > shared_.capacity - offset) return nullptr;
        if (is_separate) return shared_.memory + offset;
        next_ = offset;
        end_ = offset + batch_bytes;
      }
      const std::uint64_t offset = next_;
      next_ += size;
      return shared_.memory + offset;
    }
    HEAPWOOD_INLINE BlockPair allocate_pair(Warp& warp, std::uint32_t first, std::uint32_t second) {
      std::byte* const both = static_cast<std::byte*>(allocate(warp, first + second));
      return {both, both != nullptr ? both + std::size_t{first} * granule : nullptr};
    }
    HEAPWOOD_INLINE void deallocate(Warp& warp, void*, std::uint32_t) { warp.sync(); }
    HEAPWOOD_INLINE bool may_shrink(std::uint32_t) const { return true; }
    HEAPWOOD_INLINE bool try_allocate(Warp& warp, std::uint32_t n, void*& block) {
      block = allocate(warp, n);
      return block != nullptr;
    }
    HEAPWOOD_INLINE bool make_room(Warp&, std::uint32_t) { return false; }
    HEAPWOOD_INLINE bool try_deallocate(Warp& warp, void*, std::uint32_t) {
      warp.sync();
      return true;
    }
    HEAPWOOD_INLINE void begin(Warp&) {}
    HEAPWOOD_INLINE void release_if_scarce(Warp&) {}
    HEAPWOOD_INLINE bool may_delay_frees() const { return true; }
    HEAPWOOD_INLINE void end(Warp&) {}

   private:
    const PrivateBump& shared_;
    std::uint64_t next_ = 0, end_ = 0;  // offsets, the same in all lanes
  };
};

}  // namespace heapwood::alloc
