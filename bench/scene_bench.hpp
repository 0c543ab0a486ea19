// SPDX-License-Identifier: MIT
// One scene of a benchmark: pool, warm-up, interleaved runs, instrumented builds. Failures become
// results. A candidate without an entry is the per-level builder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/bench_runner.hpp"
#include "bench/prepared_scene.hpp"
#include "bench/row_bench.hpp"

namespace heapwood::bench {

class SceneBench : public RowBench {
 public:
  // all: the scene's results including reused ones; their trees are compared. step is called with a
  // description before every build, including skipped ones.
  SceneBench(const BenchJob& job, const BenchEvents& events, PreparedScene& scene,
             std::vector<Candidate> candidates, std::vector<Result*> all, Step step);

  // kept_bytes: the pool of reused results.
  void run_all(std::optional<std::uint64_t> kept_bytes);

 private:
  struct WarmUp {
    double ms = 0, reset_ms = 0;
  };

  Result& result(std::size_t i) const { return static_cast<Result&>(*candidates_[i].row); }
  const registry::RegisteredAllocator* entry(std::size_t i) const { return candidates_[i].entry; }

  std::string step_name(std::size_t i) const override;
  std::optional<double> warm_up(std::size_t i) override;
  std::optional<double> run(std::size_t i) override;
  void keep_warm_up(std::size_t i) override;
  void last_run_done(std::size_t i) override;
  void judge(std::size_t i) override;

  void choose_pool(std::optional<std::uint64_t> kept_bytes);
  const registry::RegisteredAllocator* live_probe() const;
  void warm_up_in_order();
  std::string reason_to_skip(const registry::RegisteredAllocator& entry);
  bool pool_holds_all();
  double build_per_level(std::size_t i, bool timed);
  void discard_runs(std::size_t i);
  void instrument();
  void compare_trees();

  const BenchJob& job_;
  const BenchEvents& events_;
  PreparedScene& scene_;
  std::vector<Result*> all_;
  Step step_;
  std::vector<WarmUp> warm_ups_;
  std::optional<bool> holds_all_;  // a build without frees fits the pool
  bool growing_ = false;           // the pool grows when a build lacks memory
};

}  // namespace heapwood::bench
