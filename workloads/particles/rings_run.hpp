// SPDX-License-Identifier: MIT
// The particle workload without an allocator, on a Device; included once per device. A ring has the
// secondaries of 32 primaries. A warp takes the particles from its head and appends those that live
// on, and new ones, at its tail.
#pragma once

#include "simt/launch.hpp"
#include "simt/math.hpp"
#include "simt/memory.hpp"
#include "workloads/particles/particles.hpp"

namespace heapwood::workloads::particles::rings_detail {

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
  bool ends;       // takes all particles

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t number = warp.worker(), first = number * ring_primaries;
    if (first >= round.primaries) return;
    Ring ring = rings[number];
    Particle* const base = particles + number * capacity;
    Tally tally{};
    std::uint64_t appended = 0;
    HEAPWOOD_ROLLED
    for (std::uint64_t begin = 0; begin < ring.count; begin += Warp::width) {
      const std::uint64_t i = begin + warp.lane();
      Particle p{};
      Fate fate{false, false, {}};
      if (i < ring.count) {
        p = base[wrapped(ring.head + i)];
        const std::uint64_t primary = first + p.lane;
        if (ends)
          tally.add_last(p, primary);
        else
          fate = advance(p, round.key_of(primary), tally);
      }
      if (ends) continue;
      warp.sync();  // all lanes have read their particles
      const std::uint64_t end = begin + Warp::width < ring.count ? begin + Warp::width : ring.count;
      const bool kept = append(warp, base, ring, end, appended, fate.lives, p, tally);
      if (fate.lives && !kept) tally.add_died(p);
      const bool added = append(warp, base, ring, end, appended, fate.splits, fate.child, tally);
      if (fate.splits && added) tally.add_born(fate.child);
      warp.sync();
    }
    HEAPWOOD_ROLLED
    for (std::uint32_t lane = warp.lane(); lane < ring_primaries; lane += Warp::width) {
      const std::uint64_t primary = first + lane;
      const std::uint32_t emitted =
          !ends && primary < round.primaries ? round.emitted_by(primary) : 0;
      HEAPWOOD_ROLLED
      for (std::uint32_t i = 0; warp.any(i < emitted); ++i) {
        const Particle p = round.secondary(primary, i);
        if (append(warp, base, ring, ring.count, appended, i < emitted, p, tally))
          tally.add_born(p);
      }
    }
    if (warp.lane() == 0) rings[number] = {wrapped(ring.head + ring.count), appended};
    add_tally(warp, tallies[number], tally);
  }

 private:
  // A place below twice the capacity, in the ring.
  HEAPWOOD_INLINE std::uint64_t wrapped(std::uint64_t place) const {
    return place < capacity ? place : place - capacity;
  }

  // Appends the particles of the lanes with `wants`, after `taken` were taken from the head.
  // Returns whether the lane's one was appended.
  template <class Warp>
  HEAPWOOD_INLINE bool append(const Warp& warp, Particle* base, const Ring& ring,
                              std::uint64_t taken, std::uint64_t& appended, bool wants,
                              const Particle& p, Tally& tally) const {
    const std::uint32_t lanes = warp.ballot(wants);
    const std::uint64_t space = capacity - (ring.count - taken) - appended;
    const std::uint32_t rank = simt::popcount(lanes & ((1u << warp.lane()) - 1)),
                        all = simt::popcount(lanes);
    const bool fits = wants && rank < space;
    if (fits) base[wrapped(wrapped(ring.head + ring.count) + appended + rank)] = p;
    tally.sums[Tally::requests] += wants;
    tally.sums[Tally::refused] += wants && !fits;
    appended += all < space ? all : space;
    return fits;
  }
};

template <class Device>
StepsResult run_rings(const Device& device, const ParticlesJob& job) {
  const std::uint64_t rings = (job.primaries + ring_primaries - 1) / ring_primaries;
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
    kernel.round = job.round(number);
    return device.launch_independent(kernel, static_cast<unsigned>(rings),
                                     {.seconds = job.seconds, .what = "the rings"});
  };
  StepsResult result;
  StepResult& step = result.steps.emplace_back();
  for (std::uint32_t round = 0; round < job.rounds; ++round) {
    step.ms += launch(round);
    if (!job.inspects_after(round)) continue;
    std::uint64_t live = 0;
    for (const Ring& ring : buffer.download()) live += ring.count * sizeof(Particle);
    result.memory.push_back({round, live, rings * kernel.capacity * sizeof(Particle)});
  }
  kernel.ends = true;
  if (job.inspects) launch(0);
  job.conclude(tallies.download(), result);
  return result;
}

}  // namespace heapwood::workloads::particles::rings_detail
