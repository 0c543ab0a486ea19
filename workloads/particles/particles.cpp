// SPDX-License-Identifier: MIT
#include "workloads/particles/particles.hpp"

#include <algorithm>

#include "simt/cpu.hpp"
#include "workloads/counted_input.hpp"
#include "workloads/particles/rings_run.hpp"

namespace heapwood::workloads::particles {

Round ParticlesInput::round(std::uint32_t number) const {
  constexpr std::uint64_t one = 65536, mean_lifetime = 5;
  // The exponent of 2, in 16 fractional bits; between powers of 2 the rate grows linearly.
  std::uint64_t rate = one;
  if (population == Population::doubling) {
    const std::uint64_t log = 2 * one * number / rounds;
    rate = (one + log % one) << log / one;
  } else if (population == Population::collapsing) {
    const std::uint64_t log = 8 * one * number / rounds;
    rate = (2 * one - log % one) >> log / one >> 1;
  }
  // The first round makes the population that a constant rate would lead to.
  if (number == 0) rate *= mean_lifetime;
  return {seed, primaries, number, static_cast<std::uint32_t>(rate)};
}

ParticlesInput parse_particles(const std::string& name, std::uint32_t rounds) {
  const auto counted = parse_counted(name, "particles", "particles",
                                     {"steady", "doubling", "collapsing"}, 20'000'000);
  if (!counted)
    throw Error(Exit::usage,
                "particles '" + name + "': expected steady:1m, doubling:1m or collapsing:1m");
  constexpr std::uint64_t max_work = 20'000'000'000;  // rounds of primaries
  if (counted->count * rounds > max_work)
    throw Error(Exit::usage, "particles '" + name + "' in " + std::to_string(rounds) +
                                 " rounds: too much work; use fewer particles or --rounds");
  ParticlesInput input;
  input.name = name;
  input.population = counted->name == "steady"     ? Population::steady
                     : counted->name == "doubling" ? Population::doubling
                                                   : Population::collapsing;
  input.primaries = counted->count;
  input.seed = counted->seed;
  input.rounds = rounds;
  return input;
}

std::uint64_t ParticlesData::peak_bytes() const { return *std::ranges::max_element(live_bytes); }

ParticlesData prepare_particles(const ParticlesInput& input) {
  constexpr std::uint64_t part_primaries = 1024;
  struct Part {
    Census end;
    std::vector<std::uint64_t> live_bytes;
  };
  const auto chunk_bytes = [](std::size_t particles) {
    std::uint64_t bytes = 0;
    for (std::uint32_t depth = 0; particles > 0; ++depth) {
      bytes += Chunk::bytes_at(depth);
      particles -= std::min<std::size_t>(particles, Chunk::capacity_at(depth));
    }
    return bytes;
  };
  std::vector<Part> parts((input.primaries + part_primaries - 1) / part_primaries);
  const auto run_part = [&](std::size_t index) {
    Part& part = parts[index];
    part.live_bytes.resize(input.rounds);
    std::vector<Particle> now, next;
    const std::uint64_t begin = index * part_primaries,
                        end = std::min(input.primaries, begin + part_primaries);
    for (std::uint64_t primary = begin; primary < end && !simt::interrupted(); ++primary) {
      now.clear();
      for (std::uint32_t number = 0; number < input.rounds; ++number) {
        const Round round = input.round(number);
        Tally tally{};
        next.clear();
        for (Particle& p : now) {
          const Fate fate = advance(p, round.key_of(primary), tally);
          if (fate.lives) next.push_back(p);
          if (fate.splits) next.push_back(fate.child);
        }
        const std::uint32_t emitted = round.emitted_by(primary);
        for (std::uint32_t i = 0; i < emitted; ++i) next.push_back(round.secondary(primary, i));
        now.swap(next);
        part.live_bytes[number] += chunk_bytes(now.size());
      }
      for (const Particle& p : now) {
        ++part.end.particles;
        part.end.energy += p.energy;
        part.end.digest += digest_of(primary, p);
      }
    }
  };
  simt::Cpu().for_each(parts.size(), run_part, 2);
  simt::check_interruption({.what = "the expected particles"});
  ParticlesData data;
  data.input = input;
  data.live_bytes.resize(input.rounds);
  for (const Part& part : parts) {
    data.end.particles += part.end.particles;
    data.end.energy += part.end.energy;
    data.end.digest += part.end.digest;
    for (std::uint32_t i = 0; i < input.rounds; ++i) data.live_bytes[i] += part.live_bytes[i];
  }
  return data;
}

bool is_inspected(const ParticlesInput& input, std::uint32_t round) {
  constexpr std::uint32_t max_inspections = 25;
  const std::uint32_t stride = std::max(1u, input.rounds / max_inspections);
  return (round + 1) % stride == 0 || round + 1 == input.rounds;
}

void check_particles(const ParticlesData& data, const Tally& tally, const Census& census) {
  const auto fail = [](const std::string& what, std::uint64_t seen, std::uint64_t expected) {
    throw Error(Exit::failed,
                what + ": " + std::to_string(seen) + " instead of " + std::to_string(expected));
  };
  if (census.particles != tally.born - tally.died)
    fail("particles are not conserved", census.particles, tally.born - tally.died);
  if (census.energy != tally.energy_in - tally.energy_out)
    fail("energy is not conserved", census.energy, tally.energy_in - tally.energy_out);
  if (tally.refused == 0 && census != data.end)
    fail("the particles differ from those computed on the host: their digest is", census.digest,
         data.end.digest);
}

Census count_particles(const simt::DeviceId& device, const List* lists, std::uint64_t primaries,
                       double seconds) {
  if (device.kind == simt::DeviceKind::cpu)
    return rings_detail::count(simt::Cpu(device), lists, primaries, seconds);
  if constexpr (simt::has_cuda) return particles_cuda::count(device, lists, primaries, seconds);
  simt::throw_without_cuda("particles");
}

StepsResult run_rings(const ParticlesJob& job) {
  if (job.device.kind == simt::DeviceKind::cpu)
    return rings_detail::run_rings(simt::Cpu(job.device), job);
  if constexpr (simt::has_cuda) return particles_cuda::run_rings(job);
  simt::throw_without_cuda("particles");
}

}  // namespace heapwood::workloads::particles
