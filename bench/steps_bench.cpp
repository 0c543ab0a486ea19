// SPDX-License-Identifier: MIT
#include "bench/steps_bench.hpp"

#include <algorithm>

#include "bench/results/format.hpp"
#include "bench/results/json_report.hpp"

namespace heapwood::bench {

namespace {

using workloads::StepMemory;
using workloads::StepsJob;
using workloads::StepsResult;

class StepsPoolRunner : public PoolRunner<StepsBench, StepsRow> {
 public:
  static constexpr std::size_t steps_besides_runs = 1;

  StepsPoolRunner(const StepsBench& bench, const InPool<StepsRow>& in_pool, const Step& step)
      : PoolRunner(bench, in_pool, step), warm_ups_(candidates_.size()) {}

 private:
  // The untimed run takes longer than the others, so only its kernels count.
  std::optional<double> warm_up(std::size_t i) override {
    warm_ups_[i] = run_steps(i, true);
    row(i).memory = warm_ups_[i].memory;
    return warm_ups_[i].ms();
  }
  std::optional<double> run(std::size_t i) override {
    const StepsResult result = run_steps(i, false);
    add_steps(i, result);
    return result.ms();
  }
  void keep_warm_up(std::size_t i) override { add_steps(i, warm_ups_[i]); }

  StepsResult run_steps(std::size_t i, bool inspects) {
    StepsJob job = job_of<StepsJob>(i);
    job.inspects = inspects;
    const Allocator* const entry = candidates_[i].entry;
    const StepsResult result =
        entry == nullptr ? bench_.workload.run_baseline(job) : bench_.workload.run(*entry, job);
    for (std::size_t k = 0; k < result.steps.size(); ++k) {
      StepSamples& step = row(i).steps.at(k);
      step.requests = std::max(step.requests, result.steps[k].requests);
      step.refused = std::max(step.refused, result.steps[k].refused);
    }
    return result;
  }

  void add_steps(std::size_t i, const StepsResult& result) {
    for (std::size_t k = 0; k < result.steps.size(); ++k)
      row(i).steps[k].ms.push_back(result.steps[k].ms);
    add_run(i, result.ms(), result.reset_ms);
  }

  void judge(std::size_t i) override {
    if (!row(i).runs_ms.empty())
      judge_requests(i, row(i).sum_of(&StepSamples::requests),
                     row(i).sum_of(&StepSamples::refused));
  }

  std::vector<StepsResult> warm_ups_;
};

StepsRow row_of(const StepsBench& bench, const PoolSize& pool, const Allocator* entry) {
  const StepsWorkload& workload = bench.workload;
  StepsRow row;
  if (entry != nullptr) {
    row.set_allocator(*entry->traits);
  } else {
    row.allocator = workload.baseline;
    row.label = workload.baseline_label;
  }
  row.input = workload.input;
  row.digest = workload.digest;
  if (entry != nullptr || workload.baseline_uses_pool) {
    row.pool = pool.text;
    row.pool_bytes = pool_bytes(bench, pool);
  }
  row.settings = bench.settings;
  row.steps = workload.steps;
  row.reason = interrupted_reason;
  return row;
}

}  // namespace

std::uint64_t pool_bytes(const StepsBench& bench, const PoolSize& pool) {
  return whole_pool(pool, pool.multiple > 0
                              ? pool.multiple * static_cast<double>(bench.workload.peak_bytes)
                              : static_cast<double>(pool.bytes));
}

std::optional<double> StepSamples::rate() const {
  const std::optional<double> middle = median(ms);
  if (!middle || *middle <= 0) return std::nullopt;
  return 1e3 * static_cast<double>(items) / *middle;
}

std::uint64_t StepsRow::sum_of(std::uint64_t StepSamples::*figure) const {
  std::uint64_t sum = 0;
  for (const StepSamples& step : steps) sum += step.*figure;
  return sum;
}

std::optional<double> StepsRow::held_over_live() const {
  std::uint64_t peak = 0;
  for (const StepMemory& one : memory) peak = std::max(peak, one.live_bytes);
  std::optional<double> ratio;
  for (const StepMemory& one : memory) {
    if (peak == 0 || one.live_bytes < peak / 2) continue;
    ratio = std::max(ratio.value_or(0),
                     static_cast<double>(one.held_bytes) / static_cast<double>(one.live_bytes));
  }
  return ratio;
}

std::vector<StepsRow> run_steps(const StepsBench& bench, const OnStep& on_step) {
  std::vector<InPool<StepsRow>> pools;
  bool needs_baseline = bench.has_baseline;
  for (const PoolSize& pool : bench.settings.pools) {
    // Throws, if a size is impossible, before anything is measured.
    InPool<StepsRow>& in_pool = pools.emplace_back(InPool<StepsRow>{pool, pool_bytes(bench, pool)});
    Allocators entries = bench.allocators;
    if (needs_baseline) entries.push_back(nullptr);
    needs_baseline &= bench.workload.baseline_uses_pool;
    for (const Allocator* entry : entries) in_pool.rows.push_back(row_of(bench, pool, entry));
    in_pool.choose_candidates(entries, bench.kept);
  }
  const std::size_t steps =
      static_cast<std::size_t>(bench.settings.runs) + StepsPoolRunner::steps_besides_runs;
  return run_in_pools(std::move(pools), steps, on_step,
                      [&](const InPool<StepsRow>& in_pool, const RowBench::Step& step) {
                        return StepsPoolRunner(bench, in_pool, step);
                      });
}

Json to_json(const StepsSettings& settings) {
  Json json;
  json["runs"] = settings.runs;
  json["seconds"] = settings.seconds;
  if (settings.budget_seconds > 0) json["budget_seconds"] = settings.budget_seconds;
  return json;
}

void describe(JsonFields& fields, StepSamples& step) {
  fields("phase", step.name);
  fields("items", step.items);
  fields("runs_ms", step.ms);
  fields.derived_quartiles(step.ms);
  fields.derived("items_per_second", step.rate());
  fields("requests", step.requests);
  fields.unless_empty("refused", step.refused);
}

void describe(JsonFields& fields, StepMemory& memory) {
  fields("step", memory.step);
  fields("live_bytes", memory.live_bytes);
  fields("held_bytes", memory.held_bytes);
}

void describe(JsonFields& fields, StepsRow& row) {
  fields("source", row.input);
  fields.unless_empty("digest", row.digest);
  describe_allocator(fields, row);
  fields.derived("settings", to_json(row.settings));
  describe_pool_runs(fields, row);
  fields.derived("requests", row.sum_of(&StepSamples::requests));
  fields.derived("refused", row.sum_of(&StepSamples::refused));
  fields.list("phases", row.steps);
  fields.derived("held_over_live", row.held_over_live());
  fields.list("memory", row.memory);
}

Earlier<StepsRow> read_steps(const std::string& path, const StepsBench& bench) {
  const StepsWorkload& workload = bench.workload;
  return read_earlier_rows<StepsRow>(
      path, bench.device, workload.schema, bench.settings, [&](const StepsRow& row) {
        return row.digest == workload.digest &&
               (!row.digest.empty() || row.input == workload.input) &&
               has_all_runs(row.runs_ms.size(), bench.settings);
      });
}

}  // namespace heapwood::bench
