// SPDX-License-Identifier: MIT
// Runs a ParticlesJob with allocator A on a Device.
#pragma once

#include "alloc/allocator.hpp"
#include "simt/clock.hpp"
#include "simt/launch.hpp"
#include "simt/memory.hpp"
#include "workloads/particles/particles.hpp"
#include "workloads/particles/tallies.hpp"

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
    const std::uint64_t primary = item_of(warp);
    const bool has_primary = primary < round.primaries;
    Tally tally{};
    if (has_primary) {
      List list = lists[primary];
      update_list(
          round, primary, list, ends, tally,
          [&](std::size_t bytes) { return a.allocate(warp, bytes); },
          [&](void* block) { a.deallocate(warp, block); });
      lists[primary] = list;
    }
    if (!ends) add_tally(warp, tallies[warp.worker()], tally);
  }
};

template <class A, class Device>
class ParticlesRun {
 public:
  ParticlesRun(const Device& device, const ParticlesJob& job)
      : device_(device),
        job_(job),
        input_(job.data->input),
        warps_(warps_for<Device>(input_.primaries)),
        lists_(job.device, input_.primaries),
        tallies_(job.device, warps_) {
    lists_.fill(0);
    tallies_.fill(0);
  }

  StepsResult run() {
    StepsResult result;
    result.reset_ms =
        simt::measure_ms([&] { allocator_ = A::create(job_.pool, job_.options, device_); });
    const alloc::ReleaseAtEnd<A, Device> release(job_.pool, device_);
    StepResult& rounds = result.steps.emplace_back();
    try {
      for (std::uint32_t number = 0; number < input_.rounds; ++number) {
        rounds.ms += launch(number, false, job_.seconds);
        if (job_.inspects && traits().in_pool && is_inspected(input_, number))
          inspect(number, result);
      }
      const Tally tally = sum_of(tallies_.download());
      rounds.requests = tally.requests;
      rounds.refused = tally.refused;
      if (job_.inspects) {
        check_particles(
            *job_.data, tally,
            count_particles(job_.device, lists_.data(), input_.primaries, job_.seconds));
      }
    } catch (const simt::Stopped&) {
      if (!traits().in_pool) launch(0, true, max_free_seconds);
      throw;
    }
    if (!traits().in_pool) launch(0, true, max_free_seconds);
    return result;
  }

 private:
  double launch(std::uint32_t number, bool ends, double seconds) {
    ParticlesKernel<A> kernel{};
    kernel.allocator = allocator_;
    kernel.round = input_.round(number);
    kernel.lists = lists_.data();
    kernel.tallies = tallies_.data();
    kernel.ends = ends;
    return device_.launch_independent(kernel, warps_, {.seconds = seconds, .what = traits().id});
  }

  void inspect(std::uint32_t round, StepsResult& result) {
    const std::uint64_t held = held_bytes_of(allocator_, job_.device);
    if (held == 0) return;
    std::uint64_t live = 0;
    for (const List& list : lists_.download()) {
      for (std::uint32_t depth = 0; depth < list.chunks; ++depth) live += Chunk::bytes_at(depth);
    }
    result.memory.push_back({round, live, held});
  }

  const alloc::AllocatorTraits& traits() const { return alloc::traits_on<A>(device_); }

  const Device& device_;
  const ParticlesJob& job_;
  const ParticlesInput& input_;
  const unsigned warps_;
  A allocator_{};
  simt::Buffer<List> lists_;
  simt::Buffer<Tally> tallies_;
};

template <class A, class Device>
StepsResult run_particles(const Device& device, const ParticlesJob& job) {
  return ParticlesRun<A, Device>(device, job).run();
}

}  // namespace heapwood::workloads::particles
