// SPDX-License-Identifier: MIT
// Runs a StressJob with allocator A on a Device: the host code around the kernels. Included by engine/instance.hpp and by
// tests that bring their own devices.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "alloc/adaptors/coalesced.hpp"
#include "alloc/exercise_run.hpp"
#include "alloc/stress.hpp"
#include "alloc/stress_kernels.hpp"
#include "simt/launch.hpp"

namespace heapwood::alloc {

// Calls f.template operator()<A>() or f.template operator()<Coalesced<A>>().
template <class A, class F>
auto with_variant(bool coalesced, F f) {
  if (coalesced) return f.template operator()<Coalesced<A>>();
  return f.template operator()<A>();
}
// The same with A or A::WithBuiltin, where A has one. A type of its own, so that kernels without it do not load the
// device heap, whose size is fixed from then on.
template <class A, class F>
auto with_variant(bool coalesced, LargeBackend large, F f) {
  if constexpr (requires { typename A::WithBuiltin; }) {
    if (large == LargeBackend::builtin) return with_variant<typename A::WithBuiltin>(coalesced, f);
  }
  return with_variant<A>(coalesced, f);
}

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
    if (!A::traits.in_pool) return state;  // a walk, if there is one, does not see all blocks
    if (!live.empty()) state.address_bytes = live.back().offset + bytes_;
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
  return with_variant<A>(job.coalesced, job.options.large_backend,
                         [&]<class Variant>() { return StressRun<Variant, Device>(device, job).run(); });
}

}  // namespace heapwood::alloc
