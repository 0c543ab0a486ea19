// SPDX-License-Identifier: MIT
// Secondaries of a particle transport: every primary has a list of chunks that grows and shrinks
// (particle.hpp). The kernel with an allocator is in particles_run.hpp, called through
// registry::CompiledAllocator::particles; the baseline without one is a ring of fixed capacity per
// warp of primaries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/particles/particle.hpp"
#include "workloads/steps.hpp"

namespace heapwood::workloads::particles {

enum class Population : std::uint8_t { steady, doubling, collapsing };

struct ParticlesInput {
  std::string name;  // as given
  Population population = Population::steady;
  std::uint64_t primaries = 1'000'000, seed = 1;
  std::uint32_t rounds = 100;

  Round round(std::uint32_t number) const;
};

// Parses "steady:COUNT[:SEED]", "doubling:..." or "collapsing:...". Throws Error{Exit::usage}.
ParticlesInput parse_particles(const std::string& name, std::uint32_t rounds);

// All living secondaries.
struct Census {
  std::uint64_t particles = 0, energy = 0;
  std::uint64_t digest = 0;  // a sum, so their order does not count
  bool operator==(const Census&) const = default;
};
HEAPWOOD_INLINE std::uint64_t digest_of(std::uint64_t primary, const Particle& p) {
  return mixed(primary, bits_of(p));
}

// The input, and what all rounds make of it, computed on CPU threads.
struct ParticlesData {
  ParticlesInput input;
  Census end;
  std::vector<std::uint64_t> live_bytes;  // of all chunks, after each round

  std::uint64_t peak_bytes() const;
};
ParticlesData prepare_particles(const ParticlesInput& input);

struct ParticlesJob : StepsJob {
  const ParticlesData* data = nullptr;
};

// The rounds after which an inspected run looks at the pool.
bool is_inspected(const ParticlesInput& input, std::uint32_t round);
// Throws Error{Exit::failed} if energy or particles are not conserved or, if none was lost, if the
// particles differ from those computed on the host.
void check_particles(const ParticlesData& data, const Tally& tally, const Census& census);

// Compiled once per device; throw Error{Exit::device} for a GPU in a program without CUDA.
Census count_particles(const simt::DeviceId& device, const List* lists, std::uint64_t primaries,
                       double seconds);
// All rounds with rings whose memory is the job's pool. Particles that do not fit are lost.
StepsResult run_rings(const ParticlesJob& job);

namespace particles_cuda {
Census count(const simt::DeviceId& device, const List* lists, std::uint64_t primaries,
             double seconds);
StepsResult run_rings(const ParticlesJob& job);
}  // namespace particles_cuda

}  // namespace heapwood::workloads::particles
