// SPDX-License-Identifier: MIT
// Builds of one scene with several allocators, in one pool or in several, as those of
// `heapwood bench`, whose results can be watched while it runs.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "bench/bench_runner.hpp"

namespace heapwood::viewer {

// The reason of a result without a build so far.
inline constexpr const char* waiting_reason = "waiting for its first build";
// Whether a result of a running comparison has no time and will get one.
bool is_waiting(const bench::Result& result);

struct ComparisonHooks {
  // Builds done, builds in total, and the next step.
  std::function<void(std::size_t, std::size_t, const std::string&)> progress;
  // At most 20 times per second: all results so far, in the order of the job's allocators.
  std::function<void(std::vector<bench::Result>)> partial;
  std::function<void(bench::PreparedScene&, bench::Result&)> tree_built;
};

// Measures one pool after the other, or the settings' pool if the list is empty. The allocators of
// a pool are measured in random order: the time of a build depends on the state in which the
// previous one has left the device and the caches, and that should not be the same allocator's
// every time. Results are in the job's order.
bench::BenchResult compare_builds(const bench::BenchJob& job,
                                  const std::vector<bench::PoolSize>& pools,
                                  const ComparisonHooks& hooks);

}  // namespace heapwood::viewer
