// SPDX-License-Identifier: MIT
// Generic allocator tests: every thread allocates blocks of one size and frees them.
// docs/workloads.md describes the tests. A job is plain host data; its kernels are in
// stress_kernels.hpp, called through registry::CompiledAllocator::stress.
//
// Probability (RegEff section 6): a thread without a block allocates one with probability 3/4; a
// thread with one frees it with probability 3/4.
//
// Requests are padded to 16 bytes before the call, as in RegEff section 6; internal fragmentation
// is relative to the size wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/statistics.hpp"

namespace heapwood::workloads {

enum class StressTest : std::uint8_t {
  alloc_dealloc,  // `malloc-free`: also split into two kernels, between which all blocks are in use
  cycle,
  probability,
  each,  // `alloc`
  mixed,
  scaling,
  exhaust,
  utilization,
  range,
  churn,
  lifetimes,
  soak
};

// lifetimes: the order in which blocks are freed.
enum class Lifetimes : std::uint8_t { random, lifo, immortal };

// One allocation per thread, then a kernel that frees.
constexpr bool allocates_once(StressTest test) {
  return test >= StressTest::each && test <= StressTest::exhaust;
}
// Blocks have random sizes and lifetimes.
constexpr bool has_lifetimes(StressTest test) { return test >= StressTest::lifetimes; }
// The test measures memory use, and every run is inspected.
constexpr bool measures_space(StressTest test) { return test >= StressTest::utilization; }

struct StressJob {
  simt::DeviceId device;
  // Owned by the caller; only its head is touched if blocks lie outside it (traits.in_pool).
  alloc::Pool pool;
  alloc::AllocatorOptions options;
  StressTest test = StressTest::alloc_dealloc;
  bool coalesced = false;      // the allocator inside the coalescing adaptor
  std::uint32_t threads = 32;  // that allocate
  unsigned lanes = 1;          // of each warp that allocate, 1 to 32
  // Bytes wanted; mixed, lifetimes: the max size, at least 16 and below 2 GiB.
  std::size_t payload = 4;
  unsigned iterations = 1;  // ACD: blocks per thread; P, lifetimes: launches; range, churn: max
  Lifetimes order = Lifetimes::random;
  std::uint32_t seed = 1;           // p, mixed, churn, lifetimes
  std::uint32_t chance = 3u << 30;  // p: of 2^32, that a thread makes its call of a launch
  unsigned rounds = 1;  // allocates_once(): of both kernels in one pool; the last is timed
  bool touch = false;   // fill every block, and check it before it is freed
  // Inspects the pool between kernels instead of timing them: ACD allocates in one kernel and frees
  // in another. Ignored by tests of memory use.
  bool inspect = false;
  double seconds = 60;  // time limit of a launch; soak: its duration
  // Limit for all launches of a run and the work between them, including the initialization of its
  // pool; 0 = none. Blocks of a heap outside the pool are freed even after it.
  double run_seconds = 0;
};

struct StressCounts {
  std::uint64_t allocations = 0;  // successful ones
  std::uint64_t deallocations = 0;
  std::uint64_t failures = 0;  // allocate returned nullptr
};

// The pool while no kernel runs.
struct PoolState {
  std::uint64_t blocks = 0;         // in use
  std::uint64_t live_bytes = 0;     // bytes wanted for them
  std::uint64_t address_bytes = 0;  // from the pool's base to the end of the highest of them
  alloc::Fragmentation fragmentation;
};

// An iteration of range and churn; all of utilization; an inspection of lifetimes.
struct StressStep {
  double ms = 0;              // both kernels; the one that allocates if a request was refused
  std::uint64_t blocks = 0;   // in use after the first kernel
  std::uint64_t refused = 0;  // requests
  // From the lowest to the end of the highest block allocated since the reset.
  std::uint64_t address_bytes = 0;
};

struct StressResult {
  double reset_ms = 0;  // create(), by the host's clock
  double ms = 0;        // the test's kernels; each: both kernels
  // AD and each: two kernels instead of one.
  double allocate_ms = 0, free_ms = 0;
  double floor_ms = 0;               // tests of time: an empty kernel with as many threads
  std::uint64_t split_failures = 0;  // AD: of the allocate kernel
  StressCounts counts;               // of the kernels in `ms`
  std::uint64_t damaged = 0;         // touch: blocks whose contents were changed

  // Tests of memory use.
  std::vector<StressStep> steps;
  // exhaust, utilization, churn: bytes of the pool, or of the heap outside it.
  std::uint64_t capacity_bytes = 0;
  bool out_of_time = false;  // utilization, range, churn, lifetimes: stopped by the time limit
  // utilization: milliseconds per refused call of one thread while all others make such calls too.
  std::optional<double> refusal_ms;

  // Jobs with `inspect`, and tests of memory use: overlaps between blocks that are in use together,
  // as found on the host.
  std::uint64_t overlaps = 0;
  // Only jobs with `inspect`, and lifetimes: the state with the largest number of blocks in use.
  // AD, ACD, each: all blocks; P: after the launch that left the largest number; lifetimes: before
  // all are freed.
  std::optional<PoolState> peak;
  std::optional<PoolState> end;  // after the last kernel
};

// Mean and standard deviation of the calls of one thread in P.
struct ExpectedCounts {
  double allocations = 0, allocations_sigma = 0;
  double deallocations = 0, deallocations_sigma = 0;
};
ExpectedCounts expected_counts(unsigned launches, double probability);

// StressJob::chance for a probability from 0 to 1; never 2^32, so that 1 is 1 - 2^-32.
std::uint32_t chance_of(double probability);

// Returns a 32-bit number that depends only on its arguments. P: if it is below StressJob::chance,
// the thread makes its call.
HEAPWOOD_INLINE std::uint32_t draw(std::uint32_t seed, std::uint32_t thread, std::uint32_t launch) {
  std::uint64_t x = (std::uint64_t{seed} << 32 | launch) * 0x9e3779b97f4a7c15u + thread;
  for (int round = 0; round < 2; ++round) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
  }
  return static_cast<std::uint32_t>(x >> 32);
}

// mixed: a size distributed uniformly from 16 to `max_bytes`, from a thread's draw.
HEAPWOOD_INLINE std::size_t mixed_bytes(std::uint32_t drawn, std::size_t max_bytes) {
  return alloc::granule +
         static_cast<std::size_t>(std::uint64_t{drawn} * (max_bytes - alloc::granule + 1) >> 32);
}
// churn: whether a thread frees, from its draw of the iteration; probability 1/2.
HEAPWOOD_INLINE bool frees_half(std::uint32_t drawn) { return drawn >> 31 != 0; }

}  // namespace heapwood::workloads
