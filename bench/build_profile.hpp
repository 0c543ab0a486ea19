// SPDX-License-Identifier: MIT
// `heapwood build --profile`: measurement and JSON (heapwood.profile/1 in docs/measuring.md).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/prepared_scene.hpp"
#include "bench/results/json_report.hpp"
#include "bench/results/result.hpp"
#include "kdtree/build/profile.hpp"

namespace heapwood::bench {

inline constexpr const char* profile_schema = "heapwood.profile/1";

struct ProfiledBuild : MeasuredRow {
  std::string scene;
  std::size_t triangles = 0;
  std::uint64_t pool_bytes = 0;
  // Absent if no kernel with the probe is compiled for the allocator.
  std::optional<kdtree::BuildProfile> profile;
  // Build times without the probe: with the allocator, and with the no-cost allocator.
  std::vector<double> runs_ms, without_cost_ms;
};

// Whether a kernel with the probe is compiled for the allocator on this device.
bool can_profile(const Allocator& entry, const simt::DeviceInfo& device);
// Throws Error{Exit::usage} if builds with these settings cannot be profiled, or if no kernel with
// the probe is compiled for the allocator.
void check_profile(const BuildSettings& settings, const Allocator& entry,
                   const simt::DeviceInfo& device);
// The scene's pool must be large enough for the allocator. `announce` is called before each step.
ProfiledBuild profile_build(PreparedScene& scene, const Allocator& entry,
                            const BuildSettings& settings,
                            const std::function<void(const std::string&)>& announce);

// The share of calls of the allocator in the warps' working time, which excludes waiting.
double share_of_calls(const kdtree::BuildProfile& profile);
// The share of the build time that the no-cost allocator saves.
std::optional<double> share_of_build(const ProfiledBuild& built);

Json to_json(ProfiledBuild built);

}  // namespace heapwood::bench
