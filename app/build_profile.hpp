// SPDX-License-Identifier: MIT
// `heapwood build --profile`: measurement, table and JSON (schema heapwood.profile/1 in
// docs/profile.md).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/json_report.hpp"
#include "app/prepared_scene.hpp"
#include "app/table.hpp"
#include "kdtree/profile.hpp"

namespace heapwood::app {

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
ProfiledBuild profile_build(PreparedScene& scene, const engine::Entry& entry, const BuildSettings& settings,
                            const std::function<void(const std::string&)>& announce);

Json to_json(const ProfiledBuild& built);
Table profile_table(const ProfiledBuild& built);

}  // namespace heapwood::app
