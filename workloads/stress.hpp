// SPDX-License-Identifier: MIT
// Generic allocator tests: every thread allocates blocks of one size and frees them.
// docs/workloads.md describes the tests. A job is plain host data; its kernels are in
// stress_kernels.hpp, called through registry::CompiledAllocator::stress.
//
// In comments, AD is the test malloc-free of RegEff section 6, ACD is malloc-use-free, and P is the
// test with probabilities: a thread without a block allocates one with probability 3/4; a thread
// with one frees it with probability 3/4.
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
  alloc_dealloc,  // measured again as two kernels, between which all blocks are in use
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

// The order in which the test `lifetimes` frees blocks.
enum class Lifetimes : std::uint8_t { random, lifo, immortal };

// Whether the test has one allocation per thread, followed by a kernel that frees.
constexpr bool allocates_once(StressTest test) {
  return test >= StressTest::each && test <= StressTest::exhaust;
}
// Whether the test uses blocks of random sizes and lifetimes.
constexpr bool has_lifetimes(StressTest test) { return test >= StressTest::lifetimes; }
// Whether the test measures memory use; then every run is inspected.
constexpr bool measures_space(StressTest test) { return test >= StressTest::utilization; }

struct StressJob {
  simt::DeviceId device;
  // Owned by the caller; only its head is touched if blocks lie outside it (traits.in_pool).
  alloc::Pool pool;
  alloc::AllocatorOptions options;
  StressTest test = StressTest::alloc_dealloc;
  bool coalesced = false;      // the allocator inside the coalescing adaptor
  std::uint32_t threads = 32;  // number of threads that allocate
  unsigned lanes = 1;          // number of lanes of each warp that allocate, 1 to 32
  // Bytes wanted. In the tests `mixed` and `lifetimes` the max size, at least 16 and below 2 GiB.
  std::size_t payload = 4;
  // ACD: blocks per thread. P, lifetimes: launches. range, churn: max iterations.
  unsigned iterations = 1;
  Lifetimes order = Lifetimes::random;
  std::uint32_t seed = 1;  // used by P, mixed, churn and lifetimes
  // P: the probability that a thread makes its call in a launch, times 2^32.
  std::uint32_t chance = 3u << 30;
  // Tests for which allocates_once() holds: how often both kernels run in one pool; the last run is
  // timed.
  unsigned rounds = 1;
  bool touch = false;  // fill every block, and check it before it is freed
  // Inspects the pool between kernels instead of timing them; ACD then allocates in one kernel and
  // frees in another. Ignored by tests of memory use.
  bool inspect = false;
  double seconds = 60;  // time limit of a launch; for soak its duration
  // Limit for all launches of a run and the work between them, including the initialization of its
  // pool; 0 = none. Blocks of a heap outside the pool are freed even after it has passed.
  double run_seconds = 0;
};

struct StressCounts {
  std::uint64_t allocations = 0;  // successful ones
  std::uint64_t deallocations = 0;
  std::uint64_t failures = 0;  // allocate returned nullptr
};

// The state of the pool while no kernel runs.
struct PoolState {
  std::uint64_t blocks = 0;      // number of blocks in use
  std::uint64_t live_bytes = 0;  // bytes wanted for these blocks
  // From the pool's base to the end of the highest of these blocks.
  std::uint64_t address_bytes = 0;
  alloc::Fragmentation fragmentation;
};

// A step of a test of memory. range, churn: an iteration; utilization: the whole test; lifetimes:
// an inspection.
struct StressStep {
  double ms = 0;              // both kernels; only the one that allocates if a request was refused
  std::uint64_t blocks = 0;   // blocks in use after the first kernel
  std::uint64_t refused = 0;  // number of refused requests
  // From the lowest block to the end of the highest one, of all allocated since the reset.
  std::uint64_t address_bytes = 0;
};

struct StressResult {
  double reset_ms = 0;  // create(), by the host's clock
  double ms = 0;        // the test's kernels
  // AD and allocates_once(): the two kernels, measured separately.
  double allocate_ms = 0, free_ms = 0;
  double floor_ms = 0;  // tests of time: duration of an empty kernel with as many threads
  std::uint64_t split_failures = 0;  // AD: failures in the kernel that only allocates
  StressCounts counts;               // calls of the kernels timed by `ms`
  std::uint64_t damaged = 0;         // with `touch`: blocks whose contents were changed

  // Only in tests of memory use.
  std::vector<StressStep> steps;
  // exhaust, utilization, churn: size of the pool, or of the heap outside it.
  std::uint64_t capacity_bytes = 0;
  // Utilization, range, churn, lifetimes: the time limit stopped the test.
  bool out_of_time = false;
  // utilization: milliseconds per refused call of a thread while all others make such calls.
  std::optional<double> refusal_ms;

  // Jobs with `inspect`, and tests of memory use: overlaps between blocks that are in use at the
  // same time, found on the host.
  std::uint64_t overlaps = 0;
  // Jobs with `inspect`, and lifetimes: the state with the most blocks in use. AD, ACD and
  // allocates_once(): all blocks. P: after the launch that left the most. lifetimes: before the
  // end.
  std::optional<PoolState> peak;
  std::optional<PoolState> end;  // after the last kernel
};

// Mean and standard deviation of the number of calls that one thread makes in P.
struct ExpectedCounts {
  double allocations = 0, allocations_sigma = 0;
  double deallocations = 0, deallocations_sigma = 0;
};
ExpectedCounts expected_counts(unsigned launches, double probability);

// StressJob::chance for a probability from 0 to 1; never 2^32: 1 becomes 1 - 2^-32.
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

// mixed: the size of a thread's block from its random number, uniform from 16 to `max_bytes`.
HEAPWOOD_INLINE std::size_t mixed_bytes(std::uint32_t drawn, std::size_t max_bytes) {
  return alloc::granule +
         static_cast<std::size_t>(std::uint64_t{drawn} * (max_bytes - alloc::granule + 1) >> 32);
}
// churn: whether a thread frees in an iteration, with probability 1/2, from its random number.
HEAPWOOD_INLINE bool frees_half(std::uint32_t drawn) { return drawn >> 31 != 0; }

}  // namespace heapwood::workloads
