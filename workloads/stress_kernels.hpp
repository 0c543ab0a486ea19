// SPDX-License-Identifier: MIT
// The kernels of StressDriver (stress_driver.hpp). None of their warps waits for another one, so
// the grid may be larger than the resident warps (launch_independent). With options.wait_when_full
// an allocator waits for frees of warps that may not have started; then the time limit ends the
// launch.
//
// AllocateKernel, FreeKernel and PairKernel contain one call of malloc, one of free, and one of
// each: RegEff table 1 counts their registers, which no launch bound limits. OwnPairKernel has one
// of each of an allocator's context. All other choices are run-time parameters of CycleKernel, so
// that an allocator is not compiled once per test.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/allocator.hpp"
#include "simt/atomic_ref.hpp"
#include "workloads/stress.hpp"
#include "workloads/thread_kernels.hpp"

namespace heapwood::workloads::stress_detail {

// The threads that take part: the first `lanes` lanes of each warp, up to `threads` threads. A
// thread keeps its blocks in blocks[thread], blocks[thread + threads], ...
struct Share {
  void** blocks;
  std::uint32_t threads;
  std::uint32_t lanes;

  template <class Warp>
  HEAPWOOD_INLINE bool takes_part(const Warp& warp, std::uint32_t& thread) const {
    thread = warp.worker() * lanes + warp.lane();
    return warp.lane() < lanes && thread < threads;
  }
};

using KernelShape = ThreadKernel<1>;

// Does nothing: launched with as many threads as another kernel, it takes the time of a launch.
struct EmptyKernel : KernelShape {
  template <class Warp>
  HEAPWOOD_FN void operator()(Warp&, Scratch&) const {}
};

template <class A>
struct AllocateKernel : KernelShape {
  A allocator;
  Share share;
  std::size_t bytes;
  AllocateKernel(const A& a, const Share& s, std::size_t n) : allocator(a), share(s), bytes(n) {}

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
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
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
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
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    std::uint32_t thread = 0;
    if (!share.takes_part(warp, thread)) return;
    A a = allocator;
    void* block = a.allocate(warp, bytes);
    // Stored so that the allocator needs its add's result, and the host can count failures.
    share.blocks[thread] = block;
    a.deallocate(warp, block);
  }
};

// Allocates and frees through the allocator's per-warp context (Context). Kernels with a context
// have persistent warps and are compiled for the number of resident warps: here 48 per
// multiprocessor, with 40 registers per thread.
template <class A>
struct OwnPairKernel {
  struct Scratch : alloc::WarpStateOf<A>::Type {};
  static constexpr unsigned block_threads = 64, blocks_per_multiprocessor = 24;
  A allocator;
  void** blocks;
  std::uint32_t granules;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch& scratch) const {
    typename alloc::ContextOf<A, Warp>::Type own(allocator, warp, scratch);
    void* const block = own.allocate(warp, granules);
    blocks[warp.worker()] = block;
    warp.sync();
    own.deallocate(warp, block, granules);
  }
};

// What a test with `touch`, which writes and verifies its blocks, stores in each granule of a
// block: the owner's number, and the granule's index combined with it.
struct BlockPattern {
  std::uint64_t owner;
  std::uint64_t granules;
  struct alignas(alloc::granule) Words {
    std::uint64_t owner, index;
  };

  HEAPWOOD_INLINE void write(void* block) const {
    auto* words = static_cast<Words*>(block);
    HEAPWOOD_ROLLED
    for (std::uint64_t i = 0; i < granules; ++i) words[i] = {owner, i ^ (owner << 1)};
  }
  HEAPWOOD_INLINE bool intact(const void* block) const {
    const auto* words = static_cast<const Words*>(block);
    bool same = true;
    HEAPWOOD_ROLLED
    for (std::uint64_t i = 0; i < granules; ++i) {
      const Words seen = words[i];
      same &= seen.owner == owner && seen.index == (i ^ (owner << 1));
    }
    return same;
  }
};

// Counts of one thread, which no other thread writes.
struct Tally {
  std::uint32_t allocations, deallocations, failures, damaged;
};

enum Parts : std::uint32_t {
  allocates = 1,
  frees = 2,
  draws = 4,   // P: a random number decides whether the thread makes its call
  half = 8,    // frees with probability 1/2
  mixes = 16,  // a thread's size is random, up to `bytes`
  // Each thread ends at its first refusal. A block is stored in the next unused entry, whichever
  // thread has allocated it.
  until_refused = 32,
  refusals_only = 64,  // in a full pool: if a block is allocated nevertheless, it is leaked
  clears = 128         // sets the entry of a block that it frees to nullptr
};

template <class A>
struct CycleKernel : KernelShape {
  // Without this launch bound the kernel has 96 registers and two resident blocks, and the number
  // of waves would dominate the time.
  static constexpr unsigned blocks_per_multiprocessor = 4;
  A allocator;
  Share share;
  Tally* tallies;
  std::uint64_t* taken;  // until_refused: number of entries of share.blocks in use
  std::uint64_t entries;
  // Added to the owner's number, because blocks of earlier launches may still be in use: the number
  // of owners that these had.
  std::uint64_t earlier_owners;
  std::size_t bytes;
  std::uint32_t iterations, parts, seed, chance, launch, touch;

  // Contains one call of malloc and one of free, so that the allocator is inlined only once.
  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    std::uint32_t thread = 0;
    if (!share.takes_part(warp, thread)) return;
    A a = allocator;
    Tally tally = tallies[thread];
    bool allocating = (parts & allocates) != 0, freeing = (parts & frees) != 0;
    std::size_t size = bytes;
    if ((parts & (draws | half | mixes)) != 0) {
      const std::uint32_t drawn = draw(seed, thread, launch);
      if ((parts & mixes) != 0) size = alloc::padded(mixed_bytes(drawn, bytes));
      if ((parts & half) != 0) freeing = freeing && frees_half(drawn);
      if ((parts & draws) != 0) {
        const bool holds = share.blocks[thread] != nullptr;
        allocating = drawn < chance && !holds;
        freeing = drawn < chance && holds;
      }
    }
    const auto entry_of = [&](std::uint32_t i) { return std::size_t{i} * share.threads + thread; };
    // The owner of a block is the number of its entry, which is unique at that time.
    const auto pattern = [&](std::size_t entry) {
      return BlockPattern{earlier_owners + entry + 1, size / alloc::granule};
    };
    if (allocating) {
      HEAPWOOD_ROLLED
      for (std::uint32_t i = 0; i < iterations && !stopped(warp, i); ++i) {
        void* block = a.allocate(warp, size);
        tally.allocations += block != nullptr;
        tally.failures += block == nullptr;
        if ((parts & refusals_only) != 0) continue;
        std::size_t entry = entry_of(i);
        if ((parts & until_refused) != 0) {
          if (block == nullptr) break;
          // relaxed: the count orders nothing. There are enough entries, unless the allocator
          // serves more blocks than the pool can hold.
          entry = simt::atomic_ref<std::uint64_t>(*taken).fetch_add(1, simt::relaxed);
          if (entry >= entries) break;
        }
        share.blocks[entry] = block;
        if (touch != 0 && block != nullptr) pattern(entry).write(block);
      }
    }
    if (freeing) {
      HEAPWOOD_ROLLED
      for (std::uint32_t i = 0; i < iterations && !stopped(warp, i); ++i) {
        void* block = share.blocks[entry_of(i)];
        if (block == nullptr) continue;
        if (touch != 0) tally.damaged += !pattern(entry_of(i)).intact(block);
        if ((parts & (draws | half | clears)) != 0) share.blocks[entry_of(i)] = nullptr;
        tally.deallocations += 1;
        a.deallocate(warp, block);
      }
    }
    tallies[thread] = tally;
  }

 private:
  // The abort flag is read every 16th turn, because a load every turn would add to the time. With
  // until_refused it is read every turn: in a nearly full pool calls may take long.
  template <class Warp>
  HEAPWOOD_INLINE bool stopped(Warp& warp, std::uint32_t turn) const {
    return ((turn & 15) == 15 || (parts & until_refused) != 0) && warp.aborted();
  }
};

}  // namespace heapwood::workloads::stress_detail
