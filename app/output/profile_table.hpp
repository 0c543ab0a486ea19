// SPDX-License-Identifier: MIT
// The table of `heapwood build --profile`.
#pragma once

#include "bench/build_profile.hpp"
#include "bench/results/table.hpp"

namespace heapwood::app {

bench::Table profile_table(const bench::ProfiledBuild& built);

}  // namespace heapwood::app
