// SPDX-License-Identifier: MIT
// Coalesced<Base>: one request to Base for the lanes of a warp that call together; the block is
// freed when the last of them has freed its part. After the "coalesced" variants of RegEff section
// 7 and XMalloc (Huang et al. 2010, 2013).
//
// Differs: works over any allocator and any subset of a warp's lanes; blocks stay aligned to 16
// bytes.
//
// Memory: 16 bytes per block and 16 per group. A shared block begins with the number of parts still
// in use. In front of each part is its distance from the start of the shared block, 0 for a part
// that has a block of its own.
//
// Limits: one part in use holds the whole group. Requests above `largest_part` bytes, and lanes
// that call alone (on the CPU all do), get blocks of their own; so does every lane if Base has no
// space for the group.
#pragma once

#include "alloc/allocator.hpp"
#include "alloc/primitives/word.hpp"
#include "simt/warp.hpp"

namespace heapwood::alloc {

template <class Base>
struct Coalesced : AdaptorTraits<Base> {
  static constexpr std::size_t largest_part = 1024;
  static constexpr unsigned part_bits = 7;  // bits of a part's size in granules, header included
  static_assert(largest_part / granule + 1 < 1u << part_bits);

  Base base;
  const std::byte* pool = nullptr;  // lanes that call with different pools do not share a block

  static Coalesced create(const Base& base, Pool pool) { return {{}, base, pool.base}; }
  template <class Device>
  static Coalesced create(Pool pool, const AllocatorOptions& options, const Device& device) {
    return create(Base::create(pool, options, device), pool);
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    const std::uint32_t lanes = thread.together(pool);
    const std::uint32_t group = thread.ballot(lanes, bytes <= largest_part);
    bool shares = bytes <= largest_part && (group & (group - 1)) != 0;
    const auto granules = static_cast<std::uint32_t>(shares ? 1 + padded(bytes) / granule : 0);
    const simt::LaneSum sum = simt::sum_over<part_bits>(thread, lanes, granules);
    // The size with its header would overflow; a lane with such a request does not share.
    if (bytes > ~std::size_t{0} - 256) return nullptr;

    // The second turn serves lanes whose group request failed. A loop, so Base is inlined once.
    HEAPWOOD_ROLLED
    for (;;) {
      std::byte* block = nullptr;
      const unsigned leader = simt::lowest_bit(group);
      const bool asks = !shares || thread.lane() == leader;
      if (asks) {
        const std::size_t wanted =
            shares ? (std::size_t{sum.total} + 1) * granule : padded(bytes) + granule;
        block = static_cast<std::byte*>(base.allocate(thread, wanted));
      }
      if (!shares) return block == nullptr ? nullptr : finish(block, 0);
      // A plain store: no other thread has the address yet, and the sync below orders the store
      // before the other lanes hand out their parts.
      if (asks && block != nullptr)
        *reinterpret_cast<std::uint32_t*>(block) = simt::popcount(group);
      block = reinterpret_cast<std::byte*>(
          thread.shfl(group, reinterpret_cast<std::uintptr_t>(block), leader));
      // The leader's acquire in Base synchronizes with the last owners of the block. This sync
      // extends it to all lanes before their first access.
      thread.sync(group);
      if (block != nullptr)
        return finish(block + (std::size_t{sum.before} + 1) * granule, sum.before + 1);
      shares = false;
    }
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* pointer) {
    if (pointer == nullptr) return;
    std::byte* block = static_cast<std::byte*>(pointer) - granule;
    const std::uint32_t back = *reinterpret_cast<const std::uint32_t*>(block);
    block -= std::size_t{back} * granule;
    bool last = back == 0;
    if (!last) {
      // Parts that are freed together are subtracted by one operation.
      const std::uint32_t lanes = thread.together(block);
      // Orders these lanes' accesses to their parts before the leader's release.
      thread.sync(lanes);
      if (thread.lane() != simt::lowest_bit(lanes)) return;
      const std::uint32_t parts = simt::popcount(lanes);
      // acq_rel: release hands the parts over; acquire synchronizes with the owners of all other
      // parts, because the last one frees them all.
      last =
          Word32(*reinterpret_cast<std::uint32_t*>(block)).fetch_sub(parts, simt::acq_rel) == parts;
    }
    if (last) base.deallocate(thread, block);
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    base.walk(host, visit);
  }

 private:
  HEAPWOOD_INLINE static void* finish(std::byte* part, std::uint32_t back) {
    *as<std::uint32_t>(part) = back;
    return part + granule;
  }
};

}  // namespace heapwood::alloc
