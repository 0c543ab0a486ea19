// SPDX-License-Identifier: MIT
#include "bench/steps_bench.hpp"

#include <algorithm>
#include <iterator>

#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json_report.hpp"
#include "simt/memory.hpp"

namespace heapwood::bench {

namespace {

using workloads::StepMemory;
using workloads::StepResult;
using workloads::StepsJob;
using workloads::StepsResult;

// All candidates in one pool.
class StepsPoolRunner : public RowBench {
 public:
  static constexpr int steps_besides_runs = 1;

  StepsPoolRunner(const StepsBench& bench, std::uint64_t pool_bytes,
                  std::vector<Candidate> candidates, const Step& step)
      : RowBench(std::move(candidates), bench.settings.runs, bench.settings.budget_seconds, step),
        bench_(bench),
        pool_bytes_(pool_bytes),
        warm_ups_(candidates_.size()) {}

  void run_all() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Allocator* const entry = candidates_[i].entry;
      if (entry == nullptr) continue;
      std::string reason = reason_not_to_run(*entry, bench_.device, pool_bytes_);
      if (reason.empty() && !entry->traits->keeps_live_memory)
        reason = "may hand out memory in use";
      if (!reason.empty()) skip(i, reason);
    }
    if (!any_running()) return;
    guarded([this] { memory_ = simt::Memory(bench_.device.id, pool_bytes_); },
            [this](const std::exception& error) { fail_all(error); });
    warm_up_all();
    measure();
    finish();
  }

 private:
  StepsRow& row(std::size_t i) const { return static_cast<StepsRow&>(*candidates_[i].row); }

  // The untimed run takes longer than the others, so only its kernels count.
  std::optional<double> warm_up(std::size_t i) override {
    warm_ups_[i] = run_steps(i, true);
    row(i).memory = warm_ups_[i].memory;
    return total_ms(warm_ups_[i]);
  }
  std::optional<double> run(std::size_t i) override {
    const StepsResult result = run_steps(i, false);
    add_run(i, result);
    return total_ms(result);
  }
  void keep_warm_up(std::size_t i) override { add_run(i, warm_ups_[i]); }
  std::string time_limit_text() const override { return late_text(bench_.settings.seconds); }

  StepsResult run_steps(std::size_t i, bool inspects) {
    StepsJob job;
    job.device = bench_.device.id;
    job.pool = {memory_.data(), memory_.bytes()};
    job.inspects = inspects;
    job.seconds = bench_.settings.seconds;
    const Allocator* const entry = candidates_[i].entry;
    if (entry != nullptr) job.options = entry->options;
    const StepsResult result =
        entry == nullptr ? bench_.workload.run_baseline(job) : bench_.workload.run(*entry, job);
    for (std::size_t k = 0; k < result.steps.size(); ++k) {
      StepSamples& step = row(i).steps.at(k);
      step.requests = std::max(step.requests, result.steps[k].requests);
      step.refused = std::max(step.refused, result.steps[k].refused);
    }
    return result;
  }

  static double total_ms(const StepsResult& result) {
    double ms = 0;
    for (const StepResult& step : result.steps) ms += step.ms;
    return ms;
  }

  void add_run(std::size_t i, const StepsResult& result) {
    StepsRow& row = this->row(i);
    for (std::size_t k = 0; k < result.steps.size(); ++k)
      row.steps[k].ms.push_back(result.steps[k].ms);
    row.runs_ms.push_back(total_ms(result));
    row.reset_ms.push_back(result.reset_ms);
  }

  void judge(std::size_t i) override {
    StepsRow& row = this->row(i);
    if (row.runs_ms.empty()) return;
    row.status = Status::ok;
    row.reason = reason_of_few_runs(i, row.runs_ms.size());
    const std::uint64_t refused = row.sum_of(&StepSamples::refused);
    if (refused == 0) return;
    row.status = Status::incomplete;
    row.reason = fmt::format("{} of {} requests refused", count_text(refused),
                             count_text(row.sum_of(&StepSamples::requests)));
  }

  const StepsBench& bench_;
  std::uint64_t pool_bytes_;
  std::vector<StepsResult> warm_ups_;
  simt::Memory memory_;
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
  for (const StepsWorkload::Step& step : workload.steps)
    row.steps.push_back({step.name, step.items, 0, 0, {}});
  row.reason = interrupted_reason;
  return row;
}

}  // namespace

std::uint64_t pool_bytes(const StepsBench& bench, const PoolSize& pool) {
  constexpr std::uint64_t unit = 256, min_pool = 1 << 16;
  const double bytes = pool.kind == PoolSize::Kind::bytes
                           ? static_cast<double>(pool.bytes)
                           : pool.multiple * static_cast<double>(bench.workload.peak_bytes);
  if (bytes > 1e15) throw_error(Exit::usage, "--pool {}: too large", pool.text);
  const auto whole = static_cast<std::uint64_t>(bytes);
  return pool.kind == PoolSize::Kind::bytes ? whole / unit * unit
                                            : std::max((whole + unit - 1) / unit * unit, min_pool);
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

std::vector<PoolSize> parse_steps_pools(const std::string& text) {
  return parse_list(text, [](const std::string& part) {
    const PoolSize pool = parse_pool(part, "the peak, as in 2x");
    if (pool.kind != PoolSize::Kind::bytes && pool.kind != PoolSize::Kind::root_multiple)
      throw_unexpected("--pool", part, "a size (512M, 2G) or a multiple of the peak (2x)");
    return pool;
  });
}

std::vector<StepsRow> run_steps(const StepsBench& bench, const OnStep& on_step) {
  struct InPool {
    std::uint64_t bytes;
    std::vector<StepsRow> rows;
    std::vector<RowBench::Candidate> candidates;
  };
  std::vector<InPool> pools;
  std::size_t candidates = 0;
  bool needs_baseline = bench.has_baseline;
  for (const PoolSize& pool : bench.settings.pools) {
    // Throws, if a size is impossible, before anything is measured.
    InPool& in_pool = pools.emplace_back(InPool{pool_bytes(bench, pool), {}, {}});
    Allocators entries = bench.allocators;
    if (needs_baseline) entries.push_back(nullptr);
    needs_baseline &= bench.workload.baseline_uses_pool;
    for (const Allocator* entry : entries) in_pool.rows.push_back(row_of(bench, pool, entry));
    in_pool.candidates = candidates_for(
        in_pool.rows, entries, bench.kept, [](const StepsRow& earlier, const StepsRow& row) {
          return earlier.pool == row.pool && earlier.allocator == row.allocator;
        });
    candidates += in_pool.candidates.size();
  }
  const auto steps =
      static_cast<std::size_t>(bench.settings.runs) + StepsPoolRunner::steps_besides_runs;
  const RowBench::Step step = counted_steps(on_step, steps * candidates);
  bool stopped = false;
  std::vector<StepsRow> rows;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    if (!stopped) {
      StepsPoolRunner runner(bench, pools[i].bytes, pools[i].candidates,
                             [&](const std::string& what) {
                               step(fmt::format("pool {}: {}", bench.settings.pools[i].text, what));
                             });
      runner.run_all();
      stopped = runner.stopped();
    }
    std::move(pools[i].rows.begin(), pools[i].rows.end(), std::back_inserter(rows));
  }
  return rows;
}

namespace {

Json settings_json(const StepsSettings& settings) {
  Json json;
  json["runs"] = settings.runs;
  json["seconds"] = settings.seconds;
  if (settings.budget_seconds > 0) json["budget_seconds"] = settings.budget_seconds;
  return json;
}

}  // namespace

void describe(JsonFields& fields, StepSamples& step) {
  fields("phase", step.name);
  fields("items", step.items);
  fields("runs_ms", step.ms);
  fields.derived_quartiles(step.ms);
  if (const std::optional<double> rate = step.rate()) fields.derived("items_per_second", *rate);
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
  fields.derived("settings", settings_json(row.settings));
  fields.unless_empty("pool", row.pool);
  fields.unless_empty("pool_bytes", row.pool_bytes);
  describe_outcome(fields, row);
  fields("runs_ms", row.runs_ms);
  fields.derived_quartiles(row.runs_ms);
  fields("reset_ms", row.reset_ms);
  fields.derived("requests", row.sum_of(&StepSamples::requests));
  fields.derived("refused", row.sum_of(&StepSamples::refused));
  fields.list("phases", row.steps);
  if (const std::optional<double> ratio = row.held_over_live())
    fields.derived("held_over_live", *ratio);
  fields.list("memory", row.memory);
}

Earlier<StepsRow> read_steps(const std::string& path, const StepsBench& bench) {
  const Json settings = settings_json(bench.settings);
  const auto reuse = [&](const Json& result) -> std::optional<StepsRow> {
    StepsRow row = read_described<StepsRow>(result);
    row.settings = bench.settings;
    const StepsWorkload& workload = bench.workload;
    const bool is_same = row.digest == workload.digest && result.at("settings") == settings &&
                         (!row.digest.empty() || row.input == workload.input);
    // With a budget a slow allocator may have fewer runs and be complete.
    const bool has_all = row.runs_ms.size() == static_cast<std::size_t>(bench.settings.runs) ||
                         (bench.settings.budget_seconds > 0 && !row.runs_ms.empty());
    if (!is_same || !row.is_measured() || !has_all) return std::nullopt;
    return row;
  };
  return read_earlier<StepsRow>(path, bench.device, bench.workload.schema, reuse);
}

}  // namespace heapwood::bench
