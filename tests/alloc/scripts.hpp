// SPDX-License-Identifier: MIT
// Scripts of allocator calls (workloads/exercise.hpp), which several tests run, and their results.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "simt/cpu.hpp"
#include "tests/alloc/conformance.hpp"
#include "tests/alloc/exercise_erased.hpp"

namespace heapwood::alloc::test {

using workloads::ExerciseJob;
using workloads::ExercisePhase;
using workloads::ExercisePhaseResult;
using workloads::ExerciseResult;
using workloads::Op;
using workloads::OpResult;
using Script = std::vector<Op>;

inline const simt::DeviceId four_threads{.kind = simt::DeviceKind::cpu, .index = 0, .threads = 4};

// A job of one lane per warp.
inline ExerciseJob job_of(std::size_t pool_bytes, unsigned warps, std::uint32_t slots,
                          std::vector<ExercisePhase> phases = {},
                          const AllocatorOptions& options = {}) {
  ExerciseJob job;
  job.device = four_threads;
  job.pool_bytes = pool_bytes;
  job.options = options;
  job.warps = warps;
  job.slots = slots;
  job.phases = std::move(phases);
  return job;
}

// One operation for every step-th slot from `first` to before `end`.
inline Script of_slots(Kind kind, std::uint32_t first, std::uint32_t end, std::uint64_t bytes = 0,
                       std::uint32_t step = 1) {
  Script script;
  for (std::uint32_t slot = first; slot < end; slot += step) script.push_back({kind, slot, bytes});
  return script;
}
// The scripts of several lanes, each for its share of `each` slots.
inline ExercisePhase of_shares(std::uint32_t scripts, std::uint32_t each, Kind kind,
                               std::uint64_t bytes = 0) {
  ExercisePhase phase;
  for (std::uint32_t s = 0; s < scripts; ++s)
    phase.scripts.push_back(of_slots(kind, s * each, (s + 1) * each, bytes));
  return phase;
}
// Frees the blocks in all slots, in scripts that take turns.
inline ExercisePhase free_all(std::uint32_t scripts, std::uint32_t slots) {
  ExercisePhase phase;
  for (std::uint32_t s = 0; s < scripts; ++s)
    phase.scripts.push_back(of_slots(Kind::free, s, slots, 0, scripts));
  return phase;
}
// Each lane exchanges blocks in random slots; size(random) draws a block's bytes.
template <class Size>
ExercisePhase exchange_at_random(std::uint32_t scripts, std::uint32_t slots, unsigned each,
                                 std::uint64_t seed, Size size) {
  ExercisePhase phase;
  for (std::uint32_t s = 0; s < scripts; ++s) {
    Random random(seed + s);
    Script script;
    for (unsigned i = 0; i < each; ++i) {
      const std::uint32_t slot = random(slots);
      script.push_back({Kind::exchange, slot, size(random)});
    }
    phase.scripts.push_back(script);
  }
  return phase;
}

// Requests that were served.
inline std::uint32_t served(const ExercisePhaseResult& phase) {
  std::uint32_t n = 0;
  for (const auto& ops : phase.ops) {
    for (const OpResult& r : ops) n += r.offset != OpResult::failed;
  }
  return n;
}
inline std::size_t used_bytes(const ExercisePhaseResult& phase) {
  return bytes_in(phase.regions, Region::State::used);
}

}  // namespace heapwood::alloc::test
