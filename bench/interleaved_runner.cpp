// SPDX-License-Identifier: MIT
#include "bench/interleaved_runner.hpp"

#include <fmt/format.h>

#include <utility>

#include "simt/clock.hpp"
#include "simt/device.hpp"
#include "simt/launch.hpp"

namespace heapwood::bench {

struct InterleavedRunner::WallClock {
  simt::HostClock::time_point start = simt::HostClock::now();
  double ms() const { return 1e3 * simt::seconds_since(start); }
};

InterleavedRunner::InterleavedRunner(std::vector<RunCandidate> candidates, int runs,
                                     double budget_ms, Step step, std::string unit)
    : candidates_(std::move(candidates)),
      times_(candidates_.size()),
      runs_(runs),
      budget_ms_(budget_ms),
      step_(std::move(step)),
      unit_(std::move(unit)) {}

void InterleavedRunner::guarded(const std::function<void()>& f,
                                const std::function<void(const std::exception&)>& fail) {
  if (simt::interrupted()) stopped_ = true;
  if (stopped_) return;
  try {
    f();
  } catch (const simt::Stopped& stop) {
    if (stop.reason() == simt::Stopped::Reason::interrupted)
      stopped_ = true;
    else
      fail(stop);
  } catch (const std::exception& error) {
    fail(error);
  }
}

void InterleavedRunner::timed(std::size_t candidate,
                              const std::function<void(const WallClock&)>& f) {
  const WallClock clock;
  guarded(candidate, [&] { f(clock); });
  times_[candidate].seconds += clock.ms() / 1e3;
}

// Whether a run as long as the last one would exceed the budget.
bool InterleavedRunner::out_of_budget(const Times& times) const {
  return budget_ms_ > 0 && times.last_ms > 0 && times.spent_ms + times.last_ms > budget_ms_;
}

void InterleavedRunner::warm_up() {
  for (std::size_t i = 0; i < candidates_.size() && !stopped_; ++i) warm_up(i);
}

void InterleavedRunner::warm_up(std::size_t candidate) {
  step_(candidate, "warm-up");
  if (!candidates_[candidate].running()) return;
  timed(candidate, [&](const WallClock& clock) {
    const std::optional<double> ms = candidates_[candidate].warm_up();
    times_[candidate].warm_up_ms = ms ? *ms : clock.ms();
  });
}

bool InterleavedRunner::measure(const std::function<bool()>& valid) {
  for (Times& times : times_) {
    times.spent_ms = times.last_ms = times.warm_up_ms;
    times.runs = 0;
  }
  for (int number = 1; number <= runs_; ++number) {
    for (std::size_t i = 0; i < candidates_.size() && !stopped_; ++i) {
      step_(i, fmt::format("{} {} of {}", unit_, number, runs_));
      if (!candidates_[i].running() || out_of_budget(times_[i])) continue;
      run(i, number == runs_, valid);
      if (valid && !valid()) return false;
    }
  }
  for (std::size_t i = 0; i < candidates_.size(); ++i) keep_warm_up(i);
  return true;
}

void InterleavedRunner::run(std::size_t candidate, bool last, const std::function<bool()>& valid) {
  Times& times = times_[candidate];
  timed(candidate, [&](const WallClock& clock) {
    const std::optional<double> ms = candidates_[candidate].run();
    if (valid && !valid()) return;
    times.last_ms = ms ? *ms : clock.ms();
    times.spent_ms += times.last_ms;
    ++times.runs;
    if (candidates_[candidate].last_run_done && (last || out_of_budget(times)))
      candidates_[candidate].last_run_done();
  });
}

void InterleavedRunner::keep_warm_up(std::size_t candidate) {
  Times& times = times_[candidate];
  times.only_warm_up =
      candidates_[candidate].running() && !stopped_ && times.runs == 0 && times.warm_up_ms > 0;
  if (times.only_warm_up && candidates_[candidate].keep_warm_up)
    candidates_[candidate].keep_warm_up();
}

void InterleavedRunner::each(const std::string& what, const std::function<void(std::size_t)>& f) {
  for (std::size_t i = 0; i < candidates_.size() && !stopped_; ++i) {
    step_(i, what);
    if (candidates_[i].running()) timed(i, [&](const WallClock&) { f(i); });
  }
}

}  // namespace heapwood::bench
