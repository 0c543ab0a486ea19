// SPDX-License-Identifier: MIT
// `heapwood build --profile`: measured, as a table and as JSON (schema heapwood.profile/1 in docs/profile.md).
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
  // Without the probe: with the allocator, and with memory at no cost.
  std::vector<double> runs_ms, without_cost_ms;
};

// Whether there is a profile of builds with these settings; throws Error{Exit::usage} that says what there is.
void check_profile(const BuildSettings& settings, const std::string& allocator);
// The scene's pool has to be large enough for the allocator. `announce` is told what comes next.
ProfiledBuild profile_build(PreparedScene& scene, const engine::Entry& entry, const BuildSettings& settings,
                            const std::function<void(const std::string&)>& announce);

Json to_json(const ProfiledBuild& built);
Table profile_table(const ProfiledBuild& built);

}  // namespace heapwood::app
