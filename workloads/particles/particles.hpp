// SPDX-License-Identifier: MIT
// Secondaries of a particle transport: every primary has a list of chunks that grows and shrinks
// (particle.hpp). The kernel with an allocator is in particles_run.hpp, called through
// registry::CompiledAllocator::particles; the method without one is a ring of fixed capacity per
// 32 primaries.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/particles/particle.hpp"
#include "workloads/steps.hpp"

namespace heapwood::workloads::particles {

enum class Population : std::uint8_t { steady, doubling, collapsing };

struct ParticlesJob : StepsJob {
  Population population = Population::steady;
  std::uint64_t primaries = 1000, seed = 1;
  std::uint32_t rounds = 100;
  std::optional<std::uint64_t> digest;  // the expected one, if no particle is lost

  Round round(std::uint32_t number) const;
  // Whether an inspected run looks at the pool after a round.
  bool inspects_after(std::uint32_t number) const;
  // Stores the figures of a run. With `inspects`, all particles have ended; throws
  // Error{Exit::failed} if energy or particles are not conserved, or if the digest differs.
  void conclude(const std::vector<Tally>& tallies, StepsResult& result) const;
};

// All rounds with rings whose memory is the job's pool. Particles that do not fit are lost.
// Compiled once per device; throws Error{Exit::device} for a GPU in a program without CUDA.
StepsResult run_rings(const ParticlesJob& job);
namespace particles_cuda {
StepsResult run_rings(const ParticlesJob& job);
}

// The sum of 64-bit numbers over the lanes of a warp.
template <class Warp>
HEAPWOOD_INLINE std::uint64_t add_up(const Warp& warp, std::uint64_t value) {
  constexpr unsigned bits = 24;
  constexpr std::uint64_t mask = (1u << bits) - 1;
  std::uint64_t sum = 0;
  HEAPWOOD_UNROLLED
  for (unsigned shift = 0; shift < 64; shift += bits)
    sum += std::uint64_t{warp.reduce_add(static_cast<std::uint32_t>(value >> shift & mask))}
           << shift;
  return sum;
}

// Adds the tallies of all lanes to `total`, which no other warp writes.
template <class Warp>
HEAPWOOD_INLINE void add_tally(const Warp& warp, Tally& total, const Tally& own) {
  HEAPWOOD_UNROLLED
  for (int i = 0; i < Tally::count; ++i) {
    const std::uint64_t sum = add_up(warp, own.sums[i]);
    if (warp.lane() == 0) total.sums[i] += sum;
  }
}

}  // namespace heapwood::workloads::particles
