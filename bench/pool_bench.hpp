// SPDX-License-Identifier: MIT
// Shared by the benchmarks that measure several allocators in pools of several sizes (replay,
// strings, particles): one pool after the other, in each all candidates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/earlier_results.hpp"
#include "bench/program/messages.hpp"
#include "bench/row_bench.hpp"
#include "simt/memory.hpp"

namespace heapwood::bench {

// The results of one candidate in one pool.
struct PoolRow : MeasuredRow {
  std::string pool;  // as given; "" for a method that does not use it
  std::uint64_t pool_bytes = 0;
  std::vector<double> runs_ms, reset_ms;

  std::optional<double> median_ms() const { return median(runs_ms); }
};

// Keys from "pool" to "reset_ms".
inline void describe_pool_runs(JsonFields& fields, PoolRow& row) {
  fields.unless_empty("pool", row.pool);
  fields.unless_empty("pool_bytes", row.pool_bytes);
  describe_outcome(fields, row);
  fields("runs_ms", row.runs_ms);
  fields.derived_quartiles(row.runs_ms);
  fields("reset_ms", row.reset_ms);
}

// Parses "256M,1.5x"; a factor multiplies the bytes in use at the peak. `accepts_auto`: also
// "auto" and "live:1.5".
inline std::vector<PoolSize> parse_peak_pools(const std::string& text, bool accepts_auto) {
  return parse_list(text, [&](const std::string& part) {
    using enum PoolSize::Kind;
    const PoolSize pool = parse_pool(part, "the peak, as in 1.5x");
    if (pool.kind != bytes && pool.kind != root_multiple && (!accepts_auto || pool.for_speed))
      throw_unexpected("--pool", part,
                       std::string(accepts_auto ? "auto, " : "") +
                           "a size (512M, 2G) or a multiple of the peak (1.5x)");
    return pool;
  });
}
// The size of this many bytes, in whole granules; at least 64 KiB, unless the size was given.
// Throws Error{Exit::usage} if it is too large.
inline std::uint64_t whole_pool(const PoolSize& pool, double bytes) {
  constexpr std::uint64_t unit = 256, min_pool = 1 << 16;
  if (bytes > 1e15) throw_error(Exit::usage, "--pool {}: too large", pool.text);
  const auto whole = static_cast<std::uint64_t>(bytes);
  return pool.kind == PoolSize::Kind::bytes ? whole / unit * unit
                                            : std::max((whole + unit - 1) / unit * unit, min_pool);
}

// A pool with its rows, and the candidates among them that are to be measured.
template <class Row>
struct InPool {
  PoolSize pool;
  std::uint64_t bytes = 0;
  std::vector<Row> rows{};
  std::vector<RowBench::Candidate> candidates{};

  // Rows that were kept are not measured again.
  void choose_candidates(const Allocators& entries, const std::vector<Row>& kept) {
    candidates = candidates_for(rows, entries, kept, [](const Row& earlier, const Row& row) {
      return earlier.pool == row.pool && earlier.allocator == row.allocator;
    });
  }
};

// Measures the candidates in one pool: a warm-up of each, then run 1 of all, run 2 of all, and so
// on. A benchmark derives a class that knows how to make a run.
template <class Bench, class Row>
class PoolRunner : public RowBench {
 public:
  void run_all() {
    skip_unusable(bench_.device, pool_bytes_);
    if (any_running()) {
      guarded(
          [this] {
            memory_ = simt::Memory(bench_.device.id, pool_bytes_);
            prepare();
          },
          [this](const std::exception& error) { fail_all(error); });
    }
    warm_up_all();
    measure();
    inspect_all();
    finish();
  }

 protected:
  PoolRunner(const Bench& bench, const InPool<Row>& in_pool, const Step& step)
      : RowBench(in_pool.candidates, bench.settings.runs, bench.settings.budget_seconds, step),
        bench_(bench),
        pool_bytes_(in_pool.bytes) {}

  virtual void prepare() {}      // called before the warm-ups; an exception fails all candidates
  virtual void inspect_all() {}  // called after the runs

  Row& row(std::size_t i) const { return static_cast<Row&>(*candidates_[i].row); }

  // A job of a candidate in this pool.
  template <class Job>
  Job job_of(std::size_t i) const {
    Job job;
    job.device = bench_.device.id;
    job.pool = {memory_.data(), memory_.bytes()};
    job.seconds = bench_.settings.seconds;
    if (candidates_[i].entry != nullptr) job.options = candidates_[i].entry->options;
    return job;
  }
  void add_run(std::size_t i, double ms, double reset_ms) {
    row(i).runs_ms.push_back(ms);
    row(i).reset_ms.push_back(reset_ms);
  }
  // Sets the status of a row with runs. `more` continues the reason of refused requests.
  void judge_requests(std::size_t i, std::uint64_t requests, std::uint64_t refused,
                      const std::string& more = "") {
    row(i).status = refused == 0 ? Status::ok : Status::incomplete;
    row(i).reason = refused == 0 ? reason_of_few_runs(i, row(i).runs_ms.size())
                                 : fmt::format("{} of {} requests refused{}", count_text(refused),
                                               count_text(requests), more);
  }
  std::string time_limit_text() const override { return late_text(bench_.settings.seconds); }

  const Bench& bench_;

 private:
  std::uint64_t pool_bytes_;
  simt::Memory memory_;
};

// Measures pool after pool by make(in_pool, step), a PoolRunner, until an interruption. Returns the
// rows of all pools.
template <class Row, class Make>
std::vector<Row> run_in_pools(std::vector<InPool<Row>> pools, std::size_t steps_per_candidate,
                              const OnStep& on_step, Make make) {
  std::size_t candidates = 0;
  for (const InPool<Row>& in_pool : pools) candidates += in_pool.candidates.size();
  const RowBench::Step step = counted_steps(on_step, steps_per_candidate * candidates);
  bool stopped = false;
  std::vector<Row> rows;
  for (InPool<Row>& in_pool : pools) {
    if (!stopped) {
      auto runner = make(in_pool, [&](const std::string& what) {
        step(fmt::format("pool {}: {}", in_pool.pool.text, what));
      });
      runner.run_all();
      stopped = runner.stopped();
    }
    std::move(in_pool.rows.begin(), in_pool.rows.end(), std::back_inserter(rows));
  }
  return rows;
}

}  // namespace heapwood::bench
