// SPDX-License-Identifier: MIT
// The table of `heapwood build --profile`.
#pragma once

#include "bench/build_profile.hpp"
#include "bench/results/table.hpp"

namespace heapwood::app {

// Of a build with a profile: its phases.
bench::Table profile_table(const bench::ProfiledBuild& built);

}  // namespace heapwood::app
