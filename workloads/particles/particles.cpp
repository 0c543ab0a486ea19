// SPDX-License-Identifier: MIT
#include "workloads/particles/particles.hpp"

#include <algorithm>
#include <string>

#include "simt/cpu.hpp"
#include "workloads/particles/rings_run.hpp"

namespace heapwood::workloads::particles {

Round ParticlesJob::round(std::uint32_t number) const {
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

bool ParticlesJob::inspects_after(std::uint32_t number) const {
  constexpr std::uint32_t max_inspections = 10;
  const std::uint32_t stride = std::max(1u, rounds / max_inspections);
  return inspects && ((number + 1) % stride == 0 || number + 1 == rounds);
}

void ParticlesJob::conclude(const std::vector<Tally>& tallies, StepsResult& result) const {
  Tally all{};
  for (const Tally& one : tallies) all.add(one);
  result.steps.front().requests = all.sums[Tally::requests];
  result.steps.front().refused = all.sums[Tally::refused];
  result.digest = all.sums[Tally::digest];
  if (!inspects) return;
  const auto check = [](const char* what, std::uint64_t seen, std::uint64_t expected) {
    if (seen == expected) return;
    throw Error(Exit::failed, std::string(what) + ": " + std::to_string(seen) + " instead of " +
                                  std::to_string(expected));
  };
  check("particles are not conserved", all.sums[Tally::died], all.sums[Tally::born]);
  check("energy is not conserved", all.sums[Tally::energy_out], all.sums[Tally::energy_in]);
  if (digest && all.sums[Tally::refused] == 0)
    check("the particles differ from those of another allocator; digest", result.digest, *digest);
}

StepsResult run_rings(const ParticlesJob& job) {
  if (job.device.kind == simt::DeviceKind::cpu)
    return rings_detail::run_rings(simt::Cpu(job.device), job);
  if constexpr (simt::has_cuda) return particles_cuda::run_rings(job);
  simt::throw_without_cuda("particles");
}

}  // namespace heapwood::workloads::particles
