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

#include "bench/results/result.hpp"
#include "bench/row_bench.hpp"
#include "simt/device.hpp"

namespace heapwood::bench {

class PreparedScene;

struct BenchJob {
  std::vector<std::string> scenes;
  Allocators allocators;   // of the single-kernel builder
  BuildSettings settings;  // of all builds
  // Sizes of the pool, in which each scene is measured in turn; empty: that of the settings. The
  // per-level builder has no pool and is measured with the first.
  std::vector<PoolSize> pools{};
  simt::DeviceInfo device;
  // The pool of --pool auto is as large as this one needs; nullptr: as large as every allocator
  // needs.
  const Allocator* pool_probe = nullptr;
  // Build time per allocator and scene, in seconds, including the warm-up. A run starts only if one
  // as long as the last would fit; if none fits, the warm-up is the only run. 0 = no limit.
  double budget_seconds = 0;
  bool instrument_all = true;  // false: requests of the first complete tree only
  // Earlier results with the same settings and device: reused instead of measured.
  std::vector<Result> kept;
};

struct BenchResult {
  // Per scene and pool: allocators in order, then the per-level builder.
  std::vector<Result> results;
  bool interrupted = false;
  std::optional<Error> scene_error;  // a scene that could not be read; it ends the benchmark
};

struct BenchEvents {
  // Builds done, builds in total, and the next step.
  std::function<void(std::size_t, std::size_t, const std::string&)> progress;
  // After each scene, with all results so far.
  std::function<void(const BenchResult&)> scene_done;
  // After the warm-up of an allocator: its tree can be downloaded from the workspace.
  std::function<void(PreparedScene&, Result&)> tree_built;
};

// A failure of one allocator is not thrown: its result has a status and a reason.
BenchResult run_bench(const BenchJob& job, const BenchEvents& events);

// Why no tree can be built with this allocator, or nullptr.
const char* cannot_build(const Allocator& entry);
// Finds an allocator by its id. Throws Error{Exit::usage} if there is none or it cannot build
// trees.
const Allocator& find_builder(const std::string& id);

// Computes the slowdowns of a scene's results in one pool: over AtomicMalloc's; without it, over
// the first complete result of an allocator that frees; never over the per-level builder's.
void compute_slowdowns(std::vector<Result*>& scene);

}  // namespace heapwood::bench
