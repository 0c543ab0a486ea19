// SPDX-License-Identifier: MIT
#include "bench/row_bench.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"
#include "simt/clock.hpp"
#include "simt/launch.hpp"

namespace heapwood::bench {

RowBench::RowBench(std::vector<Candidate> candidates, int runs, double budget_seconds, Step step,
                   std::string unit)
    : candidates_(std::move(candidates)),
      times_(candidates_.size()),
      runs_(runs),
      budget_ms_(1e3 * budget_seconds),
      step_(std::move(step)),
      unit_(std::move(unit)) {}

void RowBench::guarded(const std::function<void()>& f,
                       const std::function<void(const std::exception&)>& failed) {
  if (simt::interrupted()) stopped_ = true;
  if (stopped_) return;
  try {
    f();
  } catch (const simt::Stopped& stop) {
    if (stop.reason() == simt::Stopped::Reason::interrupted)
      stopped_ = true;
    else
      failed(stop);
  } catch (const std::exception& error) {
    failed(error);
  }
}

void RowBench::guarded(std::size_t i, const std::function<void()>& f) {
  guarded(f, [this, i](const std::exception& error) { fail(i, error); });
}

void RowBench::skip(std::size_t i, const std::string& reason) {
  candidates_[i].running = false;
  candidates_[i].row->status = Status::skipped;
  candidates_[i].row->reason = reason;
}

void RowBench::skip_unusable(const simt::DeviceInfo& device, std::uint64_t pool_bytes) {
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const Allocator* const entry = candidates_[i].entry;
    if (entry == nullptr) continue;
    std::string reason = reason_not_to_run(*entry, device, pool_bytes);
    if (reason.empty() && !entry->traits->keeps_live_memory) reason = "may hand out memory in use";
    if (!reason.empty()) skip(i, reason);
  }
}

void RowBench::fail(std::size_t i, const std::string& reason) {
  candidates_[i].running = false;
  candidates_[i].row->status = Status::failed;
  candidates_[i].row->reason = reason;
}

std::string RowBench::late_text(double seconds) {
  return fmt::format("not finished after {} s (--seconds)", figure_text(seconds));
}

void RowBench::fail(std::size_t i, const std::exception& error) {
  const bool is_late = dynamic_cast<const simt::Stopped*>(&error) != nullptr;
  const std::string text = is_late ? time_limit_text() : "";
  fail(i, text.empty() ? reason_text(error) : text);
}

void RowBench::fail_all(const std::exception& error) {
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (candidates_[i].running) fail(i, error);
  }
}

bool RowBench::any_running() const { return std::ranges::any_of(candidates_, &Candidate::running); }

// Whether a run as long as the last one would exceed the budget.
bool RowBench::out_of_budget(const Times& times) const {
  return budget_ms_ > 0 && times.last_ms > 0 && times.spent_ms + times.last_ms > budget_ms_;
}

void RowBench::announce(std::size_t i, const std::string& what) const {
  step_(fmt::format("{}: {}", step_name(i), what));
}

void RowBench::timed(std::size_t i, const std::function<std::optional<double>()>& f,
                     const std::function<void(double)>& done) {
  const simt::HostClock::time_point start = simt::HostClock::now();
  guarded(i, [&] {
    const std::optional<double> ms = f();
    done(ms ? *ms : 1e3 * simt::seconds_since(start));
  });
  times_[i].seconds += simt::seconds_since(start);
}

void RowBench::warm_up_all(const std::function<bool(std::size_t)>& chosen) {
  for (std::size_t i = 0; i < candidates_.size() && !stopped_; ++i) {
    if (chosen && !chosen(i)) continue;
    announce(i, "warm-up");
    if (!candidates_[i].running) continue;
    timed(
        i, [&] { return warm_up(i); }, [&](double ms) { times_[i].warm_up_ms = ms; });
  }
}

bool RowBench::measure(const std::function<bool()>& valid) {
  for (Times& times : times_) {
    times.spent_ms = times.last_ms = times.warm_up_ms;
    times.runs = 0;
  }
  for (int number = 1; number <= runs_; ++number) {
    for (std::size_t i = 0; i < candidates_.size() && !stopped_; ++i) {
      announce(i, fmt::format("{} {} of {}", unit_, number, runs_));
      if (!candidates_[i].running || out_of_budget(times_[i])) continue;
      run_once(i, number == runs_, valid);
      if (valid && !valid()) return false;
    }
  }
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    Times& times = times_[i];
    times.only_warm_up =
        candidates_[i].running && !stopped_ && times.runs == 0 && times.warm_up_ms > 0;
    if (times.only_warm_up) keep_warm_up(i);
  }
  return true;
}

void RowBench::run_once(std::size_t i, bool last, const std::function<bool()>& valid) {
  Times& times = times_[i];
  timed(
      i, [&] { return run(i); },
      [&](double ms) {
        if (valid && !valid()) return;
        times.last_ms = ms;
        times.spent_ms += ms;
        ++times.runs;
        if (last || out_of_budget(times)) last_run_done(i);
      });
}

void RowBench::each(const std::string& what, const std::function<void(std::size_t)>& f) {
  for (std::size_t i = 0; i < candidates_.size() && !stopped_; ++i) {
    announce(i, what);
    if (!candidates_[i].running) continue;
    timed(
        i,
        [&]() -> std::optional<double> {
          f(i);
          return {};
        },
        [](double) {});
  }
}

void RowBench::finish() {
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    candidates_[i].row->seconds = times_[i].seconds;
    if (candidates_[i].running) judge(i);
  }
}

std::string RowBench::reason_of_few_runs(std::size_t i, std::size_t runs) const {
  if (only_warm_up(i)) return "slow: only the warm-up";
  if (runs >= static_cast<std::size_t>(runs_)) return "";
  return fmt::format("{} {} of {} {}s", stopped_ ? "interrupted after" : "slow: only", runs, runs_,
                     unit_);
}

std::string reason_not_to_run(const Allocator& entry, const simt::DeviceInfo& device,
                              std::uint64_t pool_bytes) {
  if (entry.on(device.id.kind) == nullptr) return "not compiled for " + device.key;
  if (pool_bytes < entry.traits->smallest_pool)
    return fmt::format("needs a pool of at least {}", bytes_text(entry.traits->smallest_pool));
  return "";
}

RowBench::Step counted_steps(const OnStep& on_step, std::size_t total) {
  return [on_step, total, done = std::make_shared<std::size_t>(0)](const std::string& what) {
    if (on_step) on_step(*done, total, what);
    ++*done;
  };
}

}  // namespace heapwood::bench
