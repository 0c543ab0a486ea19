// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "bench/results/format.hpp"
#include "bench/row_bench.hpp"
#include "bench/stress.hpp"
#include "simt/memory.hpp"

namespace heapwood::bench {

namespace {

// Measures all allocators at one point.
class PointBench : public RowBench {
 public:
  PointBench(const StressBench& bench, const StressPoint& point, std::vector<Candidate> candidates,
             simt::Memory& memory, const Step& step)
      : RowBench(std::move(candidates), bench.settings.runs, bench.settings.budget_seconds, step),
        bench_(bench),
        point_(point),
        memory_(memory),
        warm_ups_(candidates_.size()) {}

  void run_all() {
    prepare();
    const bool space = workloads::measures_space(bench_.settings.test);
    if (!space && bench_.settings.warms_up) warm_up_all();
    measure();
    if (!space && bench_.settings.inspect)
      each("addresses and fragmentation", [this](std::size_t i) { inspect(i); });
    finish();
  }

 private:
  StressRow& row(std::size_t i) const { return static_cast<StressRow&>(*candidates_[i].row); }

  std::optional<double> warm_up(std::size_t i) override {
    warm_ups_[i] = stress(i, false);
    return {};
  }
  std::optional<double> run(std::size_t i) override {
    note_run(row(i), stress(i, false));
    return {};
  }
  void keep_warm_up(std::size_t i) override { note_run(row(i), warm_ups_[i]); }

  workloads::StressResult stress(std::size_t i, bool inspect) const {
    return candidates_[i].entry->on(bench_.device.id.kind)->stress(job(i, inspect));
  }

  void inspect(std::size_t i) const {
    const workloads::StressResult result = stress(i, true);
    StressRow& row = this->row(i);
    row.overlaps = result.overlaps;
    row.damaged += result.damaged;
    note_states(row, result);
  }
  static void note_run(StressRow& row, const workloads::StressResult& result) {
    row.runs_ms.push_back(result.ms);
    row.reset_ms.push_back(result.reset_ms);
    if (result.floor_ms > 0) row.floor_ms.push_back(result.floor_ms);
    if (result.allocate_ms > 0) {
      row.allocate_ms.push_back(result.allocate_ms);
      row.free_ms.push_back(result.free_ms);
    }
    if (!row.counts || result.counts.failures > row.counts->failures) row.counts = result.counts;
    row.split_failures = std::max(row.split_failures, result.split_failures);
    row.damaged += result.damaged;
    row.out_of_time |= result.out_of_time;
    row.capacity_bytes = result.capacity_bytes;
    if (result.refusal_ms) row.refusal_ms.push_back(*result.refusal_ms);
    if (result.steps.empty()) return;
    row.steps.push_back(result.steps);
    row.overlaps = row.overlaps.value_or(0) + result.overlaps;
    note_states(row, result);
  }
  static void note_states(StressRow& row, const workloads::StressResult& result) {
    if (result.peak && result.peak->fragmentation.measured) row.peak = result.peak;
    if (result.end && result.end->fragmentation.measured) row.end = result.end;
  }

  void prepare() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Allocator& entry = *candidates_[i].entry;
      std::string reason = reason_not_to_run(entry, bench_.device, point_.pool_bytes);
      if (reason.empty()) reason = why_not_applicable(*entry.traits);
      if (!reason.empty()) {
        skip(i, reason);
      } else if (bench_.device.id.kind == simt::DeviceKind::cuda) {
        guarded(i, [&] {
          row(i).calls = entry.on(bench_.device.id.kind)
                             ->call_use(bench_.device.id, bench_.settings.coalesced,
                                        row(i).settings.allocator.large_backend);
        });
      }
    }
    // The memory is reused at the next point: a smaller pool is the start of it.
    if (memory_.bytes() >= point_.pool_bytes) return;
    try {
      memory_ = simt::Memory();
      memory_ = simt::Memory(bench_.device.id, point_.pool_bytes);
    } catch (const std::exception& error) {
      fail_all(error);
    }
  }

  // The reason why the test does not apply to an allocator; "" if it does.
  const char* why_not_applicable(const alloc::AllocatorTraits& traits) const {
    const workloads::StressTest test = bench_.settings.test;
    const bool range = test == workloads::StressTest::range,
               churn = test == workloads::StressTest::churn;
    const bool lifetimes = workloads::has_lifetimes(test);
    if (bench_.settings.coalesced && !has_coalesced_form(traits))
      return "has no coalesced form: RegEff does not compare it";
    if ((range || churn || lifetimes) && traits.frees == alloc::Frees::all_at_once)
      return "cannot free single blocks";
    if (lifetimes && traits.frees == alloc::Frees::never) return "cannot free";
    if (workloads::measures_space(test) && !range && !traits.keeps_live_memory)
      return "never refuses: hands out memory in use instead";
    return "";
  }

  workloads::StressJob job(std::size_t i, bool inspect) const {
    workloads::StressJob job = stress_job(bench_, point_);
    job.pool = {memory_.data(), point_.pool_bytes};
    job.options = row(i).settings.allocator;
    job.options.wait_when_full = bench_.settings.wait;
    job.inspect = inspect;
    if (!inspect) job.run_seconds = bench_.settings.budget_seconds;
    return job;
  }

  std::string time_limit_text() const override { return late_text(limit()); }

  void judge(std::size_t i) override {
    StressRow& row = this->row(i);
    if (row.runs_ms.empty()) return;
    const std::uint64_t overlaps = row.overlaps.value_or(0), shared = row.damaged + overlaps;
    const workloads::StressCounts& counts = *row.counts;
    const workloads::StressTest test = bench_.settings.test;
    const bool churn = test == workloads::StressTest::churn,
               exhausts = test == workloads::StressTest::exhaust;
    const bool fills = churn || exhausts || test == workloads::StressTest::utilization;
    if (shared) {
      const bool published = !candidates_[i].entry->traits->keeps_live_memory;
      row.status = published ? Status::incomplete : Status::failed;
      row.reason = fmt::format(
          "handed out memory in use{}: {} blocks overlap, {} were found damaged",
          published ? ", as published" : "", count_text(overlaps), count_text(row.damaged));
    } else if (row.out_of_time) {
      row.status = Status::incomplete;
      row.reason = out_of_time(row);
    } else if (!fills && (counts.failures || row.split_failures)) {
      row.status = Status::incomplete;
      row.reason = fmt::format("{} of {} requests refused",
                               count_text(std::max(counts.failures, row.split_failures)),
                               count_text(counts.allocations + counts.failures));
    } else {
      row.status = Status::ok;
      row.reason = reason_of_few_runs(i, row.runs_ms.size());
      if (row.reason.empty() && churn && counts.failures == 0)
        row.reason = "nothing was refused: give more --iterations";
    }
  }

  std::string out_of_time(const StressRow& row) const {
    const std::string after = fmt::format("after {} s (--seconds)", figure_text(limit()));
    const std::size_t steps = row.steps.empty() ? 0 : row.steps.back().size();
    switch (bench_.settings.test) {
      case workloads::StressTest::range:
        return fmt::format("{} of {} iterations {}", steps, point_.iterations, after);
      case workloads::StressTest::churn:
        if (bench_.settings.budget_seconds <= 0)
          return fmt::format("not full {} in the next iteration", after);
        return fmt::format("not full {}, {} iterations", after, count_text(steps));
      case workloads::StressTest::lifetimes:
        return fmt::format("fewer than {} launches {}", point_.iterations, after);
      default:
        return "not full " + after;
    }
  }
  // The time limit of a job in seconds.
  double limit() const {
    const StressSettings& settings = bench_.settings;
    return settings.budget_seconds > 0 ? std::min(settings.seconds, settings.budget_seconds)
                                       : settings.seconds;
  }

  const StressBench& bench_;
  const StressPoint& point_;
  simt::Memory& memory_;
  std::vector<workloads::StressResult> warm_ups_;
};

}  // namespace

workloads::StressJob stress_job(const StressBench& bench, const StressPoint& point) {
  const StressSettings& settings = bench.settings;
  workloads::StressJob job;
  job.device = bench.device.id;
  job.test = settings.test;
  job.coalesced = settings.coalesced;
  job.threads = stress_threads(settings, point);
  job.lanes = settings.lanes;
  job.payload = point.payload;
  job.iterations = point.iterations;
  job.order = settings.order;
  job.seed = settings.seed;
  job.chance = workloads::chance_of(settings.probability);
  job.rounds = settings.rounds;
  job.touch = settings.touch;
  job.seconds = settings.seconds;
  return job;
}

std::vector<StressRow> run_stress(
    const StressBench& bench, const OnStep& on_step,
    const std::function<void(const std::vector<StressRow>&)>& point_done) {
  const std::size_t untimed = workloads::measures_space(bench.settings.test) ? 0 : 2;
  const RowBench::Step step =
      counted_steps(on_step, bench.points.size() * bench.allocators.size() *
                                 (static_cast<std::size_t>(bench.settings.runs) + untimed));
  std::vector<StressRow> rows;
  simt::Memory memory;
  for (const StressPoint& point : bench.points) {
    std::vector<StressRow> at_point;
    for (const Allocator* entry : bench.allocators) {
      StressRow& row = at_point.emplace_back();
      row.set_allocator(*entry->traits);
      row.settings = bench.settings;
      row.settings.allocator = entry->options_over(bench.settings.allocator);
      row.point = point;
      row.reason = interrupted_reason;
    }
    std::vector<RowBench::Candidate> candidates;
    for (std::size_t i = 0; i < at_point.size(); ++i)
      candidates.push_back({bench.allocators[i], &at_point[i]});
    PointBench measure(bench, point, std::move(candidates), memory, step);
    measure.run_all();
    std::move(at_point.begin(), at_point.end(), std::back_inserter(rows));
    if (point_done) point_done(rows);
    if (measure.stopped()) break;
  }
  return rows;
}

}  // namespace heapwood::bench
