// SPDX-License-Identifier: MIT
// Runs a StressJob with allocator A on a Device: the tests that measure time, and stress() for all
// tests. Included by registry/instance.hpp and by tests that provide their own devices.
#pragma once

#include <vector>

#include "alloc/adaptors/coalesced.hpp"
#include "workloads/stress.hpp"
#include "workloads/stress_driver.hpp"
#include "workloads/stress_lifetimes.hpp"
#include "workloads/stress_space.hpp"

namespace heapwood::workloads {

// Whether kernels with Coalesced<A> are compiled. Erased allocators have no constant traits.
template <class A>
constexpr bool is_coalesced_compiled() {
  if constexpr (requires { A::traits; })
    return has_coalesced_form(A::traits);
  else
    return true;
}

// Calls f.template operator()<Variant>() with A::WithBuiltin for the built-in backend, if A has it,
// with Coalesced<A> if `coalesced`, otherwise with A. A::WithBuiltin is a separate type, because
// loading a kernel that uses the device heap fixes the heap's size.
template <class A, class F>
auto with_variant(bool coalesced, alloc::LargeBackend large, F f) {
  if constexpr (requires { typename A::WithBuiltin; }) {
    if (large == alloc::LargeBackend::builtin)
      return f.template operator()<typename A::WithBuiltin>();
  }
  if constexpr (is_coalesced_compiled<A>()) {
    if (coalesced) return f.template operator()<alloc::Coalesced<A>>();
  }
  return f.template operator()<A>();
}

template <class A, class Device>
class StressRun : StressDriver<A, Device> {
  using Driver = StressDriver<A, Device>;
  using Driver::add_tallies, Driver::cycle, Driver::job_, Driver::reset, Driver::result_,
      Driver::state;

 public:
  // In P a thread has at most one block; `iterations` counts launches, not blocks.
  StressRun(const Device& device, const StressJob& job)
      : Driver(device, job, job.test == StressTest::cycle ? job.iterations : 1) {}

  StressResult run() {
    if (job_.test == StressTest::exhaust)
      result_.capacity_bytes = stress_detail::capacity<A>(this->device_, job_);
    reset(!job_.inspect && !allocates_once(job_.test));
    if (job_.inspect) {
      inspect();
    } else if (job_.test == StressTest::probability) {
      for (unsigned launch = 0; launch < job_.iterations; ++launch) {
        result_.ms += allocating([&] {
          this->stop_if_late();
          return cycle(stress_detail::draws, launch);
        });
      }
      add_tallies();
      free_remaining();
    } else if (job_.test == StressTest::cycle) {
      result_.ms =
          allocating([&] { return cycle(stress_detail::allocates | stress_detail::frees); });
      add_tallies();
    } else if (job_.touch) {
      run_touched();
    } else {
      run_plain();
    }
    if (!job_.inspect) result_.floor_ms = this->run_empty_kernel();
    return result_;
  }

 private:
  // AD and tests with one allocation per thread: kernels with one call, unless sizes differ.
  void run_plain() {
    if (job_.test == StressTest::alloc_dealloc) {
      result_.ms = this->allocate_and_free();
      result_.counts = counts_of(this->blocks_.download());
      reset(false);
    }
    const bool mixed = job_.test == StressTest::mixed;
    StressCounts split;
    for (unsigned round = 0; round < rounds(); ++round) {
      begin_round(round);
      result_.allocate_ms =
          allocating([&] { return mixed ? cycle(stress_detail::allocates) : this->allocate(); });
      split = counts_of(this->blocks_.download());
      result_.free_ms = this->free();
    }
    finish_split(split);
  }

  // AD and tests with one allocation per thread, if blocks are to be filled and checked.
  void run_touched() {
    using namespace stress_detail;
    if (job_.test == StressTest::alloc_dealloc) {
      result_.ms = allocating([&] { return cycle(allocates | frees); });
      add_tallies();
      reset(false);
    }
    const StressCounts before = result_.counts;
    for (unsigned round = 0; round < rounds(); ++round) {
      begin_round(round);
      if (round > 0) this->tallies_.fill(0);
      result_.allocate_ms = allocating([&] { return cycle(allocates); });
      result_.free_ms = cycle(frees);
      result_.counts = {};
      add_tallies();  // the damage is summed over all rounds
    }
    const StressCounts split = result_.counts;
    result_.counts = before;
    finish_split(split);
  }

  void begin_round(unsigned round) {
    this->stop_if_late();
    // Forgets the previous round's blocks: a thread that does not start must not seem to have one.
    if (!this->in_pool() && round > 0) this->blocks_.fill(0);
  }

  // Launches a kernel that allocates. If the time limit stops it, frees the blocks of a heap
  // outside the pool: it cannot be reset, and would become fuller with each run.
  template <class F>
  double allocating(F launch) {
    try {
      return launch();
    } catch (const simt::Stopped&) {
      free_remaining();
      throw;
    }
  }
  void free_remaining() {
    if (!this->in_pool()) cycle(stress_detail::frees);
  }

  unsigned rounds() const { return allocates_once(job_.test) ? job_.rounds : 1; }

  void finish_split(const StressCounts& split) {
    if (job_.test == StressTest::alloc_dealloc) {
      result_.split_failures = split.failures;
    } else {
      result_.ms = result_.allocate_ms + (job_.test == StressTest::exhaust ? 0 : result_.free_ms);
      result_.counts = split;
    }
  }

  static StressCounts counts_of(const std::vector<void*>& blocks) {
    StressCounts counts;
    for (const void* block : blocks) ++(block != nullptr ? counts.allocations : counts.failures);
    counts.deallocations = counts.allocations;  // deallocate(nullptr) does not count
    return counts;
  }

  void inspect() {
    using namespace stress_detail;
    if (job_.test == StressTest::probability) {
      for (unsigned launch = 0; launch < job_.iterations; ++launch) {
        allocating([&] { return cycle(draws, launch); });
        const std::vector<alloc::LiveBlock> live = live_blocks();
        result_.overlaps += alloc::count_overlaps(live);
        if (!result_.peak || live.size() > result_.peak->blocks) result_.peak = state(live);
        if (launch + 1 == job_.iterations) result_.end = state(live);
      }
    } else {
      allocating([&] { return cycle(allocates); });
      const std::vector<alloc::LiveBlock> live = live_blocks();
      result_.overlaps = alloc::count_overlaps(live);
      result_.peak = state(live);
      cycle(frees);
      result_.end = state({});
    }
    add_tallies();
    free_remaining();  // blocks that P has left in use
  }

  std::vector<alloc::LiveBlock> live_blocks() const {
    return Driver::live_blocks(this->blocks_.download(), [this](std::size_t i) {
      return this->wanted(static_cast<std::uint32_t>(i % job_.threads));
    });
  }
};

template <class A, class Device>
StressResult stress(const Device& device, const StressJob& job) {
  // Without the coalescing and built-in variants, which saves compiling a kernel for each.
  if (has_lifetimes(job.test)) return StressLifetimes<A, Device>(device, job).run();
  return with_variant<A>(job.coalesced, job.options.large_backend, [&]<class Variant>() {
    if (measures_space(job.test)) return StressSpace<Variant, Device>(device, job).run();
    return StressRun<Variant, Device>(device, job).run();
  });
}

}  // namespace heapwood::workloads
