// SPDX-License-Identifier: MIT
// The kernel that replays a launch of a ReplayPlan with allocator A. A warp replays one or more
// recorded warps: it executes the groups of each until one has to wait, and then goes to the next,
// so a recorded warp may wait for any other, whatever the number of resident warps.
#pragma once

#include <cstdint>

#include "alloc/allocator.hpp"
#include "simt/atomic_ref.hpp"
#include "workloads/program_trace/replay_data.hpp"

namespace heapwood::workloads {

template <class A>
struct ReplayKernel {
  struct Scratch {};
  // 32 warps per multiprocessor, as many as most programs have. It leaves 64 registers per thread.
  static constexpr unsigned block_threads = 256, blocks_per_multiprocessor = 4;

  A allocator;
  // Of ReplayData; from the launch's first warp or step on.
  const std::uint64_t* bytes;
  const std::uint32_t* requests;
  const ReplayGroup* groups;
  const std::uint32_t* begins;
  std::uint32_t* progress;
  std::uint32_t* step_warps;
  std::uint32_t* steps_ended;
  std::uint64_t* blocks;
  std::uint64_t* damaged;
  std::uint32_t warps;
  bool calls, stamps;
  bool marks_frees;  // sets `blocks` to ReplayBlock::freed

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    A a = allocator;
    unsigned idle = 0;
    bool is_pending = true;
    while (is_pending) {
      bool has_moved = false;
      is_pending = false;
      HEAPWOOD_ROLLED
      for (std::uint32_t w = warp.worker(); w < warps; w += warp.workers()) {
        const std::uint32_t first = begins[w], count = begins[w + 1] - first, before = progress[w];
        std::uint32_t done = before;
        HEAPWOOD_ROLLED
        while (done < count && execute(warp, a, groups[first + done])) {
          ++done;
          if ((done & 63) == 0 && warp.any(warp.aborted())) return;
        }
        warp.sync();  // every lane has read it
        if (warp.lane() == 0) progress[w] = done;
        warp.sync();
        has_moved |= done != before;
        is_pending |= done < count;
      }
      idle = has_moved ? 0 : idle + 1;
      if ((idle & 63) == 63 && warp.any(warp.aborted())) return;
      if (idle != 0) warp.pause(idle);
    }
  }

 private:
  // Returns false, without any effect, if the group has to wait. One call of malloc and one of
  // free, so that the allocator is compiled in only once.
  template <class Warp>
  HEAPWOOD_INLINE bool execute(Warp& warp, A& a, const ReplayGroup& group) const {
    if (group.kind == ReplayGroup::Kind::enter)
      return warp.any(warp.lane() == 0 && may_enter(group.first));
    if (group.kind == ReplayGroup::Kind::leave) {
      warp.sync();  // all lanes have executed their events
      // relaxed: only a number; blocks are handed over by `blocks`.
      if (warp.lane() == 0)
        simt::atomic_ref<std::uint32_t>(step_warps[group.first]).fetch_sub(1, simt::relaxed);
    } else if (group.kind == ReplayGroup::Kind::allocate) {
      HEAPWOOD_ROLLED
      for (std::uint32_t i = warp.lane(); i < group.size; i += Warp::width) {
        const std::uint32_t event = requests[group.first + i],
                            request = event & ~ReplayPlan::is_handed_over;
        const std::uint64_t size = bytes[request];
        void* const block = calls ? a.allocate(warp, static_cast<std::size_t>(size)) : nullptr;
        if (stamps && block != nullptr) stamp(block, size, request);
        const std::uint64_t address =
            block == nullptr ? ReplayBlock::refused
                             : static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(block));
        const simt::atomic_ref<std::uint64_t> place(blocks[request]);
        // release: the warp that frees the block sees its contents. relaxed: it is this one, or
        // belongs to a later launch.
        if ((event & ReplayPlan::is_handed_over) != 0)
          place.store(address, simt::release);
        else
          place.store(address, simt::relaxed);
      }
    } else {
      bool waits = false;
      HEAPWOOD_ROLLED
      for (std::uint32_t i = warp.lane(); i < group.size; i += Warp::width) {
        // relaxed: acquired below, once and not in every turn of a wait.
        const std::uint32_t request = requests[group.first + i] & ~ReplayPlan::is_handed_over;
        waits |= simt::atomic_ref<std::uint64_t>(blocks[request]).load(simt::relaxed) ==
                 ReplayBlock::unserved;
      }
      if (warp.any(waits)) return false;
      HEAPWOOD_ROLLED
      for (std::uint32_t i = warp.lane(); i < group.size; i += Warp::width) {
        const std::uint32_t event = requests[group.first + i],
                            request = event & ~ReplayPlan::is_handed_over;
        const simt::atomic_ref<std::uint64_t> place(blocks[request]);
        // acquire, relaxed: as above.
        const std::uint64_t address = (event & ReplayPlan::is_handed_over) != 0
                                          ? place.load(simt::acquire)
                                          : place.load(simt::relaxed);
        if (address == ReplayBlock::refused) continue;
        void* const block = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
        if (stamps && !is_intact(block, bytes[request], request))
          simt::atomic_ref<std::uint64_t>(*damaged).fetch_add(1, simt::relaxed);
        a.deallocate(warp, block);
        // relaxed: read after the launch.
        if (marks_frees) place.store(ReplayBlock::freed, simt::relaxed);
      }
    }
    warp.sync();
    return true;
  }

  // Whether all steps before the previous one have ended. The warps that wait count them.
  HEAPWOOD_INLINE bool may_enter(std::uint32_t step) const {
    const simt::atomic_ref<std::uint32_t> ended(*steps_ended);
    // relaxed: only numbers.
    std::uint32_t count = ended.load(simt::relaxed);
    if (count + 1 >= step) return true;
    if (simt::atomic_ref<std::uint32_t>(step_warps[count]).load(simt::relaxed) == 0)
      ended.compare_exchange_strong(count, count + 1, simt::relaxed, simt::relaxed);
    return false;
  }

  static constexpr unsigned word_bytes = 4;
  HEAPWOOD_INLINE static std::uint32_t word_of(std::uint32_t request) {
    return request * 2654435761u;
  }
  HEAPWOOD_INLINE static void stamp(void* block, std::uint64_t size, std::uint32_t request) {
    if (size < word_bytes) return;
    auto* const words = static_cast<std::uint32_t*>(block);
    words[0] = words[size / word_bytes - 1] = word_of(request);
  }
  HEAPWOOD_INLINE static bool is_intact(const void* block, std::uint64_t size,
                                        std::uint32_t request) {
    if (size < word_bytes) return true;
    const auto* const words = static_cast<const std::uint32_t*>(block);
    return words[0] == word_of(request) && words[size / word_bytes - 1] == word_of(request);
  }
};

// Frees the blocks that are in use after a replay.
template <class A>
struct ReplayReleaseKernel {
  struct Scratch {};
  static constexpr unsigned block_threads = 256, blocks_per_multiprocessor = 4;

  A allocator;
  std::uint64_t* blocks;
  std::uint64_t requests;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    A a = allocator;
    const std::uint64_t stride = std::uint64_t{warp.workers()} * Warp::width;
    HEAPWOOD_ROLLED
    for (std::uint64_t r = std::uint64_t{warp.worker()} * Warp::width + warp.lane(); r < requests;
         r += stride) {
      if (!ReplayBlock::is_address(blocks[r])) continue;
      a.deallocate(warp, reinterpret_cast<void*>(static_cast<std::uintptr_t>(blocks[r])));
      blocks[r] = ReplayBlock::freed;
    }
  }
};

}  // namespace heapwood::workloads
