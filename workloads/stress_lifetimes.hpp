// SPDX-License-Identifier: MIT
// The tests `lifetimes` and `soak`: the memory cost of freeing blocks in a given order, and
// correctness over a long time. A thread has 8 entries for blocks. It repeatedly selects one: if
// the entry holds a block, the thread frees it; otherwise it allocates one of a random size. On
// average half of the entries hold a block.
//
//   random    any entry: lifetimes are distributed geometrically
//   lifo      a stack that grows or shrinks by one block, with equal probability
//   immortal  random, but one block in 256 stays until the end
//
// The pool is walked while no kernel runs. The ratio of held to live memory is the cost of the
// order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "simt/clock.hpp"
#include "simt/error.hpp"
#include "workloads/stress.hpp"
#include "workloads/stress_driver.hpp"

namespace heapwood::workloads {

namespace stress_detail {

template <class A>
struct LifetimesKernel : KernelShape {
  static constexpr unsigned blocks_per_multiprocessor = 4;  // as in CycleKernel
  static constexpr std::uint32_t entries_per_thread = 8, immortal = 1u << 31;

  A allocator;
  Share share;
  Tally* tallies;
  // Bytes of the block at each entry, and whether it is immortal.
  std::uint32_t* wanted;
  std::uint32_t* held;  // number of blocks of each thread; used by lifo
  std::uint32_t max_bytes;
  std::uint32_t turns, seed, launch;
  Lifetimes order;
  bool touch, ending;  // ending: each thread frees all its blocks

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    std::uint32_t thread = 0;
    if (!share.takes_part(warp, thread)) return;
    A a = allocator;
    Tally tally = tallies[thread];
    std::uint32_t top = held[thread];
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i < (ending ? entries_per_thread : turns); ++i) {
      if ((i & 15) == 15 && warp.aborted()) break;
      const std::uint32_t drawn = draw(seed, thread, 2 * (launch * turns + i));
      std::uint32_t index = ending ? i : drawn % entries_per_thread;
      if (order == Lifetimes::lifo && !ending) {
        const bool grows = drawn >> 31 != 0;
        if (top == (grows ? entries_per_thread : 0)) continue;
        index = grows ? top : top - 1;
      }
      const std::size_t entry = std::size_t{index} * share.threads + thread;
      void* block = share.blocks[entry];
      if (block == nullptr) {
        if (ending) continue;
        const std::uint32_t bytes =
            size(draw(seed, thread, 2 * (launch * turns + i) + 1), max_bytes);
        block = a.allocate(warp, alloc::padded(bytes));
        tally.allocations += block != nullptr;
        tally.failures += block == nullptr;
        if (block == nullptr) continue;
        ++top;
        wanted[entry] = bytes | (order == Lifetimes::immortal && drawn >> 24 == 0 ? immortal : 0);
        if (touch) pattern(entry, bytes).write(block);
      } else if (ending || (wanted[entry] & immortal) == 0) {
        if (touch) tally.damaged += !pattern(entry, wanted[entry] & ~immortal).intact(block);
        a.deallocate(warp, block);
        tally.deallocations += 1;
        block = nullptr;
        --top;
      }
      share.blocks[entry] = block;
    }
    held[thread] = top;
    tallies[thread] = tally;
  }

 private:
  // The size of a block: its limit is max_bytes, max_bytes / 2, ... or max_bytes / 128 with equal
  // probability, and it is uniform up to that limit.
  HEAPWOOD_INLINE static std::uint32_t size(std::uint32_t drawn, std::uint32_t max_bytes) {
    const std::uint32_t limit = max_bytes >> (drawn & 7);
    return static_cast<std::uint32_t>(
        mixed_bytes(drawn, limit < alloc::granule ? alloc::granule : limit));
  }
  HEAPWOOD_INLINE static BlockPattern pattern(std::size_t entry, std::uint32_t bytes) {
    return {entry + 1, alloc::padded(bytes) / alloc::granule};
  }
};

}  // namespace stress_detail

template <class A, class Device>
class StressLifetimes : StressDriver<A, Device> {
  using Kernel = stress_detail::LifetimesKernel<A>;
  using Driver = StressDriver<A, Device>;
  using Driver::blocks_, Driver::job_, Driver::result_;

 public:
  StressLifetimes(const Device& device, const StressJob& job)
      : Driver(device, job, Kernel::entries_per_thread),
        wanted_(job.device, std::size_t{job.threads} * Kernel::entries_per_thread),
        held_(job.device, job.threads) {}

  // Ends early if the run is late. The blocks are freed in either case.
  StressResult run() {
    this->reset(true);
    held_.fill(0);
    result_.capacity_bytes = job_.pool.bytes;
    const auto start = simt::HostClock::now();
    const auto is_over = [&](unsigned launch) {
      if (job_.test == StressTest::lifetimes) {
        result_.out_of_time = launch < job_.iterations && this->is_late();
        return launch == job_.iterations || result_.out_of_time;
      }
      return simt::seconds_since(start) >= job_.seconds;
    };
    unsigned launches = 0;
    do {
      try {
        result_.ms += launch(launches, false);
      } catch (const simt::Stopped&) {
        if (!this->in_pool()) launch(launches, true);
        throw;
      }
      if (++launches % launches_per_inspection == 0) inspect();
    } while (!is_over(launches));
    if (launches % launches_per_inspection != 0) inspect();
    result_.ms += launch(launches, true);
    result_.end = this->state({});
    this->add_tallies();
    return result_;
  }

 private:
  static constexpr unsigned launches_per_inspection = 64;
  static constexpr std::uint32_t turns = 32;

  double launch(unsigned number, bool ending) {
    Kernel kernel{};
    kernel.allocator = this->allocator_;
    kernel.share = this->share();
    kernel.tallies = this->tallies_.data();
    kernel.wanted = wanted_.data();
    kernel.held = held_.data();
    kernel.max_bytes = static_cast<std::uint32_t>(std::max(job_.payload, alloc::granule));
    kernel.turns = turns;
    kernel.seed = job_.seed;
    kernel.launch = number;
    kernel.order = job_.order;
    kernel.touch = job_.touch;
    kernel.ending = ending;
    return Driver::launch(kernel, ending ? this->free_limit() : this->limit());
  }

  // Inspects all blocks in use: whether they overlap, and the memory they hold.
  void inspect() {
    const std::vector<void*> blocks = blocks_.download();
    const std::vector<std::uint32_t> wanted = wanted_.download();
    const std::vector<alloc::LiveBlock> live =
        this->live_blocks(blocks, [&](std::size_t i) { return wanted[i] & ~Kernel::immortal; });
    result_.overlaps += alloc::count_overlaps(live);
    result_.peak = this->state(live);
    result_.steps.push_back(
        {.ms = result_.ms, .blocks = live.size(), .address_bytes = result_.peak->address_bytes});
  }

  simt::Buffer<std::uint32_t> wanted_, held_;
};

}  // namespace heapwood::workloads
