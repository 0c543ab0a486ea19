// SPDX-License-Identifier: MIT
// heapwood particles: conserved sums, populations, exhaustion, with every allocator and with rings.
#include <gtest/gtest.h>

#include "alloc/allocators/heapwood.hpp"
#include "tests/errors.hpp"
#include "tests/simt/lockstep.hpp"
#include "tests/workloads/stress_jobs.hpp"
#include "workloads/particles/particles_run.hpp"
#include "workloads/particles/rings_run.hpp"

namespace heapwood::workloads::particles {
namespace {

class Particles : public StepsJobs {
 protected:
  ParticlesJob job(std::size_t pool_bytes, std::uint64_t primaries, std::uint32_t rounds,
                   Population population = Population::steady) {
    ParticlesJob job = job_in<ParticlesJob>(pool_bytes);
    job.population = population;
    job.primaries = primaries;
    job.rounds = rounds;
    return job;
  }
};

// A run with `inspects` checks energy and numbers, and the digest if no particle was lost. Lists of
// every allocator and rings have the same particles.
TEST_F(Particles, EveryAllocatorGivesTheSameParticles) {
  const StepsResult rings = run_rings(job(std::size_t{16} << 20, 500, 20));
  ASSERT_EQ(rings.refused(), 0u);
  const auto run = [&](const registry::CompiledAllocator& allocator, std::size_t pool) {
    if (pool < 1 << 20) return allocator.particles(job(pool, 800, 6, Population::doubling));
    ParticlesJob ample = job(pool, 500, 20);
    ample.digest = rings.digest;
    return allocator.particles(ample);
  };
  run_each(run, (64 << 10) + 1,
           [&](const StepsResult& ample) { EXPECT_EQ(ample.digest, rings.digest); });
  EXPECT_GT(run_rings(job(16 << 10, 500, 20)).refused(), 0u);
}

TEST_F(Particles, WarpsOfSeveralLanes) {
  if (device_.kind != simt::DeviceKind::cpu) GTEST_SKIP() << "simulated warps are of CPU threads";
  const simt::Lockstep<4> device(3);
  for (const std::size_t pool : {std::size_t{1} << 20, std::size_t{1} << 10})
    EXPECT_EQ(rings_detail::run_rings(device, job(pool, 40, 8)).refused() == 0, pool == 1 << 20);
  EXPECT_EQ((run_particles<alloc::Heapwood>(device, job(1 << 20, 40, 8)).refused()), 0u);
}

TEST_F(Particles, AllRoundsTogetherHaveTheTimeLimit) {
  if (device_.kind != simt::DeviceKind::cpu) GTEST_SKIP() << "compiled for CPU threads";
  ParticlesJob endless = job(1 << 20, 40, ~std::uint32_t{0});
  endless.inspects = false;
  endless.seconds = 0.05;
  EXPECT_THROW(run_particles<alloc::Heapwood>(simt::Cpu(device_), endless), simt::Stopped);
}

TEST_F(Particles, Populations) {
  const auto growth = [&](Population population) {
    const StepsResult result = run_rings(job(std::size_t{16} << 20, 2000, 100, population));
    return static_cast<double>(result.memory.back().live_bytes) /
           static_cast<double>(result.memory.front().live_bytes);
  };
  EXPECT_NEAR(growth(Population::steady), 1, 0.2);
  EXPECT_NEAR(growth(Population::doubling), 3, 0.7);
  EXPECT_LT(growth(Population::collapsing), 0.2);
}

TEST_F(Particles, DifferencesAreFound) {
  ParticlesJob checked = job(1 << 20, 5, 1);
  checked.digest = 7;
  Tally tally{};
  tally.sums[Tally::digest] = 7;
  StepsResult result;
  result.steps.emplace_back();
  checked.conclude({tally}, result);
  const auto expect_error = [&](const char* what, Tally::Sum changed) {
    Tally other = tally;
    ++other.sums[changed];
    tests::expect_error(Exit::failed, {what}, [&] { checked.conclude({other}, result); });
  };
  expect_error("energy is not conserved", Tally::energy_out);
  expect_error("particles are not conserved", Tally::died);
  expect_error("digest", Tally::digest);
  tally.sums[Tally::refused] = 1;  // other particles are expected then
  ++tally.sums[Tally::digest];
  checked.conclude({tally}, result);
}

TEST_F(Particles, LeaveNoBlocksInAHeapOutsideThePool) {
  ParticlesJob plain = job(1 << 20, 100, 20);
  plain.inspects = false;
  expect_no_blocks_left([&](const auto& allocator) { allocator.particles(plain); });
}

}  // namespace
}  // namespace heapwood::workloads::particles
