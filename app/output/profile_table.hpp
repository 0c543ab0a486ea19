// SPDX-License-Identifier: MIT
// The tables of `heapwood build --profile` and `bench --profile`.
#pragma once

#include "bench/build_profile.hpp"
#include "bench/results/table.hpp"

namespace heapwood::app {

// Of a build with a profile: its phases.
bench::Table profile_table(const bench::ProfiledBuild& built);
// Of all allocators with one scene: the shares of malloc and free in the build.
bench::Table allocator_share_table(const std::vector<bench::ProfiledBuild>& all);
// And the time of an allocation by level of the tree. No columns if no build has a profile.
bench::Table level_table(const std::vector<bench::ProfiledBuild>& all);

}  // namespace heapwood::app
