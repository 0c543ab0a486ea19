// SPDX-License-Identifier: MIT
// Runs a ReplayJob with allocator A on a Device. Included by registry/instance.hpp and by tests
// that provide their own devices.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "simt/error.hpp"
#include "simt/launch.hpp"
#include "workloads/program_trace/replay.hpp"
#include "workloads/program_trace/replay_kernel.hpp"

namespace heapwood::workloads {

template <class A, class Device>
class ReplayRun {
 public:
  ReplayRun(const Device& device, const ReplayJob& job)
      : device_(device), job_(job), plan_(*job.plan), data_(*job.data) {}

  ReplayResult run() {
    data_.reset(plan_);
    const auto start = std::chrono::steady_clock::now();
    allocator_ = A::create(job_.pool, job_.options, device_);
    result_.reset_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    const alloc::ReleaseAtEnd<A, Device> release(job_.pool, device_);
    std::optional<ReplayInspector> inspector;
    if (job_.inspected != nullptr) inspector.emplace(*job_.inspected, job_.pool, traits().in_pool);
    for (std::size_t i = 0; i < plan_.launches.size(); ++i) {
      try {
        result_.ms += launch(i);
      } catch (const simt::Stopped&) {
        free_remaining();
        throw;
      }
      if (inspector) {
        const std::vector<std::uint64_t> blocks = data_.blocks.download();
        inspector->observe(plan_.launches[i].end_event, blocks,
                           alloc::regions_of(allocator_, job_.device));
      }
    }
    if (inspector) result_.inspection = inspector->take();
    count_refused();
    free_remaining();
    result_.damaged = data_.damaged.download().front();
    return result_;
  }

 private:
  double launch(std::size_t number) {
    const ReplayLaunch& part = plan_.launches[number];
    using Kernel = ReplayKernel<A>;
    Kernel kernel{};
    kernel.allocator = allocator_;
    kernel.bytes = data_.bytes.data();
    kernel.requests = data_.requests.data();
    kernel.groups = data_.groups.data();
    kernel.begins = data_.warp_begins.data() + part.first_warp;
    kernel.progress = data_.progress.data() + part.first_warp;
    kernel.step_warps = data_.step_warps.data() + part.first_step;
    kernel.steps_ended = data_.steps_ended.data() + number;
    kernel.blocks = data_.blocks.data();
    kernel.damaged = data_.damaged.data();
    kernel.warps = part.warps;
    kernel.calls = job_.calls;
    kernel.stamps = job_.stamps;
    kernel.marks_frees = !traits().in_pool;
    const double left = std::max(0.1, job_.seconds - result_.ms / 1e3);
    return device_.launch(kernel,
                          std::min<unsigned>(part.warps, device_.template resident_warps<Kernel>()),
                          {.seconds = left, .what = traits().id, .stated_seconds = job_.seconds});
  }

  // A heap outside the pool is not reset: blocks that were not freed would be missing later.
  void free_remaining() {
    if constexpr (!alloc::stays_in_pool<A>) {
      using Kernel = ReplayReleaseKernel<A>;
      if (!traits().in_pool && job_.calls)
        device_.launch(Kernel{allocator_, data_.blocks.data(), plan_.bytes.size()},
                       device_.template resident_warps<Kernel>(),
                       {.seconds = max_free_seconds, .what = traits().id});
    }
  }

  void count_refused() {
    if (!job_.calls) return;
    const std::vector<std::uint64_t> blocks = data_.blocks.download();
    for (std::size_t r = 0; r < plan_.bytes.size(); ++r) {
      if (blocks[r] != ReplayBlock::refused) continue;
      if (result_.refused++ == 0) result_.first_refused_bytes = plan_.bytes[r];
    }
  }

  const alloc::AllocatorTraits& traits() const { return alloc::traits_on<A>(device_); }

  static constexpr double max_free_seconds = 60;

  const Device& device_;
  const ReplayJob& job_;
  const ReplayPlan& plan_;
  ReplayData& data_;
  A allocator_{};
  ReplayResult result_;
};

template <class A, class Device>
ReplayResult replay_program(const Device& device, const ReplayJob& job) {
  return ReplayRun<A, Device>(device, job).run();
}

}  // namespace heapwood::workloads
