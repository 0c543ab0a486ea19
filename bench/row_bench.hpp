// SPDX-License-Identifier: MIT
// The measuring loop of the benchmarks: a warm-up of each candidate, then run 1 of all, run 2 of
// all, and so on, so that drift affects all alike. A failure of one candidate becomes its row's
// status and reason, and the others continue; an interruption (Ctrl-C) ends the measurement.
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

#include "bench/build_settings.hpp"
#include "bench/results/result.hpp"
#include "simt/device.hpp"

namespace heapwood::bench {

inline constexpr const char* interrupted_reason = "interrupted before it was measured";

// Called before each step of a measurement with finished steps, all steps and the next step.
using OnStep = std::function<void(std::size_t, std::size_t, const std::string&)>;

class RowBench {
 public:
  struct Candidate {
    const Allocator* entry;  // nullptr: no allocator is measured
    MeasuredRow* row;
    bool running = true;  // neither skipped nor failed
  };
  // Called with the name of each step before it, including skipped ones.
  using Step = std::function<void(const std::string&)>;

  RowBench(const RowBench&) = delete;
  RowBench& operator=(const RowBench&) = delete;
  virtual ~RowBench() = default;

  bool stopped() const { return stopped_; }  // true after an interruption

 protected:
  // budget_seconds: limit per candidate; 0 = none. unit: the word for a run in messages.
  RowBench(std::vector<Candidate> candidates, int runs, double budget_seconds, Step step,
           std::string unit = "run");

  // Run candidate i once. Return the milliseconds that count towards the budget; if they return
  // nothing, the wall time counts.
  virtual std::optional<double> warm_up(std::size_t i) = 0;
  virtual std::optional<double> run(std::size_t i) = 0;
  virtual void keep_warm_up(std::size_t) {}   // makes the warm-up the only run
  virtual void last_run_done(std::size_t) {}  // all runs are done, or the budget is used up
  // Sets status and reason of a candidate's row that has not failed.
  virtual void judge(std::size_t i) = 0;
  virtual std::string step_name(std::size_t i) const { return candidates_[i].row->label; }
  // The reason of a row that a time limit has ended; "": uses the exception's message.
  virtual std::string time_limit_text() const { return ""; }
  static std::string late_text(double seconds);  // such a reason, for the limit --seconds

  // Warms up all candidates, or those whose index `chosen` accepts.
  void warm_up_all(const std::function<bool(std::size_t)>& chosen = {});
  // Makes all runs. If `valid` is given, it is called after each run; when it returns false, the
  // measurement ends and returns false. A further call repeats all runs.
  bool measure(const std::function<bool()>& valid = {});
  // Executes a step for each candidate, outside the budget.
  void each(const std::string& what, const std::function<void(std::size_t)>& f);
  // Sets the status and the wall time of each row.
  void finish();

  // Calls f unless the measurement was interrupted. An exception is passed to `failed`, but an
  // interruption ends the measurement.
  void guarded(const std::function<void()>& f,
               const std::function<void(const std::exception&)>& failed);
  void guarded(std::size_t i, const std::function<void()>& f);
  void skip(std::size_t i, const std::string& reason);
  // Skips the candidates whose allocator cannot run on the device in a pool of this size, or may
  // hand out memory in use.
  void skip_unusable(const simt::DeviceInfo& device, std::uint64_t pool_bytes);
  void fail(std::size_t i, const std::string& reason);
  void fail(std::size_t i, const std::exception& error);
  void fail_all(const std::exception& error);  // fails all candidates that are running
  bool any_running() const;
  bool only_warm_up(std::size_t i) const { return times_[i].only_warm_up; }
  // Returns "slow: only 2 of 5 runs", or "" if there are all.
  std::string reason_of_few_runs(std::size_t i, std::size_t runs) const;

  std::vector<Candidate> candidates_;

 private:
  struct Times {
    double warm_up_ms = 0, spent_ms = 0, last_ms = 0;  // counted towards the budget
    double seconds = 0;  // wall time of all steps, including failed ones
    int runs = 0;
    bool only_warm_up = false;
  };
  bool out_of_budget(const Times& times) const;
  void announce(std::size_t i, const std::string& what) const;
  // Calls f for a candidate; an error ends only this candidate's measurement. Adds f's wall time to
  // the candidate's. `done` receives the milliseconds that f returns, or else the wall time.
  void timed(std::size_t i, const std::function<std::optional<double>()>& f,
             const std::function<void(double)>& done);
  void run_once(std::size_t i, bool last, const std::function<bool()>& valid);

  std::vector<Times> times_;
  int runs_;
  double budget_ms_;
  Step step_;
  std::string unit_;
  bool stopped_ = false;
};

// The reason why an allocator that may hand out live memory cannot build in a pool.
inline constexpr const char* would_overwrite =
    "the pool is smaller than the sum of all requests; this allocator would overwrite live memory";

// The reason why an allocator cannot run on the device in a pool of this size; "" if it can.
std::string reason_not_to_run(const Allocator& entry, const simt::DeviceInfo& device,
                              std::uint64_t pool_bytes);

// A Step that passes the number of its calls on; copies share the count.
RowBench::Step counted_steps(const OnStep& on_step, std::size_t total);

// Makes candidates of the rows that have no equal in `kept`, by is_same(earlier, row). The other
// rows are set to their equals. entries: those of the rows.
template <class Row, class Same>
std::vector<RowBench::Candidate> candidates_for(std::vector<Row>& rows, const Allocators& entries,
                                                const std::vector<Row>& kept, Same is_same) {
  std::vector<RowBench::Candidate> candidates;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row* earlier = nullptr;
    for (const Row& one : kept) {
      if (earlier == nullptr && is_same(one, rows[i])) earlier = &one;
    }
    if (earlier != nullptr)
      rows[i] = *earlier;
    else
      candidates.push_back({entries[i], &rows[i]});
  }
  return candidates;
}

}  // namespace heapwood::bench
