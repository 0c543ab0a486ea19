// SPDX-License-Identifier: MIT
// Runs a StressJob with allocator A on a Device: the kernels, and the host code around them. Included by
// engine/instance.hpp and by tests that bring their own devices.
//
// No warp of these kernels waits for another, so the grid may be larger than what is resident (launch_independent). An
// allocator may wait for threads inside of it, which have begun. With options.wait_when_full it waits for frees of warps
// that may not have begun; then only the time limit ends the launch.
//
// AllocateKernel, FreeKernel and PairKernel hold one call of malloc, one of free, and one of each: RegEff table 1 counts
// their registers. No launch bound holds those down. All other choices are run-time parameters of CycleKernel, so that an
// allocator is compiled four times and not once for every test.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "alloc/exercise_run.hpp"
#include "alloc/stress.hpp"
#include "simt/launch.hpp"

namespace heapwood::alloc {

// Calls f.template operator()<A>() or, once alloc/adaptors/coalesced.hpp is there, f.template operator()<Coalesced<A>>(),
// an Allocator like any other (create() with pool, options and device). This is the only place to edit for it, with
// coalescing_adaptor in stress.hpp.
template <class A, class F>
auto with_variant(bool coalesced, F f) {
  if (coalesced) throw Error(Exit::usage, "coalesced: there is no coalescing adaptor in this program");
  return f.template operator()<A>();
}

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
  static constexpr unsigned block_threads = 256, blocks_per_multiprocessor = 1;
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

enum Parts : std::uint32_t { allocates = 1, frees = 2, draws = 4 };

template <class A>
struct CycleKernel : KernelShape {
  A allocator;
  Share share;
  Tally* tallies;
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
    if ((parts & draws) != 0) {
      const bool calls = draw(seed, thread, launch) < chance_of_call;
      const bool holds = share.blocks[thread] != nullptr;
      allocating = calls && !holds;
      freeing = calls && holds;
    }
    const auto place = [&](std::uint32_t i) { return std::size_t{i} * share.threads + thread; };
    // The owner of a block is its place, which nothing else has at the time.
    const auto stamp = [&](std::uint32_t i) { return Stamp{place(i) + 1, bytes / granule}; };
    if (allocating) {
      SIMT_ROLLED
      for (std::uint32_t i = 0; i < iterations && !stopped(warp, i); ++i) {
        void* block = a.allocate(warp, bytes);
        share.blocks[place(i)] = block;
        tally.allocations += block != nullptr;
        tally.failures += block == nullptr;
        if (touch != 0 && block != nullptr) stamp(i).write(block);
      }
    }
    if (freeing) {
      SIMT_ROLLED
      for (std::uint32_t i = 0; i < iterations && !stopped(warp, i); ++i) {
        void* block = share.blocks[place(i)];
        if (block == nullptr) continue;
        if (touch != 0) tally.damaged += !stamp(i).intact(block);
        if ((parts & draws) != 0) share.blocks[place(i)] = nullptr;
        tally.deallocations += 1;
        a.deallocate(warp, block);
      }
    }
    tallies[thread] = tally;
  }

 private:
  // The abort flag is looked at now and then: a load from memory every turn would be in the time.
  template <class Warp>
  SIMT_INLINE static bool stopped(Warp& warp, std::uint32_t turn) {
    return (turn & 15) == 15 && warp.aborted();
  }
};

}  // namespace stress_detail

template <class A, class Device>
class StressRun {
 public:
  StressRun(const Device& device, const StressJob& job)
      : device_(device), job_(job), bytes_(padded(job.payload)), lanes_(std::min(job.lanes, Device::Warp::width)) {
    // P holds one block a thread at a time, and launches instead of turns.
    turns_ = job.test == StressTest::cycle ? job.iterations : 1;
    blocks_ = simt::Buffer<void*>(job.device, std::size_t{job.threads} * turns_);
    tallies_ = simt::Buffer<stress_detail::Tally>(job.device, job.threads);
  }

  StressResult run() {
    reset(!job_.inspect && job_.test != StressTest::each);
    if (job_.inspect) {
      inspect();
    } else if (job_.test == StressTest::probability) {
      for (unsigned launch = 0; launch < job_.iterations; ++launch) result_.ms += cycle(stress_detail::draws, launch);
      add_tallies();
      give_back();
    } else if (job_.test == StressTest::cycle) {
      result_.ms = cycle(stress_detail::allocates | stress_detail::frees);
      add_tallies();
    } else if (job_.touch) {
      run_touched();
    } else {
      run_plain();
    }
    return result_;
  }

 private:
  stress_detail::Share share() const { return {blocks_.data(), job_.threads, lanes_}; }

  // `frees`: a kernel to come does. No thread waits for memory that nobody gives back.
  void reset(bool frees) {
    AllocatorOptions options = job_.options;
    options.wait_when_full &= frees;
    const auto start = std::chrono::steady_clock::now();
    allocator_ = A::create(job_.pool, options, device_);
    result_.reset_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    blocks_.fill(0);
    tallies_.fill(0);
  }

  template <class Kernel>
  double launch(const Kernel& kernel) {
    return device_.launch_independent(kernel, (job_.threads + lanes_ - 1) / lanes_,
                                      {.seconds = job_.seconds, .what = A::traits.id});
  }

  double cycle(std::uint32_t parts, std::uint32_t number = 0) {
    stress_detail::CycleKernel<A> kernel{};
    kernel.allocator = allocator_;
    kernel.share = share();
    kernel.tallies = tallies_.data();
    kernel.bytes = bytes_;
    kernel.iterations = turns_;
    kernel.parts = parts;
    kernel.seed = job_.seed;
    kernel.launch = number;
    kernel.touch = job_.touch;
    return launch(kernel);
  }

  // AD and each: kernels with one call.
  void run_plain() {
    if (job_.test == StressTest::alloc_dealloc) {
      result_.ms = launch(stress_detail::PairKernel<A>(allocator_, share(), bytes_));
      result_.counts = counts_of(blocks_.download());
      reset(false);
    }
    result_.allocate_ms = launch(stress_detail::AllocateKernel<A>(allocator_, share(), bytes_));
    const StressCounts split = counts_of(blocks_.download());
    result_.free_ms = launch(stress_detail::FreeKernel<A>(allocator_, share()));
    finish_split(split);
  }

  // The same with contents.
  void run_touched() {
    using namespace stress_detail;
    if (job_.test == StressTest::alloc_dealloc) {
      result_.ms = cycle(allocates | frees);
      add_tallies();
      reset(false);
    }
    result_.allocate_ms = cycle(allocates);
    result_.free_ms = cycle(frees);
    const StressCounts before = result_.counts;
    result_.counts = {};
    add_tallies();
    const StressCounts split = result_.counts;
    result_.counts = before;
    finish_split(split);
  }

  void finish_split(const StressCounts& split) {
    if (job_.test == StressTest::each) {
      result_.ms = result_.allocate_ms + result_.free_ms;
      result_.counts = split;
    } else {
      result_.split_failures = split.failures;
    }
  }

  static StressCounts counts_of(const std::vector<void*>& blocks) {
    StressCounts counts;
    for (const void* block : blocks) ++(block != nullptr ? counts.allocations : counts.failures);
    counts.deallocations = counts.allocations;  // deallocate(nullptr) is none
    return counts;
  }

  void add_tallies() {
    for (const stress_detail::Tally& tally : tallies_.download()) {
      result_.counts.allocations += tally.allocations;
      result_.counts.deallocations += tally.deallocations;
      result_.counts.failures += tally.failures;
      result_.damaged += tally.damaged;
    }
  }

  void inspect() {
    using namespace stress_detail;
    if (job_.test == StressTest::probability) {
      for (unsigned launch = 0; launch < job_.iterations; ++launch) {
        cycle(draws, launch);
        const std::vector<LiveBlock> live = live_blocks();
        result_.overlaps += count_overlaps(live);
        if (!result_.peak || live.size() > result_.peak->blocks) result_.peak = state(live);
        if (launch + 1 == job_.iterations) result_.end = state(live);
      }
    } else {
      cycle(allocates);
      const std::vector<LiveBlock> live = live_blocks();
      result_.overlaps = count_overlaps(live);
      result_.peak = state(live);
      cycle(frees);
      result_.end = state({});
    }
    add_tallies();
    give_back();
  }

  // P ends with blocks in use. A heap elsewhere cannot be reset, and would be fuller in each run.
  void give_back() {
    if (!A::traits.in_pool && job_.test == StressTest::probability) cycle(stress_detail::frees);
  }

  std::vector<LiveBlock> live_blocks() const {
    std::vector<LiveBlock> live;
    const auto base = reinterpret_cast<std::uintptr_t>(A::traits.in_pool ? job_.pool.base : nullptr);
    for (const void* block : blocks_.download()) {
      if (block != nullptr) live.push_back({reinterpret_cast<std::uintptr_t>(block) - base, job_.payload});
    }
    std::sort(live.begin(), live.end(), [](const LiveBlock& a, const LiveBlock& b) { return a.offset < b.offset; });
    return live;
  }

  PoolState state(const std::vector<LiveBlock>& live) const {
    PoolState state;
    state.blocks = live.size();
    state.live_bytes = live.size() * job_.payload;
    if (A::traits.in_pool && !live.empty()) state.address_bytes = live.back().offset + bytes_;
    state.fragmentation = fragmentation_of_blocks(regions_of(allocator_, job_.device), live);
    return state;
  }

  const Device& device_;
  const StressJob& job_;
  std::size_t bytes_;
  unsigned lanes_;
  std::uint32_t turns_ = 1;
  A allocator_{};
  simt::Buffer<void*> blocks_;
  simt::Buffer<stress_detail::Tally> tallies_;
  StressResult result_;
};

template <class A, class Device>
StressResult stress(const Device& device, const StressJob& job) {
  return with_variant<A>(job.coalesced, [&]<class Variant>() { return StressRun<Variant, Device>(device, job).run(); });
}

}  // namespace heapwood::alloc
