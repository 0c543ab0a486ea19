// SPDX-License-Identifier: MIT
// Runs a ParticlesJob with allocator A on a Device.
#pragma once

#include "alloc/allocator.hpp"
#include "simt/clock.hpp"
#include "simt/launch.hpp"
#include "simt/memory.hpp"
#include "workloads/particles/particles.hpp"

namespace heapwood::workloads::particles {

// One round, a thread per primary.
template <class A>
struct ParticlesKernel : StepKernel {
  A allocator;
  Round round;
  List* lists;
  Tally* tallies;  // of each warp
  bool ends;       // frees all lists

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    A a = allocator;
    const std::uint64_t primary = thread_of(warp);
    const bool has_primary = primary < round.primaries;
    if (primary - warp.lane() >= round.primaries) return;  // more than were asked for
    Tally tally{};
    if (has_primary) {
      List list = lists[primary];
      update_list(
          round, primary, list, ends, tally,
          [&](std::size_t bytes) { return a.allocate(warp, bytes); },
          [&](void* block) { a.deallocate(warp, block); }, [&] { return warp.aborted(); });
      lists[primary] = list;
    }
    add_tally(warp, tallies[warp.worker()], tally);
  }
};

template <class A, class Device>
StepsResult run_particles(const Device& device, const ParticlesJob& job) {
  const unsigned warps = warps_for<Device>(job.primaries);
  const alloc::AllocatorTraits& traits = alloc::traits_on<A>(device);
  simt::Buffer<List> lists(job.device, job.primaries);
  simt::Buffer<Tally> tallies(job.device, warps);
  lists.fill(0);
  tallies.fill(0);
  ParticlesKernel<A> kernel{};
  kernel.lists = lists.data();
  kernel.tallies = tallies.data();
  StepsResult result;
  result.reset_ms =
      simt::measure_ms([&] { kernel.allocator = A::create(job.pool, job.options, device); });
  const alloc::ReleaseAtEnd<A, Device> release(job.pool, device);
  const auto launch = [&](std::uint32_t number, double seconds) {
    kernel.round = job.round(number);
    return device.launch_independent(kernel, warps, {.seconds = seconds, .what = traits.id});
  };
  const auto free_all = [&] {
    kernel.ends = true;
    launch(0, max_free_seconds);
  };
  const auto live = [&] {
    std::uint64_t bytes = 0;
    for (const List& list : lists.download()) {
      for (std::uint32_t depth = 0; depth < list.chunks; ++depth) bytes += Chunk::bytes_at(depth);
    }
    return bytes;
  };
  StepResult& rounds = result.steps.emplace_back();
  try {
    for (std::uint32_t number = 0; number < job.rounds; ++number) {
      const double seconds_left = job.seconds - rounds.ms / 1e3;
      if (seconds_left <= 0) throw simt::Stopped(simt::Stopped::Reason::time_limit, traits.id);
      rounds.ms += launch(number, seconds_left);
      if (job.inspects_after(number) && traits.in_pool)
        inspect_pool(kernel.allocator, job.device, number, live, result);
    }
  } catch (const simt::Stopped&) {
    if (!traits.in_pool) free_all();
    throw;
  }
  if (job.inspects || !traits.in_pool) free_all();
  job.conclude(tallies.download(), result);
  return result;
}

}  // namespace heapwood::workloads::particles
