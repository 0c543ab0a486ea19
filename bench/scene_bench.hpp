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
#include "bench/prepared_scene.hpp"

namespace heapwood::bench {

inline constexpr const char* interrupted_reason = "interrupted before it was measured";

class SceneBench {
 public:
  // One allocator to measure; without an entry, the per-level builder.
  struct Candidate {
    const registry::RegisteredAllocator* entry;
    Result* result;
    double warm_up_ms = 0, warm_up_reset_ms = 0;
    bool only_warm_up = false;
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
  bool stopped() const { return stopped_; }

 private:
  // Runs f. An exception is the candidate's failure (ignored without a candidate); an interruption
  // stops the benchmark.
  template <class F>
  void guarded(Candidate* candidate, F f);
  void warm_up(Candidate& candidate);
  void build_per_level(Candidate& candidate, bool timed);
  bool measure_runs();
  bool may_run(Candidate& candidate);
  bool pool_holds_all();
  bool out_of_budget(const Candidate& candidate) const;  // no time for another run
  void keep_warm_up(Candidate& candidate);               // as the only run
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
  bool stopped_ = false;
};

}  // namespace heapwood::bench
