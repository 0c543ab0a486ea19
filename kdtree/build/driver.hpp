// SPDX-License-Identifier: MIT
// Runs the single-kernel builder: host code, a template over the allocator and the device.
// registry/instance.hpp instantiates it.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "alloc/adaptors/counted.hpp"
#include "alloc/adaptors/failing.hpp"
#include "alloc/adaptors/recorded.hpp"
#include "kdtree/build/build.hpp"
#include "kdtree/build/worker.hpp"
#include "kdtree/build/workspace.hpp"
#include "simt/clock.hpp"
#include "simt/launch.hpp"

namespace heapwood::kdtree {

// The time limit of a build with all its launches: a restart does not extend it.
class BuildDeadline {
 public:
  // Error messages begin with `what`. Starts at options.started or, by default, now.
  BuildDeadline(std::string what, const BuildOptions& options)
      : what_(std::move(what)),
        seconds_(options.seconds),
        started_(options.started.value_or(simt::HostClock::now())) {}

  // Calls f with the limits of a launch and returns the milliseconds that f reports.
  template <class F>
  double launch(F f) const {
    return f(limits());
  }
  // To be called before a restart. Throws simt::Stopped if interrupted or out of time.
  void check() const {
    simt::check_outcome(0, {}, simt::interrupted() || limits().seconds <= 0, simt::interrupted(),
                        limits());
  }

 private:
  // Error messages state the limit of the build, not what is left of it for a launch.
  simt::LaunchLimits limits() const {
    return {.seconds = seconds_ - simt::seconds_since(started_),
            .what = what_.c_str(),
            .stated_seconds = seconds_};
  }

  std::string what_;
  double seconds_;
  simt::HostClock::time_point started_;
};

// The number of warps of a launch. If memory is scarce, a scene with little work per warp is built
// faster by fewer warps: as many as the allocator prefers, but at least two fifths of the resident
// ones. Both limits were measured (docs/experiments.md).
template <class Allocator>
unsigned warps_for(const Allocator& allocator, std::size_t triangles, unsigned resident) {
  if constexpr (requires { allocator.preferred_warps(resident); }) {
    constexpr std::size_t max_triangles_per_warp = 200;
    const unsigned min_warps = (resident * 2 + 4) / 5;
    if (triangles < max_triangles_per_warp * resident)
      return std::max(min_warps, allocator.preferred_warps(resident));
  }
  return resident;
}

template <class Allocator, RefKind kind, class Device, class Probe = NoProbe>
BuildRun launch_build(const Device& device, Workspace& workspace, const Allocator& allocator,
                      const BuildOptions& options, const BuildDeadline& deadline,
                      const Probe& probe = {}) {
  using Kernel = BuildKernel<Allocator, kind, Probe>;
  Workspace::Parts& p = workspace.parts();
  Workspace::Parts::Counters* const counters = p.counters.data();
  Kernel kernel{
      .allocator = allocator,
      .costs = options.costs,
      .vertices = p.mesh->vertices.data(),
      .triangles = p.mesh->triangles.data(),
      .triangle_count = static_cast<std::uint32_t>(p.mesh->triangles.size()),
      .are_boxes = workspace.refs() == RefKind::boxes,
      .probe = probe,
      .corners = p.corners.data(),
      .queue = TaskQueue(&counters->queue, p.ring.data(), static_cast<std::uint32_t>(p.ring.size()),
                         DeferredNodes(p.deferred.data())),
      .shared = SharedNodes(&counters->shared, p.shared.data(),
                            static_cast<std::uint32_t>(p.shared.size())),
      .counters = &counters->build,
      .nodes = p.nodes.data(),
      .pair_capacity = p.nodes.size() / 2,
      .refs = p.output.data(),
      .ref_capacity = p.output.size()};
  BuildRun run;
  const unsigned resident = device.template resident_warps<Kernel>();
  run.warps = options.warps == 0 ? warps_for(allocator, p.mesh->triangles.size(), resident)
                                 : std::min(options.warps, resident);
  run.reset_ms = simt::measure_ms([&] { p.reset(run.warps); });
  run.ms = deadline.launch(
      [&](const simt::LaunchLimits& limits) { return device.launch(kernel, run.warps, limits); });
  simt::device_download(workspace.device(), &p.last, &counters->build, sizeof p.last);
  run.failed_splits = p.last.failed_splits;
  run.failed_bytes = p.last.failed_bytes;
  run.incomplete = p.incomplete = p.last.failed_splits != 0;
  return run;
}

// Resets the workspace, creates the allocator (or its adaptors) with `make_allocator()` and builds.
// Repeats all of it with larger output arrays if they overflow.
template <class Allocator, RefKind kind, class Device, class Make, class MakeProbe = NoProbe (*)()>
BuildRun build_with(
    const Device& device, Workspace& workspace, const BuildOptions& options, Make make_allocator,
    MakeProbe make_probe = [] { return NoProbe{}; }) {
  const BuildDeadline deadline(std::string(alloc::traits_on<Allocator>(device).id) + ": build",
                               options);
  for (;;) {
    std::optional<decltype(make_allocator())> allocator;
    const double create_ms = simt::measure_ms([&] { allocator.emplace(make_allocator()); });
    const alloc::ReleaseAtEnd<Allocator, Device> release(workspace.pool(), device);
    try {
      BuildRun run = launch_build<decltype(make_allocator()), kind>(
          device, workspace, *allocator, options, deadline, make_probe());
      run.reset_ms += create_ms;
      return run;
    } catch (const simt::KernelFailure& failure) {
      if (failure.code == count_mismatch) {
        throw Error(Exit::failed, count_mismatch_message(failure.operand));
      }
      if (failure.code != nodes_overflow && failure.code != refs_overflow) throw;
      deadline.check();
      workspace.parts().grow(failure.code);
    }
  }
}

// Whether a pool of this allocator can be kept between builds: not if the allocator has release(),
// which runs after every build and frees the blocks that it holds outside the pool.
template <class Allocator, class Device>
bool keeps_pool(const Device& device) {
  if constexpr (requires { device.functions; }) return device.functions->release == nullptr;
  return !requires(alloc::Pool pool) { Allocator::release(pool, device.id()); };
}

// The kept handle if it belongs to this allocator, otherwise nullptr.
template <class Allocator, class Device>
const Allocator* kept_handle(const KeptAllocator& kept, const Device& device) {
  const auto* handle = std::any_cast<Allocator>(&kept.handle);
  if constexpr (requires { device.functions; }) {
    if (handle != nullptr && handle->functions() != device.functions) return nullptr;
  }
  return handle;
}

// The options to create Allocator with. Persistent warps need an allocator with a context.
template <class Allocator>
alloc::AllocatorOptions options_for(const Workspace& workspace) {
  alloc::AllocatorOptions options = workspace.allocator_options();
  if (!requires { typename Allocator::WarpState; }) {
    options.has_persistent_warps = false;
    options.spare_bytes_for_warps = 0;
  }
  return options;
}

template <class Allocator, class Device>
BuildRun build(const Device& device, Workspace& workspace, const BuildOptions& options) {
  if (workspace.mesh().triangles.size() == 0) return {};
  KeptAllocator* const kept = keeps_pool<Allocator>(device) ? options.kept : nullptr;
  Allocator used{};
  const BuildRun run = with_ref_kind(workspace.refs(), [&]<RefKind kind>() {
    return build_with<Allocator, kind>(device, workspace, options, [&] {
      const Allocator* const earlier = kept ? kept_handle<Allocator>(*kept, device) : nullptr;
      used = earlier
                 ? *earlier
                 : Allocator::create(workspace.pool(), options_for<Allocator>(workspace), device);
      // A build that was stopped leaves blocks in the pool, so the next one must reset it.
      if (kept) kept->handle.reset();
      return used;
    });
  });
  if (!kept) return run;
  kept->handle = used;
  kept->regions = [used, id = workspace.device()] { return alloc::regions_of(used, id); };
  return run;
}

// One kernel serves instrumented and recorded builds: capacity 0 records nothing.
template <class Allocator, class Device>
RecordedRun build_recorded(const Device& device, Workspace& workspace, const BuildOptions& options,
                           std::size_t capacity) {
  using Failing = alloc::Failing<Allocator>;
  using Counted = alloc::Counted<Failing>;
  using Instrumented = alloc::Recorded<Counted>;
  RecordedRun result;
  if (workspace.mesh().triangles.size() == 0) return result;
  const alloc::Pool pool = workspace.pool();
  alloc::CountedMemory counted(workspace.device(), pool.bytes);
  alloc::FailingMemory failing(workspace.device(), options.fail_at);
  alloc::RecordedMemory recorded(workspace.device(), capacity);
  Allocator base{};
  result.instrumented.run = with_ref_kind(workspace.refs(), [&]<RefKind kind>() {
    return build_with<Allocator, kind>(device, workspace, options, [&] {
      counted.reset();
      failing.reset();
      recorded.reset();
      base = Allocator::create(pool, options_for<Instrumented>(workspace), device);
      return Instrumented::create(Counted::create(Failing::create(base, failing), pool, counted),
                                  pool, recorded);
    });
  });
  result.instrumented.requests = counted.result();
  result.regions = alloc::regions_of(base, workspace.device());
  result.instrumented.at_end =
      alloc::fragmentation_by_region(result.regions, counted.requested(result.regions, device));
  result.events_in_all = recorded.total();
  result.events = recorded.events();
  return result;
}

}  // namespace heapwood::kdtree
