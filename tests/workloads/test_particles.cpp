// SPDX-License-Identifier: MIT
// heapwood particles: conserved sums, populations, exhaustion, with every allocator and with rings.
#include <gtest/gtest.h>

#include "alloc/allocators/cuda_malloc.hpp"
#include "alloc/allocators/heapwood.hpp"
#include "tests/errors.hpp"
#include "tests/simt/lockstep.hpp"
#include "tests/workloads/stress_jobs.hpp"
#include "workloads/particles/particles_run.hpp"
#include "workloads/particles/rings_run.hpp"

namespace heapwood::workloads::particles {
namespace {

class Particles : public StressJobs {
 protected:
  void prepare(const std::string& population, std::uint32_t rounds = 30) {
    data_ = prepare_particles(parse_particles(population, rounds));
  }
  ParticlesJob job(std::size_t pool_bytes) {
    if (memory_.bytes() != pool_bytes) memory_ = simt::Memory(device_, pool_bytes);
    ParticlesJob job;
    job.device = device_;
    job.pool = {memory_.data(), pool_bytes};
    job.inspects = true;
    job.data = &data_;
    return job;
  }

  ParticlesData data_;
};

// A run with `inspects` checks energy, particles and their digest.
TEST_F(Particles, EveryAllocatorGivesTheSameParticles) {
  prepare("steady:200");
  ASSERT_GT(data_.end.particles, 200u);
  each_allocator([&](const registry::CompiledAllocator& allocator) {
    if (!allocator.traits->keeps_live_memory) return;
    const StepsResult result = allocator.particles(job(std::size_t{16} << 20));
    ASSERT_EQ(result.steps.size(), 1u);
    if (std::string(allocator.traits->id) == "toy") return;  // few blocks of one size
    EXPECT_EQ(result.refused(), 0u);
    EXPECT_GT(result.steps[0].requests, 200u);
    for (const StepMemory& memory : result.memory) {
      EXPECT_EQ(memory.live_bytes, data_.live_bytes[memory.step]) << memory.step;
      EXPECT_GE(memory.held_bytes, memory.live_bytes);
    }
  });
}

TEST_F(Particles, RefusedRequestsLoseNoEnergy) {
  prepare("doubling:800", 6);
  each_allocator([&](const registry::CompiledAllocator& allocator) {
    const std::size_t pool = std::max<std::size_t>(64 << 10, allocator.traits->smallest_pool);
    if (!allocator.traits->keeps_live_memory) return;
    const StepsResult result = allocator.particles(job(pool));
    const bool is_full = allocator.traits->in_pool && pool < data_.peak_bytes();
    EXPECT_TRUE(!is_full || result.refused() > 0);
  });
}

TEST_F(Particles, RingsGiveTheSameParticlesOrLoseSome) {
  prepare("steady:100");
  const StepsResult ample = run_rings(job(1 << 20));
  EXPECT_EQ(ample.refused(), 0u);
  EXPECT_EQ(ample.memory.back().live_bytes, sizeof(Particle) * data_.end.particles);
  const StepsResult small = run_rings(job(4 << 10));
  EXPECT_GT(small.refused(), 0u);
}

TEST_F(Particles, WarpsOfSeveralLanes) {
  if (device_.kind != simt::DeviceKind::cpu) GTEST_SKIP() << "simulated warps are of CPU threads";
  prepare("steady:40", 8);
  const simt::Lockstep<4> device(3);
  for (const std::size_t pool : {std::size_t{1} << 20, std::size_t{1} << 10}) {
    const ParticlesJob rings = job(pool);
    EXPECT_EQ(rings_detail::run_rings(device, rings).refused() == 0, pool == 1 << 20);
  }
  const ParticlesJob lists = job(1 << 20);
  EXPECT_EQ((run_particles<alloc::Heapwood>(device, lists).refused()), 0u);
}

TEST_F(Particles, Populations) {
  const auto growth = [&](const char* name) {
    prepare(name, 100);
    return static_cast<double>(data_.live_bytes.back()) / static_cast<double>(data_.live_bytes[5]);
  };
  EXPECT_NEAR(growth("steady:2000"), 1, 0.2);
  EXPECT_NEAR(growth("doubling:2000"), 3, 0.7);
  EXPECT_LT(growth("collapsing:2000"), 0.2);
}

TEST_F(Particles, DifferencesAreFound) {
  prepare("steady:50");
  Tally tally{};
  tally.born = data_.end.particles;
  tally.energy_in = data_.end.energy;
  check_particles(data_, tally, data_.end);
  const auto expect_error = [&](const char* what, std::uint64_t Census::*changed) {
    Census census = data_.end;
    ++(census.*changed);
    tests::expect_error(Exit::failed, {what}, [&] { check_particles(data_, tally, census); });
  };
  expect_error("energy is not conserved", &Census::energy);
  expect_error("particles are not conserved", &Census::particles);
  expect_error("digest", &Census::digest);
  Census changed = data_.end;
  ++changed.digest;
  tally.refused = 1;  // other particles are expected then
  check_particles(data_, tally, changed);
}

TEST_F(Particles, LeaveNoBlocksInAHeapOutsideThePool) {
  if (device_.kind != simt::DeviceKind::cpu) GTEST_SKIP() << "a GPU's heap does not count";
  const registry::RegisteredAllocator* const builtin = registry::find("cuda");
  if (builtin == nullptr) GTEST_SKIP() << "not compiled in";
  prepare("steady:100");
  builtin->cpu->particles(job(1 << 20));
  EXPECT_EQ(reinterpret_cast<const alloc::CudaMalloc::Head*>(memory_.data())->live, 0u);
}

}  // namespace
}  // namespace heapwood::workloads::particles
