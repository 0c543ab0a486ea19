// SPDX-License-Identifier: MIT
// One scene of a benchmark: pool, warm-up, interleaved runs, instrumented builds. Failures become
// results.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/bench_runner.hpp"
#include "bench/interleaved_runner.hpp"
#include "bench/measured_row.hpp"
#include "bench/prepared_scene.hpp"

namespace heapwood::bench {

class SceneBench {
 public:
  // One allocator to measure; without an entry, the per-level builder.
  struct Candidate {
    const registry::RegisteredAllocator* entry;
    Result* result;
    bool warmed_up = false;
    double warm_up_ms = 0, warm_up_reset_ms = 0;
    std::string name() const { return (entry ? "" : "per level, ") + result->label; }
    bool running() const {
      return result->status == Status::ok || result->status == Status::incomplete;
    }
  };
  // Called with a description before every build, including skipped ones.
  using Step = std::function<void(const std::string&)>;

  // all: the scene's results including reused ones; their trees are compared.
  SceneBench(const BenchJob& job, const BenchEvents& events, PreparedScene& scene,
             std::vector<Candidate> candidates, std::vector<Result*> all, Step step);

  void choose_pool(std::optional<std::uint64_t> kept_bytes);
  void warm_up();
  void measure();
  void instrument();
  // Sets the reasons of incomplete results.
  void finish();
  bool stopped() const { return runner_.stopped(); }
  SceneBench(const SceneBench&) = delete;  // the callbacks refer to it
  SceneBench& operator=(const SceneBench&) = delete;

 private:
  std::vector<RunCandidate> run_candidates();
  // These build once and return the milliseconds of the build.
  double warm_up(Candidate& candidate);
  double warm_up_per_level(Candidate& candidate);
  double run(Candidate& candidate);
  void build_per_level(Candidate& candidate, bool timed);
  void keep_warm_up(Candidate& candidate);  // as the only run
  void discard_runs(Candidate& candidate);
  const registry::RegisteredAllocator* live_probe() const;
  bool may_run(Candidate& candidate);
  bool pool_holds_all();
  void compare_trees();
  void compare_with_first(Result& result);

  const BenchJob& job_;
  const BenchEvents& events_;
  PreparedScene& scene_;
  std::vector<Candidate> candidates_;
  std::vector<Result*> all_;
  Step step_;
  std::optional<bool> holds_all_;  // a build without frees fits the pool
  bool growing_ = false;           // the pool grows when a build lacks memory
  InterleavedRunner runner_;
};

}  // namespace heapwood::bench
