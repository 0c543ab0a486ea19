// SPDX-License-Identifier: MIT
// The head of a checked block and the tables of a checked heap. Both are in device memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alloc/allocator.hpp"
#include "heapwood/check_guards.hpp"
#include "heapwood/check_records.hpp"
#include "simt/atomic_ref.hpp"
#include "simt/config.hpp"

namespace heapwood::detail {

struct alignas(alloc::granule) CheckHead {
  std::uint64_t bytes;
  std::uint64_t distance;  // bytes from the start of the allocator's block to the user's
  Caller allocated;
  std::uint32_t is_aligned;
  std::uint32_t checksum;                           // of the members before it
  alignas(alloc::granule) std::uint64_t canary[2];  // guard bytes

  // The sum that the head of the block at `block` should have. It depends on the address, so a
  // copy of another head does not count as intact. Each step is invertible, so a change of one word
  // changes the 64-bit sum.
  SIMT_FN std::uint32_t sum(std::uint64_t block) const {
    constexpr std::uint64_t factor = 0x9e3779b97f4a7c15u;  // odd
    std::uint64_t sum = (block ^ is_aligned) * factor;
    const void* const words = __builtin_assume_aligned(this, alloc::granule);
    SIMT_ROLLED
    for (std::size_t i = 0; i < offsetof(CheckHead, is_aligned); i += sizeof(std::uint64_t)) {
      std::uint64_t word;
      std::memcpy(&word, static_cast<const std::byte*>(words) + i, sizeof(word));
      sum = (sum ^ (sum >> 32) ^ word) * factor;
    }
    return static_cast<std::uint32_t>(sum >> 32);
  }
};
static_assert(sizeof(CheckHead) == 128, "a message says so");
static_assert(offsetof(CheckHead, is_aligned) % sizeof(std::uint64_t) == 0);
static_assert(offsetof(CheckHead, checksum) + sizeof(std::uint32_t) == offsetof(CheckHead, canary),
              "the checksum covers every byte before it");

// The sizes of a block, from an intact head.
struct BlockSizes {
  std::size_t bytes = 0, distance = 0;
};

// In device memory.
struct CheckTables {
  static constexpr std::uint32_t max_records = 64;

  std::byte* pool = nullptr;
  std::size_t pool_bytes = 0;
  std::uint32_t* in_use = nullptr;  // bitmaps: one bit per granule of the pool
  std::uint32_t* freed = nullptr;
  std::uint64_t* ring = nullptr;  // addresses of freed blocks; 0 = none
  std::uint32_t ring_mask = 0;
  std::uint64_t* ring_next = nullptr;
  std::uint64_t* record_count = nullptr;  // errors, also those that were not kept
  std::uint64_t* bytes_in_use = nullptr;  // written by CountInUse
  CheckRecord* records = nullptr;

  // Of a bitmap. A pool is a multiple of 256 bytes, so the last word may be half used.
  SIMT_INLINE std::size_t words() const { return (pool_bytes / alloc::granule + 31) / 32; }
  // The bit of the granule at `address`, which is in the pool.
  SIMT_INLINE simt::atomic_ref<std::uint32_t> word(std::uint32_t* map,
                                                   std::uint64_t address) const {
    return simt::atomic_ref<std::uint32_t>(map[granule_of(address) / 32]);
  }
  static SIMT_INLINE std::uint32_t bit_of(std::size_t granule) { return 1u << (granule % 32); }
  SIMT_INLINE std::size_t granule_of(std::uint64_t address) const {
    return offset_of(address) / alloc::granule;
  }
  SIMT_INLINE std::uint64_t address_of(std::size_t granule) const {
    return reinterpret_cast<std::uint64_t>(pool) + granule * alloc::granule;
  }
  // Of an address in the pool.
  SIMT_INLINE std::size_t offset_of(std::uint64_t address) const {
    return address - reinterpret_cast<std::uint64_t>(pool);
  }

  // Reads the head of the block at `block`, an address that a bitmap or the ring has. False if the
  // head was overwritten. The sizes are read once and compared with the pool: they stay inside it
  // even if a thread writes to the head at the same time.
  SIMT_INLINE bool read_head(const CheckHead& head, std::uint64_t block, BlockSizes& sizes) const {
    sizes = {head.bytes, head.distance};
    const std::size_t before = offset_of(block), after = pool_bytes - before;
    return sizes.bytes < after && sizes.bytes + guard_bytes(sizes.bytes) <= after &&
           sizes.distance <= before && head.checksum == head.sum(block);
  }
};

}  // namespace heapwood::detail
