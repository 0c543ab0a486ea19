// SPDX-License-Identifier: MIT
// The host code shared by the generic tests: creates an allocator over the pool, keeps the threads'
// blocks, and launches the four kernels. The tests are StressRun (stress_run.hpp) and StressSpace
// (stress_space.hpp).
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "alloc/statistics.hpp"
#include "simt/clock.hpp"
#include "simt/error.hpp"
#include "simt/launch.hpp"
#include "workloads/stress.hpp"
#include "workloads/stress_kernels.hpp"

namespace heapwood::workloads {

template <class A, class Device>
class StressDriver {
 protected:
  // Each thread may hold `turns` blocks.
  StressDriver(const Device& device, const StressJob& job, std::uint32_t turns)
      : device_(device),
        job_(job),
        bytes_(alloc::padded(job.payload)),
        lanes_(std::min(job.lanes, Device::Warp::width)),
        turns_(turns),
        blocks_(job.device, std::size_t{job.threads} * turns),
        tallies_(job.device, job.threads),
        taken_(job.device, 1) {}

  // Creates the allocator. `frees`: whether a later kernel frees. Otherwise no thread waits for
  // memory, because none would be freed.
  void reset(bool frees) {
    alloc::AllocatorOptions options = job_.options;
    options.wait_when_full &= frees;
    options.request_bytes = bytes_;
    release_.reset();
    result_.reset_ms =
        simt::measure_ms([&] { allocator_ = A::create(job_.pool, options, device_); });
    release_.emplace(job_.pool, device_);
    blocks_.fill(0);
    tallies_.fill(0);
    taken_.fill(0);
  }

  // Launch the kernels that make a single call. All return milliseconds.
  double allocate() {
    return launch(stress_detail::AllocateKernel<A>(allocator_, share(), bytes_));
  }
  double free() { return launch(stress_detail::FreeKernel<A>(allocator_, share()), free_limit()); }
  double allocate_and_free() {
    return launch(stress_detail::PairKernel<A>(allocator_, share(), bytes_));
  }

  double run_empty_kernel() { return launch(stress_detail::EmptyKernel()); }

  // Launches the kernel for all other cases. `parts`: bits of stress_detail::Parts. `number`: the
  // launch's number, for its random numbers.
  double cycle(std::uint32_t parts, std::uint32_t number = 0, std::uint32_t refusal_turns = 0) {
    using namespace stress_detail;
    const bool mixing = job_.test == StressTest::mixed;
    CycleKernel<A> kernel{};
    kernel.allocator = allocator_;
    kernel.share = share();
    kernel.tallies = tallies_.data();
    kernel.taken = taken_.data();
    kernel.entries = blocks_.size();
    kernel.earlier_owners =
        job_.test == StressTest::churn ? std::uint64_t{number} * job_.threads : 0;
    kernel.bytes = mixing ? job_.payload : bytes_;
    kernel.iterations = (parts & until_refused) != 0   ? ~std::uint32_t{0}
                        : (parts & refusals_only) != 0 ? refusal_turns
                                                       : turns_;
    // If blocks lie outside the pool, freed entries are cleared, so that after a stopped launch
    // blocks_ has what is still to be freed.
    kernel.parts = parts | (mixing ? mixes : 0u) | (in_pool() ? 0u : clears);
    kernel.seed = job_.seed;
    kernel.chance = job_.chance;
    kernel.launch = number;
    kernel.touch = job_.touch;
    return launch(kernel, (parts & (allocates | draws)) != 0 ? limit() : free_limit());
  }

  // Sums over all launches of cycle() since the reset.
  void add_tallies() {
    for (const stress_detail::Tally& tally : tallies_.download()) {
      result_.counts.allocations += tally.allocations;
      result_.counts.deallocations += tally.deallocations;
      result_.counts.failures += tally.failures;
      result_.damaged += tally.damaged;
    }
  }

  // The blocks in use, in order of offset. wanted(i): the bytes wanted for blocks[i].
  template <class Wanted>
  std::vector<alloc::LiveBlock> live_blocks(const std::vector<void*>& blocks, Wanted wanted) const {
    std::vector<alloc::LiveBlock> live;
    const auto base = reinterpret_cast<std::uintptr_t>(in_pool() ? job_.pool.base : nullptr);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i] != nullptr)
        live.push_back({reinterpret_cast<std::uintptr_t>(blocks[i]) - base, wanted(i)});
    }
    std::ranges::sort(live, {}, &alloc::LiveBlock::offset);
    return live;
  }

  PoolState state(const std::vector<alloc::LiveBlock>& live) const {
    PoolState state;
    state.blocks = live.size();
    for (const alloc::LiveBlock& block : live) state.live_bytes += block.bytes;
    if (!in_pool()) return state;  // a walk, if there is one, would not see all blocks
    if (!live.empty()) state.address_bytes = live.back().offset + alloc::padded(live.back().bytes);
    state.fragmentation =
        alloc::fragmentation_of_blocks(alloc::regions_of(allocator_, job_.device), live);
    return state;
  }

  // The bytes that a thread wants for its block.
  std::size_t wanted(std::uint32_t thread) const {
    return job_.test == StressTest::mixed ? mixed_bytes(draw(job_.seed, thread, 0), job_.payload)
                                          : job_.payload;
  }

  const alloc::AllocatorTraits& traits() const { return alloc::traits_on<A>(device_); }
  bool in_pool() const { return traits().in_pool; }
  stress_detail::Share share() const { return {blocks_.data(), job_.threads, lanes_}; }

  // The time limit of a launch: the seconds that the run has left, at most `seconds`. It has a
  // minimum, so that the last short launch does not fail because the machine has stalled.
  double limit() const {
    if (job_.test == StressTest::soak) return max_free_seconds;
    if (job_.run_seconds <= 0) return job_.seconds;
    return std::min(job_.seconds, std::max(job_.run_seconds - elapsed(), 0.1));
  }
  bool is_late() const { return job_.run_seconds > 0 && elapsed() >= job_.run_seconds; }
  [[noreturn]] void stop() const {
    throw simt::Stopped(simt::Stopped::Reason::time_limit, traits().id);
  }
  // Called before each of many launches. Stops the test if it is late.
  void stop_if_late() const {
    if (is_late() && elapsed() > 0.1) stop();
  }
  // The time limit of a launch that frees.
  double free_limit() const { return in_pool() ? limit() : max_free_seconds; }

  template <class Kernel>
  double launch(const Kernel& kernel) {
    return launch(kernel, limit());
  }
  template <class Kernel>
  double launch(const Kernel& kernel, double seconds) {
    return device_.launch_independent(kernel, (job_.threads + lanes_ - 1) / lanes_,
                                      {.seconds = seconds, .what = traits().id});
  }

  double elapsed() const { return simt::seconds_since(start_); }

  const Device& device_;
  const StressJob& job_;
  const std::size_t bytes_;
  const unsigned lanes_;
  const std::uint32_t turns_;
  A allocator_{};
  std::optional<alloc::ReleaseAtEnd<A, Device>> release_;
  simt::Buffer<void*> blocks_;
  simt::Buffer<stress_detail::Tally> tallies_;
  simt::Buffer<std::uint64_t> taken_;  // utilization: number of entries of blocks_ in use
  StressResult result_;
  const simt::HostClock::time_point start_ = simt::HostClock::now();
};

}  // namespace heapwood::workloads
