// SPDX-License-Identifier: MIT
#include "bench/row_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/program/messages.hpp"
#include "simt/device.hpp"
#include "simt/launch.hpp"

namespace heapwood::bench {

RowBench::RowBench(std::vector<Candidate> candidates, int runs, double budget_seconds,
                   const Step& step, const std::string& unit)
    : candidates_(std::move(candidates)),
      runner_(
          run_candidates(), runs, 1e3 * budget_seconds,
          [this, step](std::size_t i, const std::string& what) {
            step(fmt::format("{}: {}", candidates_[i].row->label, what));
          },
          unit),
      runs_(runs),
      unit_(unit) {}

std::vector<RunCandidate> RowBench::run_candidates() {
  std::vector<RunCandidate> all;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    RunCandidate& one = all.emplace_back();
    one.warm_up = [this, i] { return warm_up(i), std::nullopt; };
    one.run = [this, i] { return run(i), std::nullopt; };
    one.running = [this, i] { return candidates_[i].running; };
    one.fail = [this, i](const std::exception& error) { fail(i, error); };
    one.keep_warm_up = [this, i] { keep_warm_up(i); };
  }
  return all;
}

void RowBench::skip(std::size_t i, const std::string& reason) {
  candidates_[i].running = false;
  candidates_[i].row->status = Status::skipped;
  candidates_[i].row->reason = reason;
}

void RowBench::fail(std::size_t i, const std::string& reason) {
  candidates_[i].running = false;
  candidates_[i].row->status = Status::failed;
  candidates_[i].row->reason = reason;
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

bool RowBench::any_running() const {
  return std::any_of(candidates_.begin(), candidates_.end(),
                     [](const Candidate& candidate) { return candidate.running; });
}

void RowBench::finish() {
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    candidates_[i].row->seconds = runner_.seconds(i);
    if (candidates_[i].running) judge(i);
  }
}

std::string RowBench::reason_of_few_runs(std::size_t i, std::size_t runs) const {
  if (runner_.only_warm_up(i)) return "slow: only the warm-up";
  if (runs >= static_cast<std::size_t>(runs_)) return "";
  return fmt::format("{} {} of {} {}s", stopped() ? "interrupted after" : "slow: only", runs, runs_,
                     unit_);
}

RowBench::Step counted_steps(const OnStep& on_step, std::size_t total) {
  return [on_step, total, done = std::make_shared<std::size_t>(0)](const std::string& what) {
    if (on_step) on_step(*done, total, what);
    ++*done;
  };
}

}  // namespace heapwood::bench
