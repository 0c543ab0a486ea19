// SPDX-License-Identifier: MIT
// Scripts of allocator calls that run on any device, in which the conformance tests are written. A
// job is plain host data; the kernel that runs it is in exercise_run.hpp.
//
// A script is a list of operations for one lane of one warp. Operations name slots; a slot holds at
// most one live block. Slots are shared by all lanes and all phases (a phase is one kernel launch
// on the same pool) and are emptied with one atomic exchange, so a block may be freed by a
// different warp than the one that allocated it, in the same or a later phase.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/statistics.hpp"

namespace heapwood::workloads {

struct Op {
  enum class Kind : std::uint32_t {
    // Allocates `bytes`, writes the block's pattern and puts it into `slot`; a block that was there
    // is leaked.
    allocate,
    free,  // takes the block out of `slot`, checks its pattern and frees it
    // Allocates, writes and puts the block into `slot`; the block that was there is checked and
    // freed. Race-free across lanes.
    exchange,
    free_null,  // deallocate(nullptr)
  };
  Kind kind = Kind::allocate;
  std::uint32_t slot = 0;
  std::uint64_t bytes = 0;
};

// scripts[warp * lanes + lane]; missing scripts are empty.
struct ExercisePhase {
  std::vector<std::vector<Op>> scripts;
};

struct ExerciseJob {
  simt::DeviceId device;
  std::size_t pool_bytes = std::size_t{1} << 20;
  alloc::AllocatorOptions options = {};
  unsigned warps = 1;
  // Lanes per warp that run a script; on narrower warps one lane runs several scripts in turn.
  unsigned lanes = 1;
  std::uint32_t slots = 0;
  std::vector<ExercisePhase> phases = {};
  // Repetitions of create() and all phases; results are those of the last one.
  unsigned cycles = 1;
  bool counted = false;    // Counted<Failing<A>>: RequestStats and the log of requested bytes
  bool guarded = false;    // Counted<Guarded<Failing<A>>>: overlapping blocks
  bool coalesced = false;  // Coalesced<A>, without the other adaptors
  bool two_heaps = false;  // TwoHeaps<A>, without the other adaptors
  // Counted or guarded jobs: allocation number fail_at and all later ones fail; 0 = none.
  std::uint64_t fail_at = 0;
  double seconds = 500;  // time limit of one phase; see launch.hpp
};

// Errors found by Guarded.
struct GuardErrors {
  std::uint64_t overlaps = 0, outside = 0, misaligned = 0;
  std::uint64_t total() const { return overlaps + outside + misaligned; }
};

struct OpResult {
  static constexpr std::uint64_t failed = std::numeric_limits<std::uint64_t>::max();
  // allocate, exchange: the block's address minus the pool's base (modulo 2^64 if it lies outside:
  // traits.in_pool), or `failed`. Other operations: 0.
  std::uint64_t offset = 0;
  // free, exchange: bytes or words of the freed block that differ from its pattern.
  std::uint64_t value = 0;
};

struct ExercisePhaseResult {
  std::vector<std::vector<OpResult>> ops;  // results, indexed as ExercisePhase::scripts
  std::vector<alloc::Region> regions;      // walk() after the phase
  // Counted and guarded jobs: bytes requested, by granule of the pool.
  std::vector<std::uint32_t> requested;
};

struct ExerciseResult {
  std::vector<ExercisePhaseResult> phases;
  std::vector<alloc::Region> initial;  // walk() after create()
  bool same_initial_walk = true;       // whether all cycles gave the same one
  std::uint64_t mismatches = 0;        // sum of all pattern errors, all cycles
  std::uint64_t failures = 0;          // allocations that returned nullptr, last cycle
  alloc::RequestStats requests;        // counted and guarded jobs
  GuardErrors guard;                   // guarded jobs; all phases of the last cycle
};

}  // namespace heapwood::workloads
