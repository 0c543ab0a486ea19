// SPDX-License-Identifier: MIT
// The tests of memory use (Ouroboros section 6.1.3): how much memory can be allocated, how far
// apart blocks lie, and for how many iterations memory suffices if half of the blocks stay. The
// host inspects the addresses of every iteration between kernels. A kernel that takes longer than
// `seconds` ends the test, as does `run_seconds`: in a full pool an allocator may search for very
// long. Blocks that remain at the end are discarded by the next reset if they lie in the pool;
// blocks of a heap outside the pool are freed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "alloc/allocator.hpp"
#include "simt/error.hpp"
#include "workloads/stress.hpp"
#include "workloads/stress_driver.hpp"

namespace heapwood::workloads {

// Records on the host which memory is in use: one bit per granule, in pages that are created where
// blocks lie, so that a heap at any address can be tracked. Pages of an expected range are stored
// adjacently, because consecutive blocks of many threads are often in different pages, and looking
// up each page would dominate. Detects overlapping blocks without sorting them.

class GranuleMap {
 public:
  // Announces the range that contains most blocks.
  void expect(std::uintptr_t address, std::size_t bytes) {
    first_ = address / alloc::granule / page_granules;
    row_.resize((address + bytes) / alloc::granule / page_granules + 1 - first_);
  }
  // Marks the block's granules; returns false if one was already marked.
  bool take(std::uintptr_t address, std::size_t bytes) {
    bool free = true;
    for_each_word(address, bytes, [&](std::uint64_t& word, std::uint64_t bits) {
      free &= (word & bits) == 0;
      word |= bits;
    });
    return free;
  }
  void give(std::uintptr_t address, std::size_t bytes) {
    for_each_word(address, bytes, [](std::uint64_t& word, std::uint64_t bits) { word &= ~bits; });
  }

 private:
  static constexpr std::uintptr_t page_granules = 1 << 16;  // 1 MiB of memory
  using Page = std::array<std::uint64_t, page_granules / 64>;

  template <class F>
  void for_each_word(std::uintptr_t address, std::size_t bytes, F f) {
    const std::uintptr_t end = (address + alloc::padded(bytes)) / alloc::granule;
    for (std::uintptr_t i = address / alloc::granule; i < end;) {
      const std::uintptr_t bit = i % 64, count = std::min<std::uintptr_t>(64 - bit, end - i);
      const std::uintptr_t number = i / page_granules;
      if (last_ == nullptr || number != last_number_) find_page(number);
      f((*last_)[i % page_granules / 64], ~std::uint64_t{0} >> (64 - count) << bit);
      i += count;
    }
  }
  void find_page(std::uintptr_t number) {
    std::unique_ptr<Page>& page =
        number - first_ < row_.size() ? row_[number - first_] : pages_[number];
    if (!page) page = std::make_unique<Page>();
    last_ = page.get();
    last_number_ = number;
  }

  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;  // outside the expected range
  std::vector<std::unique_ptr<Page>> row_;
  std::uintptr_t first_ = 0;  // of the pages of the expected range
  Page* last_ = nullptr;      // consecutive blocks are often close to each other
  std::uintptr_t last_number_ = 0;
};

namespace stress_detail {

// The memory that utilization and churn can fill. A heap outside the pool is made as large as the
// pool if that is still possible.
template <class A, class Device>
std::uint64_t capacity(const Device& device, const StressJob& job) {
  if constexpr (requires { device.set_heap_size(job.pool.bytes); }) {
    if (!alloc::traits_on<A>(device).in_pool && job.test != StressTest::range)
      return device.set_heap_size(job.pool.bytes);
  }
  return job.pool.bytes;
}

// The blocks that a thread may have: in utilization enough for all threads to fill the memory; in
// range and churn one per launch.
inline std::uint32_t turns(const StressJob& job, std::uint64_t capacity) {
  if (job.test != StressTest::utilization) return 1;
  return static_cast<std::uint32_t>(capacity / alloc::padded(job.payload) / job.threads + 1);
}

}  // namespace stress_detail

template <class A, class Device>
class StressSpace : StressDriver<A, Device> {
  using Driver = StressDriver<A, Device>;
  using Driver::blocks_, Driver::bytes_, Driver::cycle, Driver::job_, Driver::result_;

 public:
  StressSpace(const Device& device, const StressJob& job)
      : StressSpace(device, job, stress_detail::capacity<A>(device, job)) {}

  StressResult run() {
    this->reset(false);
    if (job_.test == StressTest::utilization) {
      utilization();
    } else if (job_.test == StressTest::range) {
      range();
    } else {
      churn();
    }
    for (const StressStep& step : result_.steps) result_.ms += step.ms;
    return result_;
  }

 private:
  StressSpace(const Device& device, const StressJob& job, std::uint64_t capacity)
      : Driver(device, job, stress_detail::turns(job, capacity)) {
    result_.capacity_bytes = capacity;
    if (this->in_pool())
      in_use_.expect(reinterpret_cast<std::uintptr_t>(job.pool.base), job.pool.bytes);
  }

  void utilization() {
    const double max_ms = this->limit() * 1e3;
    const std::optional<double> ms = allocate(stress_detail::until_refused);
    result_.out_of_time = !ms;
    const std::uint64_t taken = std::min<std::uint64_t>(this->taken_.download()[0], blocks_.size());
    begin_step(ms.value_or(max_ms));
    // Downloads a few megabytes at a time, because a large pool has gigabytes of addresses.
    constexpr std::uint64_t part = 1 << 20;
    for (std::uint64_t first = 0; first < taken; first += part)
      record_blocks(blocks_.download(first, std::min(part, taken - first)));
    end_counting();
    result_.steps.back().refused = result_.counts.failures;
    if (this->in_pool() && ms) time_refusals();
    if (needs_frees()) cycle(stress_detail::frees);
    count_damage();
  }

  void range() {
    for (unsigned i = 0; i < job_.iterations && !result_.out_of_time; ++i) {
      const std::optional<double> ms = allocate(0);
      const std::vector<void*> blocks = blocks_.download();
      if (ms) begin_step(*ms, blocks);
      // After a kernel was stopped, no other kernel may use the pool.
      const double free_ms = ms || !this->in_pool() ? cycle(stress_detail::frees) : 0;
      result_.out_of_time = !ms || (i + 1 < job_.iterations && this->is_late());
      if (!ms) break;
      result_.steps.back().ms += free_ms;
      for (const void* block : blocks) remove_block(block);
    }
    if (result_.steps.empty()) this->stop();
    this->add_tallies();
  }

  void churn() {
    std::vector<void*> kept;  // in the order of launches and threads
    unsigned halved = 0;      // launches that freed half of their blocks
    while (result_.steps.size() < job_.iterations && !result_.out_of_time) {
      const std::optional<double> ms = allocate(0, halved);
      const std::vector<void*> blocks = blocks_.download();
      if (ms) begin_step(*ms, blocks);
      const bool last = !ms || result_.steps.back().refused > 0;
      if (!last)
        result_.steps.back().ms += cycle(stress_detail::frees | stress_detail::half, halved);
      for (std::uint32_t thread = 0; thread < job_.threads; ++thread) {
        if (!last && is_freed(thread, halved)) {
          remove_block(blocks[thread]);
        } else if (needs_frees()) {
          kept.push_back(blocks[thread]);
        }
      }
      if (!ms || (!last && this->is_late())) result_.out_of_time = true;
      if (last) break;
      ++halved;
    }
    end_counting();
    if (needs_frees()) free_kept(kept, halved);
    count_damage();
  }

  // Measures refusals: every thread requests memory that is not available, four times, or as often
  // as needed to make the cost of the launch negligible.
  void time_refusals() {
    constexpr std::uint32_t max_turns = 1024;
    std::optional<double> ms, floor_ms;
    for (int i = 0; i < 3; ++i) {
      ms = allocate(stress_detail::refusals_only);
      if (!ms) return;
      floor_ms = std::min(*ms, floor_ms.value_or(*ms));
    }
    std::uint64_t served = 0, refused = 0;
    std::uint32_t turns = 1;
    do {
      turns *= 4;
      this->tallies_.fill(0);
      ms = allocate(stress_detail::refusals_only, 0, turns);
      served = refused = 0;
      for (const stress_detail::Tally& tally : this->tallies_.download()) {
        served += tally.allocations;
        refused += tally.failures;
      }
    } while (ms && *ms < 100 * *floor_ms && turns < max_turns);
    this->tallies_.fill(0);
    // Only resident threads: the others would start after some have ended.
    const std::uint32_t resident =
        this->device_.template resident_warps<stress_detail::CycleKernel<A>>() * this->lanes_;
    if (ms > floor_ms && refused > 99 * served) {
      result_.refusal_ms = (*ms - *floor_ms) / turns * std::min(1.0, 1.0 * resident / job_.threads);
    }
  }

  // Launches a kernel that allocates. Returns its milliseconds; nothing if it ran out of time.
  std::optional<double> allocate(std::uint32_t parts, std::uint32_t number = 0,
                                 std::uint32_t refusal_turns = 0) {
    // Forgets the previous blocks: a thread that does not start in time must not seem to have one.
    if (!this->in_pool()) blocks_.fill(0);
    try {
      return cycle(stress_detail::allocates | parts, number, refusal_turns);
    } catch (const simt::Stopped& stop) {
      if (stop.reason() != simt::Stopped::Reason::time_limit) throw;
      stopped_ = true;
      return std::nullopt;
    }
  }

  // Frees launch by launch, because the contents to check depend on launch and thread.
  void free_kept(std::span<void* const> kept, unsigned halved) {
    std::vector<void*> blocks(job_.threads);
    auto next = kept.begin();
    for (unsigned launch = 0; next != kept.end(); ++launch) {
      for (std::uint32_t thread = 0; thread < job_.threads; ++thread) {
        blocks[thread] = launch < halved && is_freed(thread, launch) ? nullptr : *next++;
      }
      blocks_.upload(blocks);
      cycle(stress_detail::frees, launch);
    }
  }

  bool is_freed(std::uint32_t thread, unsigned launch) const {
    return frees_half(draw(job_.seed, thread, launch));
  }
  // Whether blocks must be freed at the end: in a pool, only if their contents are to be checked.
  bool needs_frees() const { return this->in_pool() ? job_.touch && !stopped_ : true; }

  // Ends the counted part of the test. After that, blocks are freed only to check their contents.
  void end_counting() {
    this->add_tallies();
    this->tallies_.fill(0);
  }
  void count_damage() {
    for (const stress_detail::Tally& tally : this->tallies_.download())
      result_.damaged += tally.damaged;
  }

  // Called after a kernel that allocates: starts an iteration.
  void begin_step(double ms, const std::vector<void*>& blocks = {}) {
    result_.steps.push_back({.ms = ms});
    record_blocks(blocks);
  }
  // Records blocks that this iteration has allocated, or some of them.
  void record_blocks(const std::vector<void*>& blocks) {
    StressStep& step = result_.steps.back();
    for (const void* block : blocks) {
      if (block == nullptr) {
        ++step.refused;
        continue;
      }
      const auto address = reinterpret_cast<std::uintptr_t>(block);
      result_.overlaps += !in_use_.take(address, bytes_);
      lowest_ = std::min(lowest_, address);
      end_ = std::max(end_, address + bytes_);
      ++live_;
    }
    step.blocks = live_;
    step.address_bytes = end_ > lowest_ ? end_ - lowest_ : 0;
  }
  void remove_block(const void* block) {
    if (block == nullptr) return;
    in_use_.give(reinterpret_cast<std::uintptr_t>(block), bytes_);
    --live_;
  }

  GranuleMap in_use_;
  bool stopped_ = false;  // the time limit stopped a kernel that allocates
  std::uint64_t live_ = 0;
  std::uintptr_t lowest_ = ~std::uintptr_t{0}, end_ = 0;  // of all blocks since the reset
};

}  // namespace heapwood::workloads
