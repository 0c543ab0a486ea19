// SPDX-License-Identifier: MIT
// Scripts of allocator calls, run on any device: what the conformance tests are written in. A job is plain host data;
// the kernel that runs it is in exercise_run.hpp, behind engine::Engine::exercise.
//
// A script is a list of operations for one lane of one warp. Operations name slots; a slot holds at most one live
// block. Slots are shared by every lane and every phase (a phase is one kernel launch on the same pool), and are taken
// with one atomic exchange, so a block may be freed by another warp than the one that allocated it, in the same phase
// or a later one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/statistics.hpp"

namespace heapwood::alloc {

struct Op {
  enum class Kind : std::uint32_t {
    allocate,  // a block of `bytes` into `slot`; a block that was there is forgotten (leaked)
    free,      // takes the block out of `slot` and frees it; nothing if the slot is empty
    fill,      // writes the block's pattern
    check,     // reads it back; differences are counted in the operation's result
    exchange,  // allocate, fill, put into `slot`; the block that was there is checked and freed. Race-free across lanes
    free_keep,  // frees the block but leaves it in the slot: a later free is a double free (guarded jobs)
    overrun,    // writes one byte behind the block's end (guarded jobs)
    underrun,   // writes one byte in front of the block (guarded jobs)
    free_wild,  // frees the address pool base + `bytes`, which nobody was given (guarded jobs)
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
  AllocatorOptions options;
  unsigned warps = 1;
  unsigned lanes = 1;  // lanes of a warp that run a script; on narrower warps one lane runs several scripts in turn
  std::uint32_t slots = 0;
  std::vector<ExercisePhase> phases;
  unsigned cycles = 1;        // create() and all phases, this many times; results are those of the last one
  bool counted = false;       // Counted<Failing<A>>: RequestStats and the log of requested bytes
  bool guarded = false;       // Counted<Guarded<Failing<A>>>: canaries, overlap, double free
  bool coalesced = false;     // Coalesced<A>, without the other adaptors
  std::uint64_t fail_at = 0;  // counted or guarded: allocation number fail_at and all later ones fail; 0 = none
  double seconds = 60;        // time limit of one phase
};

// What Guarded found. The operands of the first error say where.
struct GuardErrors {
  enum class Kind : std::uint32_t { none, overlap, underrun, overrun, double_free, foreign, misaligned, outside };
  std::uint64_t count[8] = {};  // by Kind
  Kind first = Kind::none;
  std::uint64_t first_offset = 0;  // of the block, bytes from the pool's base
  std::uint64_t first_bytes = 0;   // as requested, where known
  std::uint64_t of(Kind kind) const { return count[static_cast<unsigned>(kind)]; }
  std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t c : count) sum += c;
    return sum;
  }
};

struct OpResult {
  static constexpr std::uint64_t failed = std::numeric_limits<std::uint64_t>::max();
  // allocate, exchange: the block's address minus the pool's base (modulo 2^64 if it lies outside: traits.in_pool), or
  // `failed`. Other operations: 0.
  std::uint64_t offset = 0;
  // check: bytes or words that differ from the pattern. exchange: those of the block that was taken out.
  // free, free_keep, fill, ...: 1 if the slot held a block.
  std::uint64_t value = 0;
};

struct ExercisePhaseResult {
  double ms = 0;
  std::vector<std::vector<OpResult>> ops;  // as in ExercisePhase::scripts
  std::vector<Region> regions;             // walk() after the phase
  std::vector<std::uint32_t> requested;    // counted and guarded jobs: bytes asked for, by granule of the pool
};

struct ExerciseResult {
  std::vector<ExercisePhaseResult> phases;
  std::vector<Region> initial;    // walk() after create()
  bool same_initial_walk = true;  // in every cycle
  double create_ms = 0;           // of the last cycle
  std::uint64_t mismatches = 0;   // sum of all pattern errors, all cycles
  std::uint64_t failures = 0;     // allocations that returned nullptr, last cycle
  RequestStats requests;          // counted and guarded jobs
  GuardErrors guard;              // guarded jobs; all phases of the last cycle
};

}  // namespace heapwood::alloc
