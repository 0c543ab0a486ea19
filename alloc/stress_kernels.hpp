// SPDX-License-Identifier: MIT
// The kernels of StressDriver (stress_driver.hpp). No warp of them waits for another, so the grid may be larger than what is
// resident (launch_independent). An allocator may wait for threads inside of it, which have begun; with
// options.wait_when_full it waits for frees of warps that may not have begun, and then the time limit ends the launch.
//
// AllocateKernel, FreeKernel and PairKernel hold one call of malloc, one of free, and one of each: RegEff table 1 counts
// their registers. No launch bound holds those down. OwnPairKernel has one of each of an allocator's context. All other
// choices are run-time parameters of CycleKernel, so that an allocator is not compiled once for every test.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/allocator.hpp"
#include "alloc/stress.hpp"
#include "simt/atomic_ref.hpp"

namespace heapwood::alloc {

namespace stress_detail {

// Who takes part: the first `lanes` lanes of each warp, until there are `threads` threads. A thread keeps its blocks in
// blocks[thread], blocks[thread + threads], ...
struct Share {
  void** blocks;
  std::uint32_t threads;
  std::uint32_t lanes;

  template <class Warp>
  SIMT_INLINE bool takes_part(const Warp& warp, std::uint32_t& thread) const {
    thread = warp.worker() * lanes + warp.lane();
    return warp.lane() < lanes && thread < threads;
  }
};

struct KernelShape {
  struct Scratch {};
  static constexpr bool independent = true;
  static constexpr unsigned block_threads = 256, blocks_per_multiprocessor = 1;
};

// What a launch of that many threads takes by itself.
struct EmptyKernel : KernelShape {
  template <class Warp>
  SIMT_FN void operator()(Warp&, Scratch&) const {}
};

template <class A>
struct AllocateKernel : KernelShape {
  A allocator;
  Share share;
  std::size_t bytes;
  AllocateKernel(const A& a, const Share& s, std::size_t n) : allocator(a), share(s), bytes(n) {}

  template <class Warp>
  SIMT_FN void operator()(Warp& warp, Scratch&) const {
    std::uint32_t thread = 0;
    if (!share.takes_part(warp, thread)) return;
    A a = allocator;
    share.blocks[thread] = a.allocate(warp, bytes);
  }
};

template <class A>
struct FreeKernel : KernelShape {
  A allocator;
  Share share;
  FreeKernel(const A& a, const Share& s) : allocator(a), share(s) {}

  template <class Warp>
  SIMT_FN void operator()(Warp& warp, Scratch&) const {
    std::uint32_t thread = 0;
    if (!share.takes_part(warp, thread)) return;
    A a = allocator;
    a.deallocate(warp, share.blocks[thread]);
  }
};

template <class A>
struct PairKernel : KernelShape {
  A allocator;
  Share share;
  std::size_t bytes;
  PairKernel(const A& a, const Share& s, std::size_t n) : allocator(a), share(s), bytes(n) {}

  template <class Warp>
  SIMT_FN void operator()(Warp& warp, Scratch&) const {
    std::uint32_t thread = 0;
    if (!share.takes_part(warp, thread)) return;
    A a = allocator;
    void* block = a.allocate(warp, bytes);
    // The address is used, or an add could do without its result; and the host counts the failures.
    share.blocks[thread] = block;
    a.deallocate(warp, block);
  }
};

// The same by a warp's own part of the allocator (Context). Kernels with one keep their warps, and are compiled for as many of them
// as shall be resident: here 48 a multiprocessor, with 40 registers a thread.
template <class A>
struct OwnPairKernel {
  struct Scratch : WarpStateOf<A>::Type {};
  static constexpr unsigned block_threads = 64, blocks_per_multiprocessor = 24;
  A allocator;
  void** blocks;
  std::uint32_t granules;

  template <class Warp>
  SIMT_FN void operator()(Warp& warp, Scratch& scratch) const {
    typename ContextOf<A, Warp>::Type own(allocator, warp, scratch);
    void* const block = own.allocate(warp, granules);
    blocks[warp.worker()] = block;
    warp.sync();
    own.deallocate(warp, block, granules);
  }
};

// What a block contains under `touch`: in every granule the block's owner, round and the granule's number.
struct Stamp {
  std::uint64_t owner;
  std::uint64_t granules;
  struct alignas(granule) Words {
    std::uint64_t owner, index;
  };

  SIMT_INLINE void write(void* block) const {
    auto* words = static_cast<Words*>(block);
    SIMT_ROLLED
    for (std::uint64_t i = 0; i < granules; ++i) words[i] = {owner, i ^ (owner << 1)};
  }
  SIMT_INLINE bool intact(const void* block) const {
    const auto* words = static_cast<const Words*>(block);
    bool same = true;
    SIMT_ROLLED
    for (std::uint64_t i = 0; i < granules; ++i) {
      const Words seen = words[i];
      same &= seen.owner == owner && seen.index == (i ^ (owner << 1));
    }
    return same;
  }
};

// A thread's own; nobody else writes it.
struct Tally {
  std::uint32_t allocations, deallocations, failures, damaged;
};

enum Parts : std::uint32_t {
  allocates = 1,
  frees = 2,
  draws = 4,           // P: which of the two is drawn
  half = 8,            // frees with probability 1/2
  mixes = 16,          // a thread's size is drawn, up to `bytes`
  until_refused = 32,  // ends with the first refusal; blocks take the next places, whoever's they are
  vain = 64            // in a full pool: what is handed out nevertheless is forgotten
};

template <class A>
struct CycleKernel : KernelShape {
  // With 96 registers two blocks are resident, and the time is that of the waves. Nobody counts this kernel's registers.
  static constexpr unsigned blocks_per_multiprocessor = 4;
  A allocator;
  Share share;
  Tally* tallies;
  std::uint64_t* taken;  // until_refused: places
  std::uint64_t places;
  std::uint64_t stamped;  // blocks of earlier launches, which may still be in use
  std::size_t bytes;
  std::uint32_t iterations, parts, seed, launch, touch;

  // One call of malloc and one of free, or the allocator is compiled in more often than that.
  template <class Warp>
  SIMT_FN void operator()(Warp& warp, Scratch&) const {
    std::uint32_t thread = 0;
    if (!share.takes_part(warp, thread)) return;
    A a = allocator;
    Tally tally = tallies[thread];
    bool allocating = (parts & allocates) != 0, freeing = (parts & frees) != 0;
    std::size_t size = bytes;
    if ((parts & (draws | half | mixes)) != 0) {
      const std::uint32_t drawn = draw(seed, thread, launch);
      if ((parts & mixes) != 0) size = padded(mixed_bytes(drawn, bytes));
      if ((parts & half) != 0) freeing = freeing && frees_half(drawn);
      if ((parts & draws) != 0) {
        const bool holds = share.blocks[thread] != nullptr;
        allocating = drawn < chance_of_call && !holds;
        freeing = drawn < chance_of_call && holds;
      }
    }
    const auto place = [&](std::uint32_t i) { return std::size_t{i} * share.threads + thread; };
    // The owner of a block is its place, which nothing else has at the time.
    const auto stamp = [&](std::size_t at) { return Stamp{stamped + at + 1, size / granule}; };
    if (allocating) {
      SIMT_ROLLED
      for (std::uint32_t i = 0; i < iterations && !stopped(warp, i); ++i) {
        void* block = a.allocate(warp, size);
        tally.allocations += block != nullptr;
        tally.failures += block == nullptr;
        if ((parts & vain) != 0) continue;
        std::size_t at = place(i);
        if ((parts & until_refused) != 0) {
          if (block == nullptr) break;
          // relaxed: only a number. No place is left where more is handed out than there is.
          at = simt::atomic_ref<std::uint64_t>(*taken).fetch_add(1, simt::relaxed);
          if (at >= places) break;
        }
        share.blocks[at] = block;
        if (touch != 0 && block != nullptr) stamp(at).write(block);
      }
    }
    if (freeing) {
      SIMT_ROLLED
      for (std::uint32_t i = 0; i < iterations && !stopped(warp, i); ++i) {
        void* block = share.blocks[place(i)];
        if (block == nullptr) continue;
        if (touch != 0) tally.damaged += !stamp(place(i)).intact(block);
        if ((parts & (draws | half)) != 0) share.blocks[place(i)] = nullptr;
        tally.deallocations += 1;
        a.deallocate(warp, block);
      }
    }
    tallies[thread] = tally;
  }

 private:
  // The abort flag is looked at now and then: a load from memory every turn would be in the time. Each time where that is
  // nobody's figure, and where calls may take long, in a pool that is nearly full.
  template <class Warp>
  SIMT_INLINE bool stopped(Warp& warp, std::uint32_t turn) const {
    return ((turn & 15) == 15 || (parts & until_refused) != 0) && warp.aborted();
  }
};

}  // namespace stress_detail

}  // namespace heapwood::alloc
