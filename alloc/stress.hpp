// SPDX-License-Identifier: MIT
// Generic tests of allocators: every thread asks for blocks of one size and gives them back. A job is plain host data; its
// kernels are in stress_kernels.hpp, behind engine::Engine::stress.
//
//   AD    Alloc Dealloc (RegEff section 6): one kernel, allocate and deallocate at once. Also split into two kernels, where
//         all blocks are in use at the same time between them.
//   ACD   Alloc Cycle Dealloc: one kernel, `iterations` allocations a thread, then as many deallocations.
//   P     Probability: `iterations` launches of one kernel. A thread without a block allocates one with probability 3/4, a
//         thread with one frees it with probability 3/4. RegEff table 2 counts 1450 allocations and 986 deallocations of
//         960 threads in 10 launches; its rule gives 3840 and 3360 (expected_counts()).
//   each  Every thread allocates once in one kernel and frees in a second one (Ouroboros section 6.1.1). `mixed`: a thread's
//         size is drawn, the same for every allocator. `scaling` (6.1.2) is `each` for many numbers of threads.
//   exhaust  The same, with exactly as many threads as fill the pool; only the first kernel is timed (bulk section 5.3).
//
// and of what becomes of the memory (Ouroboros section 6.1.3):
//   utilization  Threads that fill the device allocate until each has been refused once.
//   range        `iterations` times: every thread allocates in one kernel and frees in a second one.
//   churn        Until the first refusal, at most `iterations` times: every thread allocates in one kernel; in a second one
//                each frees that block with probability 1/2. What is kept stays.
//   lifetimes    `iterations` kernels of blocks of random sizes that are freed in an order (stress_lifetimes.hpp).
//   soak         The same with contents, in random order, for `seconds`.
//
// Requests are padded to 16 bytes before the call, as in RegEff section 6; internal fragmentation counts what was wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/statistics.hpp"

namespace heapwood::alloc {

enum class StressTest : std::uint8_t {
  alloc_dealloc,
  cycle,
  probability,
  each,
  mixed,
  scaling,
  exhaust,
  utilization,
  range,
  churn,
  lifetimes,
  soak
};

// In which order blocks are freed: lifetimes.
enum class Lifetimes : std::uint8_t { random, lifo, immortal };

// One allocation a thread, then a kernel that frees.
constexpr bool allocates_once(StressTest test) { return test >= StressTest::each && test <= StressTest::exhaust; }
// With blocks of random sizes and lifetimes.
constexpr bool has_lifetimes(StressTest test) { return test >= StressTest::lifetimes; }
// The figures are of memory; each run is looked at.
constexpr bool measures_space(StressTest test) { return test >= StressTest::utilization; }

struct StressJob {
  simt::DeviceId device;
  Pool pool;  // owned by the caller; only its head is touched where blocks lie elsewhere (traits.in_pool)
  AllocatorOptions options;
  StressTest test = StressTest::alloc_dealloc;
  bool coalesced = false;      // the allocator inside the coalescing adaptor
  std::uint32_t threads = 32;  // that allocate
  unsigned lanes = 1;          // of each warp that allocate, 1 to 32
  std::size_t payload = 4;     // bytes wanted; mixed, lifetimes: at most, 16 or more and below 2 GiB
  unsigned iterations = 1;     // ACD: blocks a thread; P, lifetimes: launches; range, churn: at most
  Lifetimes order = Lifetimes::random;
  std::uint32_t seed = 1;  // P, mixed, churn, lifetimes
  unsigned rounds = 1;     // each, mixed, scaling: of both kernels in one pool; the last one is timed
  bool touch = false;      // fill every block, and check it before it is freed
  // Look at the pool between kernels instead of timing them: ACD allocates in one kernel and frees in another. Nothing to
  // tests of space.
  bool inspect = false;
  double seconds = 60;  // time limit of a launch; soak: its duration
  // Of all launches of a run together and what is done between them, its pool laid out anew included; 0 = no limit. Blocks of
  // a heap elsewhere are given back beyond it.
  double run_seconds = 0;
};

struct StressCounts {
  std::uint64_t allocations = 0;  // that succeeded
  std::uint64_t deallocations = 0;
  std::uint64_t failures = 0;  // allocate returned nullptr
};

// The pool while no kernel runs.
struct PoolState {
  std::uint64_t blocks = 0;         // in use
  std::uint64_t live_bytes = 0;     // that were wanted for them
  std::uint64_t address_bytes = 0;  // from the pool's base to the end of the highest of them
  Fragmentation fragmentation;
};

// An iteration of range and churn; utilization is one; lifetimes: a look.
struct StressStep {
  double ms = 0;                    // both kernels; where a request was refused, the one that allocates
  std::uint64_t blocks = 0;         // in use after the first kernel
  std::uint64_t refused = 0;        // requests
  std::uint64_t address_bytes = 0;  // from the lowest to the end of the highest block handed out since the reset
};

struct StressResult {
  double reset_ms = 0;  // create(), the host's clock
  double ms = 0;        // of the test's kernels; each: both kernels
  // AD and each: two kernels instead of one.
  double allocate_ms = 0, free_ms = 0;
  double floor_ms = 0;               // tests of time: a kernel of as many threads that does nothing
  std::uint64_t split_failures = 0;  // AD: of the allocate kernel
  StressCounts counts;               // of the kernels in `ms`
  std::uint64_t damaged = 0;         // touch: blocks that did not hold what was written

  // Tests of space.
  std::vector<StressStep> steps;
  std::uint64_t capacity_bytes = 0;  // exhaust, utilization, churn: the pool, or the heap elsewhere
  bool out_of_time = false;          // utilization, range, churn: the time limit came first
  // utilization: milliseconds of a call that is refused, as a thread sees it while all others make some, too.
  std::optional<double> refusal_ms;

  // Of jobs with `inspect`, and of tests of space: addresses of blocks in use together, compared on the host.
  std::uint64_t overlaps = 0;
  // Only of jobs with `inspect`, and lifetimes.
  std::optional<PoolState> peak;  // most blocks in use: AD, ACD, each: all of them; P: after the launch that left most;
                                  // lifetimes: before all are freed
  std::optional<PoolState> end;   // after the last kernel
};

// Mean and standard deviation of what one thread does in P.
struct ExpectedCounts {
  double allocations = 0, allocations_sigma = 0;
  double deallocations = 0, deallocations_sigma = 0;
};
ExpectedCounts expected_counts(unsigned launches);

inline constexpr std::uint32_t chance_of_call = 3u << 30;  // of 2^32: 3/4

// A number of 32 bits that depends on nothing but its arguments. P: below chance_of_call, the thread does what it can do.
SIMT_INLINE std::uint32_t draw(std::uint32_t seed, std::uint32_t thread, std::uint32_t launch) {
  std::uint64_t x = (std::uint64_t{seed} << 32 | launch) * 0x9e3779b97f4a7c15u + thread;
  for (int round = 0; round < 2; ++round) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
  }
  return static_cast<std::uint32_t>(x >> 32);
}

// Of mixed: uniform from 16 to `most`, from a thread's draw.
SIMT_INLINE std::size_t mixed_bytes(std::uint32_t drawn, std::size_t most) {
  return granule + static_cast<std::size_t>(std::uint64_t{drawn} * (most - granule + 1) >> 32);
}
// Of churn, from a thread's draw of the iteration: with probability 1/2.
SIMT_INLINE bool frees_half(std::uint32_t drawn) { return drawn >> 31 != 0; }

}  // namespace heapwood::alloc
