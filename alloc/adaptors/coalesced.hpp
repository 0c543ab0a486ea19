// SPDX-License-Identifier: MIT
// Coalesced<Base>: one request of Base for the lanes of a warp that call together, given back when the last of them has
// freed its part. After the "coalesced" variants of RegEff section 7 and XMalloc (Huang et al. 2010, 2013).
// Differs: works over any allocator and any subset of a warp's lanes, because simt's together() names the lanes instead
// of the warp being taken to be in step; blocks stay aligned to 16 bytes.
// Memory: 16 bytes a block, and 16 a group. A block that is shared begins with the number of parts still in use; in front
// of each part stands how far behind that it lies, 0 for one that has a block of its own.
// Limits: one part that is in use holds the whole group. Requests above `largest_part` bytes, and lanes that call alone
// (on the CPU all do), get blocks of their own; so does every lane when Base has no room for the group.
#pragma once

#include "alloc/allocator.hpp"
#include "simt/atomic_ref.hpp"
#include "simt/warp.hpp"

namespace heapwood::alloc {

template <class Base>
struct Coalesced {
  static constexpr AllocatorTraits traits = Base::traits;
  static constexpr std::size_t largest_part = 1024;
  static constexpr unsigned part_bits = 7;  // of a part's granules, its header included
  static_assert(largest_part / granule + 1 < 1u << part_bits);

  Base base;

  static Coalesced create(const Base& base) { return {base}; }
  template <class Device>
  static Coalesced create(Pool pool, const AllocatorOptions& options, const Device& device) {
    return {Base::create(pool, options, device)};
  }

  template <class Thread>
  SIMT_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    const std::uint32_t lanes = thread.together();
    const std::uint32_t group = thread.ballot(lanes, bytes <= largest_part);
    bool shares = bytes <= largest_part && (group & (group - 1)) != 0;
    const auto granules = static_cast<std::uint32_t>(shares ? 1 + padded(bytes) / granule : 0);
    const simt::LaneSum sum = simt::sum_over<part_bits>(thread, lanes, granules);
    if (bytes > ~std::size_t{0} - 256) return nullptr;  // no room for the header; such a lane does not share

    // A second turn for lanes whose group found no room: a loop, so that Base is compiled in once.
    SIMT_ROLLED
    for (;;) {
      std::byte* block = nullptr;
      const unsigned leader = simt::lowest_bit(group);
      const bool asks = !shares || thread.lane() == leader;
      if (asks) {
        const std::size_t wanted = shares ? (std::size_t{sum.total} + 1) * granule : padded(bytes) + granule;
        block = static_cast<std::byte*>(base.allocate(thread, wanted));
      }
      if (!shares) return block == nullptr ? nullptr : finish(block, 0);
      // Plain: nobody has the address yet; the sync below brings it in front of the other lanes' publishing of theirs.
      if (asks && block != nullptr) *reinterpret_cast<std::uint32_t*>(block) = simt::popcount(group);
      block = reinterpret_cast<std::byte*>(thread.shfl(group, reinterpret_cast<std::uintptr_t>(block), leader));
      // The leader's acquire in Base waits for the last owners; this passes it on, before the first access.
      thread.sync(group);
      if (block != nullptr) return finish(block + (std::size_t{sum.before} + 1) * granule, sum.before + 1);
      shares = false;
    }
  }

  template <class Thread>
  SIMT_INLINE void deallocate(Thread& thread, void* pointer) {
    if (pointer == nullptr) return;
    std::byte* block = static_cast<std::byte*>(pointer) - granule;
    const std::uint32_t back = *reinterpret_cast<const std::uint32_t*>(block);
    block -= std::size_t{back} * granule;
    bool last = back == 0;
    if (!last) {
      // Parts that are freed together leave by one operation.
      const std::uint32_t lanes = thread.together(block);
      thread.sync(lanes);  // what these lanes did with their parts comes before the leader's release
      if (thread.lane() != simt::lowest_bit(lanes)) return;
      const std::uint32_t parts = simt::popcount(lanes);
      // acq_rel: release hands the parts over, acquire waits for the others that were, as the last one frees them all.
      last =
          simt::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(block)).fetch_sub(parts, simt::acq_rel) ==
          parts;
    }
    if (last) base.deallocate(thread, block);
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    base.walk(host, visit);
  }

 private:
  SIMT_INLINE static void* finish(std::byte* part, std::uint32_t back) {
    *reinterpret_cast<std::uint32_t*>(part) = back;
    return part + granule;
  }
};

}  // namespace heapwood::alloc
