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
//   each  Every thread allocates once in one kernel and frees in a second one.
//
// Requests are padded to 16 bytes before the call, as in RegEff section 6; internal fragmentation counts what was wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "alloc/allocator.hpp"
#include "alloc/statistics.hpp"

namespace heapwood::alloc {

enum class StressTest : std::uint8_t { alloc_dealloc, cycle, probability, each };

struct StressJob {
  simt::DeviceId device;
  Pool pool;  // owned by the caller; only its head is touched where blocks lie elsewhere (traits.in_pool)
  AllocatorOptions options;
  StressTest test = StressTest::alloc_dealloc;
  bool coalesced = false;      // the allocator inside the coalescing adaptor
  std::uint32_t threads = 32;  // that allocate
  unsigned lanes = 1;          // of each warp that allocate, 1 to 32
  std::size_t payload = 4;     // bytes wanted
  unsigned iterations = 1;     // ACD: blocks a thread; P: launches
  std::uint32_t seed = 1;      // P
  bool touch = false;          // fill every block, and check it before it is freed
  // Look at the pool between kernels instead of timing them: ACD allocates in one kernel and frees in another.
  bool inspect = false;
  double seconds = 60;  // time limit of a launch
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

struct StressResult {
  double reset_ms = 0;  // create(), the host's clock
  double ms = 0;        // of the test's kernels; each: both kernels
  // AD and each: two kernels instead of one.
  double allocate_ms = 0, free_ms = 0;
  std::uint64_t split_failures = 0;  // AD: of the allocate kernel
  StressCounts counts;               // of the kernels in `ms`
  std::uint64_t damaged = 0;         // touch: blocks that did not hold what was written

  // Only of jobs with `inspect`. `overlaps`: addresses of blocks in use together, compared on the host.
  std::uint64_t overlaps = 0;
  std::optional<PoolState> peak;  // most blocks in use: AD, ACD, each: all of them; P: after the launch that left most
  std::optional<PoolState> end;   // after the last kernel
};

// Mean and standard deviation of what one thread does in P.
struct ExpectedCounts {
  double allocations = 0, allocations_sigma = 0;
  double deallocations = 0, deallocations_sigma = 0;
};
ExpectedCounts expected_counts(unsigned launches);

inline constexpr std::uint32_t chance_of_call = 3u << 30;  // of 2^32: 3/4

// What P draws: below chance_of_call, the thread does what it can do. Depends on nothing but its arguments.
SIMT_INLINE std::uint32_t draw(std::uint32_t seed, std::uint32_t thread, std::uint32_t launch) {
  std::uint64_t x = (std::uint64_t{seed} << 32 | launch) * 0x9e3779b97f4a7c15u + thread;
  for (int round = 0; round < 2; ++round) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
  }
  return static_cast<std::uint32_t>(x >> 32);
}

}  // namespace heapwood::alloc
