// SPDX-License-Identifier: MIT
// The measuring loop of the benchmarks: a warm-up of each candidate, then run 1 of all, run 2 of
// all, and so on, so that drift affects all alike. A candidate that throws fails, and the others go
// on; an interruption (Ctrl-C) ends the measurement.
//
// Each candidate has a budget of time for its warm-up and runs. A run starts only if one as long as
// the last would fit; if none fits, the warm-up is the only run.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace heapwood::bench {

// What the runner calls for one candidate. warm_up and run return the milliseconds that count
// towards the budget, or nothing: their wall time counts.
struct RunCandidate {
  std::function<std::optional<double>()> warm_up{};
  std::function<std::optional<double>()> run{};
  std::function<bool()> running{};  // neither skipped nor failed; asked before every step
  std::function<void(const std::exception&)> fail{};  // by an exception of a step
  std::function<void()> keep_warm_up{};               // optional: the warm-up is the only run
  // Optional: the last run has ended, by number or by budget. Its exception is a failure, too.
  std::function<void()> last_run_done{};
};

class InterleavedRunner {
 public:
  // Called with a candidate's index and "warm-up" or "run 2 of 5" before every step, including
  // steps that are skipped; not after an interruption.
  using Step = std::function<void(std::size_t, const std::string&)>;

  // budget_ms: per candidate; 0 = no limit. unit: what a run is, for the texts of steps.
  InterleavedRunner(std::vector<RunCandidate> candidates, int runs, double budget_ms, Step step,
                    std::string unit = "run");

  void warm_up();
  void warm_up(std::size_t candidate);
  // All runs. `valid`, if given, is asked after each: false ends the measurement and is returned. A
  // further call repeats all runs.
  bool measure(const std::function<bool()>& valid = {});
  // A step of each candidate outside the budget.
  void each(const std::string& what, const std::function<void(std::size_t)>& f);
  // Calls f unless the measurement was interrupted. An exception is passed to `fail`, but an
  // interruption ends the measurement.
  void guarded(const std::function<void()>& f,
               const std::function<void(const std::exception&)>& fail);
  void guarded(std::size_t candidate, const std::function<void()>& f) {
    guarded(f, candidates_[candidate].fail);
  }

  bool stopped() const { return stopped_; }  // by an interruption
  bool only_warm_up(std::size_t candidate) const { return times_[candidate].only_warm_up; }
  // Wall time of all steps, including failed ones.
  double seconds(std::size_t candidate) const { return times_[candidate].seconds; }

 private:
  struct Times {
    double warm_up_ms = 0, spent_ms = 0, last_ms = 0;  // towards the budget
    double seconds = 0;
    int runs = 0;
    bool only_warm_up = false;
  };
  bool out_of_budget(const Times& times) const;
  struct WallClock;  // since the start of a step
  // One guarded step; its wall time is added to the candidate's.
  void timed(std::size_t candidate, const std::function<void(const WallClock&)>& f);
  void run(std::size_t candidate, bool last, const std::function<bool()>& valid);
  void keep_warm_up(std::size_t candidate);

  std::vector<RunCandidate> candidates_;
  std::vector<Times> times_;
  int runs_;
  double budget_ms_;
  Step step_;
  std::string unit_;
  bool stopped_ = false;
};

}  // namespace heapwood::bench
