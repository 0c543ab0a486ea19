// SPDX-License-Identifier: MIT
// The parts of the particle workload without an allocator, on a Device; included once per device:
// the census of lists, and the rings. A ring has the secondaries of 32 primaries. A warp takes the
// particles from its head and appends those that live on, and new ones, at its tail.
#pragma once

#include <algorithm>
#include <vector>

#include "simt/atomic_ref.hpp"
#include "simt/launch.hpp"
#include "simt/math.hpp"
#include "simt/memory.hpp"
#include "workloads/particles/particles.hpp"
#include "workloads/particles/tallies.hpp"

namespace heapwood::workloads::particles::rings_detail {

template <class Warp>
HEAPWOOD_INLINE void add_census(const Warp& warp, Census* total, const Census& own) {
  const std::uint64_t sums[] = {add_up(warp, own.particles), add_up(warp, own.energy),
                                add_up(warp, own.digest)};
  if (warp.lane() != 0) return;
  std::uint64_t* const words[] = {&total->particles, &total->energy, &total->digest};
  // relaxed: the host reads the sums after the launch.
  for (int i = 0; i < 3; ++i)
    simt::atomic_ref<std::uint64_t>(*words[i]).fetch_add(sums[i], simt::relaxed);
}

HEAPWOOD_INLINE void add(Census& census, std::uint64_t primary, const Particle& p) {
  ++census.particles;
  census.energy += p.energy;
  census.digest += digest_of(primary, p);
}

struct CountKernel : StepKernel {
  const List* lists;
  std::uint64_t primaries;
  Census* total;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t primary = item_of(warp);
    Census own;
    if (primary < primaries) {
      const List list = lists[primary];
      const Chunk* chunk = list.newest;
      std::uint32_t count = list.in_newest;
      HEAPWOOD_ROLLED
      for (std::uint32_t depth = list.chunks; depth-- > 0; chunk = chunk->next) {
        HEAPWOOD_ROLLED
        for (std::uint32_t i = 0; i < count; ++i) add(own, primary, chunk->particles[i]);
        count = depth > 0 ? Chunk::capacity_at(depth - 1) : 0;
      }
    }
    add_census(warp, total, own);
  }
};

constexpr std::uint32_t ring_primaries = 32;

struct Ring {
  std::uint64_t head;
  std::uint64_t count;
};

struct RingKernel : StepKernel {
  Round round;
  Ring* rings;
  Particle* particles;  // `capacity` per ring
  std::uint64_t capacity;
  Tally* tallies;  // of each ring
  Census* census;  // set: only counts the particles

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t number = warp.worker(), first = number * ring_primaries;
    if (first >= round.primaries) return;
    Ring ring = rings[number];
    Particle* const base = particles + number * capacity;
    Tally tally{};
    Census own;
    std::uint64_t appended = 0;
    HEAPWOOD_ROLLED
    for (std::uint64_t begin = 0; begin < ring.count; begin += Warp::width) {
      const std::uint64_t i = begin + warp.lane();
      Particle p{};
      Fate fate{false, false, {}};
      if (i < ring.count) {
        p = base[(ring.head + i) % capacity];
        const std::uint64_t primary = first + p.lane;
        if (census != nullptr)
          add(own, primary, p);
        else
          fate = advance(p, round.key_of(primary), tally);
      }
      if (census != nullptr) continue;
      warp.sync();  // all lanes have read their particles
      const std::uint64_t end = begin + Warp::width < ring.count ? begin + Warp::width : ring.count;
      const std::uint64_t kept = append(warp, base, ring, end, appended, fate.lives, p, tally);
      if (fate.lives && kept == 0) {
        ++tally.died;
        tally.energy_out += p.energy;
      }
      const std::uint64_t added =
          append(warp, base, ring, end, appended, fate.splits, fate.child, tally);
      if (fate.splits && added != 0) tally.add_born(fate.child);
      warp.sync();
    }
    if (census != nullptr) return add_census(warp, census, own);
    HEAPWOOD_ROLLED
    for (std::uint32_t lane = warp.lane(); lane < ring_primaries; lane += Warp::width) {
      const std::uint64_t primary = first + lane;
      const std::uint32_t emitted = primary < round.primaries ? round.emitted_by(primary) : 0;
      HEAPWOOD_ROLLED
      for (std::uint32_t i = 0; warp.any(i < emitted); ++i) {
        const Particle p = round.secondary(primary, i);
        if (append(warp, base, ring, ring.count, appended, i < emitted, p, tally) != 0)
          tally.add_born(p);
      }
    }
    if (warp.lane() == 0) rings[number] = {(ring.head + ring.count) % capacity, appended};
    add_tally(warp, tallies[number], tally);
  }

 private:
  // Appends the particles of the lanes with `wants`, after `taken` were taken from the head.
  // Returns whether the lane's one was appended, else 0.
  template <class Warp>
  HEAPWOOD_INLINE std::uint64_t append(const Warp& warp, Particle* base, const Ring& ring,
                                       std::uint64_t taken, std::uint64_t& appended, bool wants,
                                       const Particle& p, Tally& tally) const {
    const std::uint32_t lanes = warp.ballot(wants);
    const std::uint64_t space = capacity - (ring.count - taken) - appended;
    const std::uint32_t rank = simt::popcount(lanes & ((1u << warp.lane()) - 1)),
                        all = simt::popcount(lanes);
    const bool fits = wants && rank < space;
    if (fits) base[(ring.head + ring.count + appended + rank) % capacity] = p;
    tally.requests += wants;
    tally.refused += wants && !fits;
    appended += all < space ? all : space;
    return fits;
  }
};

template <class Device>
Census count(const Device& device, const List* lists, std::uint64_t primaries, double seconds) {
  simt::Buffer<Census> total(device.id(), 1);
  total.fill(0);
  CountKernel kernel{};
  kernel.lists = lists;
  kernel.primaries = primaries;
  kernel.total = total.data();
  device.launch_independent(kernel, warps_for<Device>(primaries),
                            {.seconds = seconds, .what = "the census of particles"});
  return total.download().front();
}

template <class Device>
StepsResult run_rings(const Device& device, const ParticlesJob& job) {
  const ParticlesInput& input = job.data->input;
  const std::uint64_t rings = (input.primaries + ring_primaries - 1) / ring_primaries;
  simt::Buffer<Ring> buffer(job.device, rings);
  simt::Buffer<Tally> tallies(job.device, rings);
  buffer.fill(0);
  tallies.fill(0);
  RingKernel kernel{};
  kernel.rings = buffer.data();
  kernel.particles = reinterpret_cast<Particle*>(job.pool.base);
  kernel.capacity = job.pool.bytes / rings / sizeof(Particle);
  kernel.tallies = tallies.data();
  if (kernel.capacity == 0) throw Error(Exit::usage, "the pool has no space for the rings");
  const auto launch = [&](std::uint32_t number) {
    kernel.round = input.round(number);
    return device.launch_independent(kernel, static_cast<unsigned>(rings),
                                     {.seconds = job.seconds, .what = "the rings"});
  };
  StepsResult result;
  StepResult& step = result.steps.emplace_back();
  for (std::uint32_t round = 0; round < input.rounds; ++round) {
    step.ms += launch(round);
    if (!job.inspects || !is_inspected(input, round)) continue;
    std::uint64_t particles = 0;
    for (const Ring& ring : buffer.download()) particles += ring.count;
    result.memory.push_back(
        {round, sizeof(Particle) * particles, rings * kernel.capacity * sizeof(Particle)});
  }
  const Tally tally = sum_of(tallies.download());
  step.requests = tally.requests;
  step.refused = tally.refused;
  if (!job.inspects) return result;
  simt::Buffer<Census> census(job.device, 1);
  census.fill(0);
  kernel.census = census.data();
  launch(0);
  check_particles(*job.data, tally, census.download().front());
  return result;
}

}  // namespace heapwood::workloads::particles::rings_detail
