// SPDX-License-Identifier: MIT
// Measures builds; prints nothing. The command line and the viewer show what comes back.
//
// For each scene: one pool size for all allocators, a warm-up of each, then run 1 of all allocators, run 2 of all, ...,
// so that drift hits all alike, then one instrumented build of each (requests, fragmentation). Trees are compared by
// hash.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/result.hpp"
#include "simt/device.hpp"

namespace heapwood::app {

class PreparedScene;

struct BenchJob {
  std::vector<std::string> scenes;
  std::vector<const engine::Entry*> allocators;  // of the single-kernel builder
  BuildSettings settings;                        // whose builder says whether the per-level builder is measured, too
  simt::DeviceInfo device;
  // Decides the size of an automatic pool; nullptr: each allocator of the job in turn.
  const engine::Entry* pool_probe = nullptr;
  // An allocator's share of a scene, in seconds of its builds, the warm-up's too. It has no run that its last one says would not
  // fit, and if there is no room for any, the warm-up is the only one. 0 = no limit.
  double budget_seconds = 0;
  bool instrument_all = true;  // false: requests of the first complete tree only
  // Earlier results with the same settings and device: taken over, not measured again.
  std::vector<Result> kept;
};

struct BenchResult {
  std::vector<Result> results;  // scene by scene, allocators in the job's order, then the per-level builder
  bool interrupted = false;
  std::optional<Error> scene_error;  // a scene could not be read: measuring ended there
};

struct BenchEvents {
  // Builds done, builds in all, and what comes next.
  std::function<void(std::size_t, std::size_t, const std::string&)> progress;
  // After each scene, with everything so far.
  std::function<void(const BenchResult&)> scene_done;
  // After the warm-up of an allocator: its tree can be downloaded from the workspace.
  std::function<void(PreparedScene&, Result&)> tree_built;
};

// Never throws for what goes wrong with one allocator: that is in its result's status and reason.
BenchResult run_bench(const BenchJob& job, const BenchEvents& events);

// Why trees are not built with this allocator at all, or nullptr.
const char* cannot_build(const engine::Entry& entry);
// find_allocator(), and Error{Exit::usage} also where it cannot build.
const engine::Entry& find_builder(const std::string& id);

// Fills in slowdowns of one scene's results: over AtomicMalloc's median, else over the first complete one that frees; never
// over the per-level builder's.
void compute_slowdowns(std::vector<Result*>& scene);

}  // namespace heapwood::app
