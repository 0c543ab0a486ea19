// SPDX-License-Identifier: MIT
// Measures builds and prints nothing; the command line and the viewer present the results.
//
// For each scene: one pool size for all allocators and a warm-up of each. Then run 1 of all
// allocators, run 2 of all, and so on, so that drift affects all alike. Then one instrumented build
// of each (requests, fragmentation). Trees are compared by hash.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/earlier_results.hpp"
#include "bench/results/result.hpp"
#include "bench/row_bench.hpp"
#include "simt/device.hpp"

namespace heapwood::bench {

class PreparedScene;

struct BenchJob {
  std::vector<std::string> scenes;
  Allocators allocators;
  BuildSettings settings;  // used by all builds
  // Sizes of the pool, in each of which every scene is measured; empty: only that of the settings.
  std::vector<PoolSize> pools{};
  simt::DeviceInfo device;
  // The allocator that determines the size of an automatic pool; nullptr: it suffices for each.
  const Allocator* pool_probe = nullptr;
  // Build time per allocator and scene, in seconds, including the warm-up. A run starts only if one
  // as long as the last would fit; if none fits, the warm-up is the only run. 0 = no limit.
  double budget_seconds = 0;
  bool instrument_all = true;  // false: only until one complete tree has given the requests
  // Earlier results with the same settings and device: reused instead of measured.
  std::vector<Result> kept;
};

struct BenchResult {
  std::vector<Result> results;  // by scene, pool and allocator
  bool interrupted = false;
  std::optional<Error> scene_error;  // a scene that could not be read, which ends the benchmark
};

struct BenchEvents {
  // Arguments: builds done, builds in total, the next step.
  std::function<void(std::size_t, std::size_t, const std::string&)> progress;
  // Called after each scene, with all results so far.
  std::function<void(const BenchResult&)> scene_done;
  // Called after the warm-up of an allocator, when its tree can be downloaded from the workspace.
  std::function<void(PreparedScene&, Result&)> tree_built;
};

// A failure of one allocator is not thrown: its result has a status and a reason.
BenchResult run_bench(const BenchJob& job, const BenchEvents& events);

// The reason why this allocator cannot build a tree, or nullptr.
const char* cannot_build(const Allocator& entry);
// Finds an allocator by its id. Throws Error{Exit::usage} if it does not exist or cannot build.
const Allocator& find_builder(const std::string& id);

// Computes the slowdowns of a scene's results in one pool, relative to AtomicMalloc or, if that has
// no result, to the first complete result of an allocator that frees.
void compute_slowdowns(std::vector<Result*>& scene);

// Reads the earlier results of a benchmark of builds. Prints which are reused and what has changed.
Earlier<Result> read_earlier_results(const std::string& path, const BenchJob& job);

}  // namespace heapwood::bench
