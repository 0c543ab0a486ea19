// SPDX-License-Identifier: MIT
// `heapwood build --profile`: measurement, table and JSON (schema heapwood.profile/1 in
// docs/profile.md).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/prepared_scene.hpp"
#include "bench/results/json_report.hpp"
#include "kdtree/build/profile.hpp"

namespace heapwood::bench {

inline constexpr const char* profile_schema = "heapwood.profile/1";

struct ProfiledBuild {
  std::string scene, allocator, label;
  std::size_t triangles = 0;
  kdtree::BuildProfile profile;
  // Without the probe: with the allocator, and with the no-cost allocator.
  std::vector<double> runs_ms, without_cost_ms;
};

// Throws Error{Exit::usage} if builds with these settings cannot be profiled.
void check_profile(const BuildSettings& settings, const std::string& allocator);
// The scene's pool must be large enough for the allocator. `announce` receives each next step.
ProfiledBuild profile_build(PreparedScene& scene, const registry::RegisteredAllocator& entry,
                            const BuildSettings& settings,
                            const std::function<void(const std::string&)>& announce);

// The allocator's share of the warps' working time, without waiting.
double share_of_calls(const kdtree::BuildProfile& profile);
// The share of the build time that the no-cost allocator saves.
std::optional<double> share_of_build(const ProfiledBuild& built);

Json to_json(const ProfiledBuild& built);

}  // namespace heapwood::bench
