// SPDX-License-Identifier: MIT
// Runs builds with a probe: a template over the allocator and the device.
#pragma once

#include "alloc/private_bump.hpp"
#include "kdtree/build/driver.hpp"
#include "kdtree/build/profile.hpp"

namespace heapwood::kdtree {

// The device memory in which the probes count.
class ProfileMemory {
 public:
  static constexpr std::uint32_t copies = 64;

  ProfileMemory(const simt::DeviceId& device, unsigned warps)
      : sums_(device, copies), origin_(device, 1), warps_(device, warps) {}

  TimeProbe probe(std::uint32_t shift) {
    sums_.fill(0);
    origin_.fill(0);
    warps_.fill(0);
    return {sums_.data(), copies, shift, origin_.data(), warps_.data()};
  }

  void download(BuildProfile& profile) const {
    profile.warps = warps_.download();
    profile.warps.resize(profile.run.warps);
    profile.sums = {};
    for (const TimeSums& part : sums_.download()) {
      for (unsigned i = 0; i < profile_levels * phase_count; ++i) {
        profile.sums.ns[i] += part.ns[i];
        profile.sums.visits[i] += part.visits[i];
      }
      for (unsigned i = 0; i < profile_buckets; ++i) {
        for (unsigned phase = 0; phase < phase_count; ++phase)
          profile.sums.by_time[i][phase] += part.by_time[i][phase];
      }
      for (unsigned i = 0; i < wait_buckets; ++i) profile.sums.waits[i] += part.waits[i];
    }
  }

 private:
  simt::Buffer<TimeSums> sums_;
  simt::Buffer<std::uint64_t> origin_;
  simt::Buffer<WarpTimes> warps_;
};

// NoCostBuilder's build on any device.
template <class Device>
BuildRun build_no_cost(const Device& device, Workspace& workspace, const BuildOptions& options) {
  return build_with<alloc::PrivateBump, RefKind::clipped>(device, workspace, options, [&] {
    return alloc::PrivateBump::create(workspace.pool(), workspace.allocator_options(), device);
  });
}

template <class Allocator, class Device>
BuildProfile profile_of(const Device& device, Workspace& workspace, const BuildOptions& options) {
  if (workspace.refs() != RefKind::clipped)
    throw Error(Exit::usage, "only builds with clipped refs can be profiled; use --refs clipped");
  if (workspace.mesh().triangles.size() == 0) return {};
  using Kernel = BuildKernel<Allocator, RefKind::clipped, TimeProbe>;
  ProfileMemory memory(workspace.device(), device.template resident_warps<Kernel>());
  BuildProfile profile;
  // The width of the time buckets must be chosen before the build time is known. So the build is
  // repeated with wider buckets until it fits into them. The first build also warms up the device.
  std::uint32_t shift = 10, wanted = shift;
  do {
    shift = wanted;
    profile.run = build_with<Allocator, RefKind::clipped>(
        device, workspace, options,
        [&] {
          return Allocator::create(workspace.pool(), options_for<Allocator>(workspace), device);
        },
        [&] { return memory.probe(shift); });
    memory.download(profile);
    while (profile.wall_ns() >> wanted >= profile_buckets) ++wanted;
  } while (wanted != shift);
  profile.bucket_ns = std::uint64_t{1} << shift;
  return profile;
}

}  // namespace heapwood::kdtree
