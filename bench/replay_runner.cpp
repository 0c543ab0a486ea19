// SPDX-License-Identifier: MIT
#include "bench/replay_bench.hpp"

#include <algorithm>

#include "bench/results/format.hpp"
#include "bench/results/json_report.hpp"

namespace heapwood::bench {

namespace {

using workloads::ReplayData;
using workloads::ReplayJob;
using workloads::ReplayPlan;
using workloads::ReplayResult;

// After how many events an inspected replay inspects the pool: evenly spaced, and the peak.
std::vector<std::size_t> cuts_of(const ReplayBench& bench) {
  const std::size_t events = bench.trace->events.size();
  std::vector<std::size_t> cuts{bench.summary.peak_event};
  for (unsigned i = 1; i < bench.settings.samples; ++i)
    cuts.push_back(events / bench.settings.samples * i);
  std::ranges::sort(cuts);
  return cuts;
}

// Replays the trace with all allocators in one pool.
class ReplayPoolRunner : public PoolRunner<ReplayBench, ReplayRow> {
 public:
  ReplayPoolRunner(const ReplayBench& bench, const ReplayPlan& plan, const ReplayPlan& cut_plan,
                   const InPool<ReplayRow>& in_pool, const Step& step)
      : PoolRunner(bench, in_pool, step),
        plan_(plan),
        cut_plan_(cut_plan),
        warm_ups_(candidates_.size()) {}

  static constexpr std::size_t steps_besides_runs = 3;

 private:
  static constexpr int inspections = 3, floor_runs = 3;

  std::optional<double> warm_up(std::size_t i) override {
    warm_ups_[i] = replay(i, job_of(i, plan_, *data_));
    return {};
  }
  std::optional<double> run(std::size_t i) override {
    const ReplayResult result = replay(i, job_of(i, plan_, *data_));
    add_run(i, result.ms, result.reset_ms);
    return {};
  }
  void keep_warm_up(std::size_t i) override { add_run(i, warm_ups_[i].ms, warm_ups_[i].reset_ms); }
  void prepare() override { data_.emplace(bench_.device.id, plan_); }
  void inspect_all() override {
    each("without calls", [&](std::size_t i) { measure_floor(i); });
    data_.reset();
    each("inspection", [&](std::size_t i) { inspect(i); });
  }

  ReplayJob job_of(std::size_t i, const ReplayPlan& plan, ReplayData& data) const {
    ReplayJob job = PoolRunner::job_of<ReplayJob>(i);
    job.plan = &plan;
    job.data = &data;
    return job;
  }

  ReplayResult replay(std::size_t i, const ReplayJob& job) const {
    const ReplayResult result = candidates_[i].entry->on(bench_.device.id.kind)->replay(job);
    ReplayRow& row = this->row(i);
    if (result.refused > row.refused) {
      row.refused = result.refused;
      row.first_refused_bytes = result.first_refused_bytes;
    }
    if (result.damaged != 0) {
      throw_error(Exit::failed, "the contents of {} blocks were changed",
                  count_text(result.damaged));
    }
    if (result.inspection.overlaps != 0) {
      throw_error(Exit::failed, "{} blocks overlap others in use",
                  count_text(result.inspection.overlaps));
    }
    return result;
  }

  void measure_floor(std::size_t i) {
    ReplayJob job = job_of(i, plan_, *data_);
    job.calls = false;
    std::vector<double> ms;
    for (int run = 0; run < floor_runs; ++run) ms.push_back(replay(i, job).ms);
    row(i).floor_ms = std::move(ms);
  }

  void inspect(std::size_t i) {
    if (!cut_data_) cut_data_.emplace(bench_.device.id, cut_plan_);
    ReplayJob job = job_of(i, cut_plan_, *cut_data_);
    job.inspected = bench_.trace;
    job.checks_contents = true;  // timed replays do not check them
    // Collected in a copy: if an inspection is interrupted, the row gets none of them.
    ReplayRow seen;
    for (int run = 0; run < inspections; ++run) {
      seen.samples = replay(i, job).inspection.samples;
      for (std::size_t k = 0; k < seen.samples.size(); ++k) {
        if (seen.samples[k].event == bench_.summary.peak_event) seen.peak_sample = k;
      }
      if (seen.peak() != nullptr && seen.peak()->pool.fragmentation.measured)
        seen.peak_held_bytes.push_back(static_cast<double>(seen.peak()->held_bytes));
    }
    ReplayRow& row = this->row(i);
    row.samples = std::move(seen.samples);
    row.peak_sample = seen.peak_sample;
    row.peak_held_bytes = std::move(seen.peak_held_bytes);
  }

  void judge(std::size_t i) override {
    ReplayRow& row = this->row(i);
    if (row.runs_ms.empty()) return;
    judge_requests(i, row.requests, row.refused,
                   ", first one of " + bytes_text(row.first_refused_bytes));
    if (row.reason.empty() && stopped() && row.samples.empty())
      row.reason = "interrupted before the memory was inspected";
  }

  const ReplayPlan &plan_, &cut_plan_;
  std::vector<ReplayResult> warm_ups_;
  std::optional<ReplayData> data_, cut_data_;
};

}  // namespace

std::optional<double> ReplayRow::held_over_live() const {
  const std::optional<double> held = median(peak_held_bytes);
  if (!held || peak() == nullptr || peak()->pool.live_bytes == 0) return std::nullopt;
  return *held / static_cast<double>(peak()->pool.live_bytes);
}

std::uint64_t pool_bytes(const ReplayBench& bench, const PoolSize& pool) {
  constexpr std::uint64_t base = std::uint64_t{16} << 20;
  const workloads::TraceSummary& summary = bench.summary;
  double bytes = static_cast<double>(pool.bytes);
  if (pool.multiple > 0) {
    bytes = pool.multiple * static_cast<double>(summary.peak_padded);
  } else if (pool.kind == PoolSize::Kind::automatic) {
    bytes = 4 * static_cast<double>(summary.peak_padded) + static_cast<double>(base);
    for (const Allocator* entry : bench.sized_for.empty() ? bench.allocators : bench.sized_for) {
      if (entry->traits->frees == alloc::Frees::individually) continue;
      bytes = std::max(bytes, 1.25 * static_cast<double>(summary.padded_bytes));
    }
    // A pool for an allocator that never frees may not fit on the device. The other allocators are
    // then measured in half of the available memory.
    bytes = std::min(bytes, 0.5 * static_cast<double>(simt::device_available(bench.device.id)));
  }
  return whole_pool(pool, bytes);
}

std::vector<ReplayRow> run_replay(const ReplayBench& bench, const OnStep& on_step) {
  const workloads::ReplayPlan plan =
      workloads::plan_replay(*bench.trace, {.window = bench.settings.window, .cuts = {}});
  const workloads::ReplayPlan cut_plan = workloads::plan_replay(
      *bench.trace, {.window = bench.settings.window, .cuts = cuts_of(bench)});
  std::vector<InPool<ReplayRow>> pools;
  for (const PoolSize& pool : bench.settings.pools) {
    // Throws, if a size is impossible, before anything is measured.
    InPool<ReplayRow>& in_pool =
        pools.emplace_back(InPool<ReplayRow>{pool, pool_bytes(bench, pool)});
    for (const Allocator* entry : bench.allocators) {
      ReplayRow& row = in_pool.rows.emplace_back();
      row.set_allocator(*entry->traits);
      row.trace = bench.name;
      row.digest = bench.digest;
      row.pool = pool.text;
      row.settings = bench.settings;
      row.requests = bench.summary.requests;
      row.reason = interrupted_reason;
    }
    in_pool.choose_candidates(bench.allocators, bench.kept);
    // An automatic size depends on the memory that was available, so kept rows determine it.
    for (const ReplayRow& row : in_pool.rows) {
      if (pool.kind == PoolSize::Kind::automatic && row.pool_bytes != 0)
        in_pool.bytes = row.pool_bytes;
    }
    for (ReplayRow& row : in_pool.rows) {
      if (row.pool_bytes == 0) row.pool_bytes = in_pool.bytes;
    }
  }
  const std::size_t steps =
      static_cast<std::size_t>(bench.settings.runs) + ReplayPoolRunner::steps_besides_runs;
  return run_in_pools(std::move(pools), steps, on_step,
                      [&](const InPool<ReplayRow>& in_pool, const RowBench::Step& step) {
                        return ReplayPoolRunner(bench, plan, cut_plan, in_pool, step);
                      });
}

namespace {

using Rows = std::vector<const ReplayRow*>;
using SamplesOf = std::vector<double> (*)(const ReplayRow&);

std::vector<double> times_of(const ReplayRow& row) { return row.runs_ms; }
// Held bytes and the allocator's tables, per byte in use at the peak.
std::vector<double> memory_of(const ReplayRow& row) {
  std::vector<double> samples;
  if (row.peak() == nullptr || row.peak()->pool.live_bytes == 0) return samples;
  const auto live = static_cast<double>(row.peak()->pool.live_bytes),
             tables = static_cast<double>(row.peak()->pool.fragmentation.metadata_bytes);
  for (const double held : row.peak_held_bytes) samples.push_back((held + tables) / live);
  return samples;
}

bool is_candidate(const ReplayRow& row) {
  return row.status == Status::ok && !row.lower_bound && row.frees == alloc::Frees::individually;
}

// The candidates of a pool that have such samples, in the order of their medians.
Rows ranked(const std::vector<ReplayRow>& rows, std::uint64_t pool_bytes, SamplesOf samples) {
  Rows found;
  for (const ReplayRow& row : rows) {
    if (row.pool_bytes == pool_bytes && is_candidate(row) && !samples(row).empty())
      found.push_back(&row);
  }
  std::ranges::stable_sort(found, {}, [&](const ReplayRow* row) { return median(samples(*row)); });
  return found;
}

// "a tie of A and B" if the quartiles of the ranked row B overlap those of the first, A, or its
// median is less than 1% above; "" if there is no such row.
std::string tie_text(const Rows& rows, SamplesOf samples) {
  const std::vector<double> first = samples(*rows[0]);
  std::vector<std::string> tied;
  for (const ReplayRow* row : rows) {
    const std::vector<double> own = samples(*row);
    if (quantile(own, 0.25) <= quantile(first, 0.75) || *median(own) < 1.01 * *median(first))
      tied.push_back(row->label);
  }
  if (tied.size() < 2) return "";
  const std::string last = tied.back();
  tied.pop_back();
  return fmt::format("a tie of {} and {}", joined(tied), last);
}

struct Finding {
  const ReplayRow* row = nullptr;  // nullptr: undecided
  std::string reason;
};

Finding find_fastest(const Rows& rows) {
  if (rows.size() < 2) return {};
  if (std::ranges::any_of(rows, [](const ReplayRow* row) { return row->runs_ms.size() < 3; }))
    return {nullptr, "undecided, fewer than three runs"};
  if (const std::string tie = tie_text(rows, times_of); !tie.empty()) return {nullptr, tie};
  return {rows[0],
          fmt::format("{} ms, {} times as fast as {}", figure_text(rows[0]->median_ms()),
                      ratio_text(*rows[1]->median_ms() / *rows[0]->median_ms()), rows[1]->label)};
}

// `smallest`: the size of the smallest pool in which any candidate serves all requests.
Finding find_smallest(const std::vector<ReplayRow>& rows, std::uint64_t smallest, bool has_larger) {
  const Rows all = ranked(rows, smallest, times_of);
  if (has_larger && all.size() == 1)
    return {all[0],
            fmt::format("the only one that serves every request in {}", size_text(smallest))};
  const Rows by_memory = ranked(rows, smallest, memory_of);
  if (by_memory.size() < 2) return {};
  const auto figure = [](const ReplayRow& row) { return ratio_text(median(memory_of(row))); };
  const std::string what =
      fmt::format("{} bytes per byte in use at the peak, tables included", figure(*by_memory[0]));
  if (const std::string tie = tie_text(by_memory, memory_of); !tie.empty())
    return {nullptr, fmt::format("{}, {}", tie, what)};
  return {by_memory[0],
          fmt::format("{}; {} with {}", what, figure(*by_memory[1]), by_memory[1]->label)};
}

}  // namespace

ReplayChoice choose_allocators(const std::vector<ReplayRow>& rows) {
  std::vector<std::uint64_t> pools;
  for (const ReplayRow& row : rows) {
    if (is_candidate(row)) pools.push_back(row.pool_bytes);
  }
  ReplayChoice choice;
  if (pools.empty()) {
    choice.text = "Undecided: no allocator that frees single blocks served every request.";
    return choice;
  }
  const std::uint64_t largest = *std::ranges::max_element(pools),
                      smallest = *std::ranges::min_element(pools);
  const bool has_larger =
      std::ranges::any_of(rows, [&](const ReplayRow& row) { return row.pool_bytes > smallest; });
  Rows by_time = ranked(rows, largest, times_of);
  const Finding fastest = find_fastest(by_time),
                leanest = find_smallest(rows, smallest, has_larger);
  if (fastest.row != nullptr) choice.fastest = fastest.row->allocator;
  if (leanest.row != nullptr) choice.smallest = leanest.row->allocator;
  if (fastest.reason.empty() && leanest.reason.empty()) {
    choice.text = fmt::format("Undecided: only {} served every request.", by_time[0]->label);
    return choice;
  }
  const auto sentence = [](const char* goal, const Finding& finding) {
    if (finding.reason.empty()) return fmt::format("For {}: undecided.", goal);
    if (finding.row == nullptr) return fmt::format("For {}: {}.", goal, finding.reason);
    return fmt::format("For {}, use {}: {}.", goal, finding.row->label, finding.reason);
  };
  choice.text = sentence("speed", fastest) + " " + sentence("memory", leanest);
  if (fastest.row != nullptr && choice.fastest == choice.smallest && by_time.size() > 1) {
    by_time.erase(by_time.begin());
    const std::string tie = tie_text(by_time, times_of);
    choice.text += tie.empty() ? fmt::format(" Second: {}, {} ms.", by_time[0]->label,
                                             figure_text(by_time[0]->median_ms()))
                               : fmt::format(" Second: {}.", tie);
  }
  return choice;
}

namespace {

using workloads::ReplaySample;

Json summary_json(const ReplayBench& bench) {
  const workloads::TraceSummary& summary = bench.summary;
  Json json;
  json["source"] = bench.trace->source;
  json["pool_bytes"] = bench.trace->pool_bytes;
  json["dropped"] = bench.trace->dropped;
  json["refused"] = bench.trace->refused;
  json["unmatched_frees"] = bench.trace->unmatched;
  json["requests"] = summary.requests;
  json["frees"] = summary.frees;
  json["frees_by_others"] = summary.other_frees;
  json["kernels"] = summary.kernels;
  json["warps"] = summary.warps;
  json["requested_bytes"] = summary.requested;
  json["min_bytes"] = summary.min_bytes;
  json["max_bytes"] = summary.max_bytes;
  json["peak_bytes"] = summary.peak_bytes;
  json["peak_blocks"] = summary.peak_blocks;
  json["peak_event"] = summary.peak_event;
  json["end_bytes"] = summary.end_bytes;
  json["size_histogram"] = summary.sizes;
  json["lifetime_histogram"] = summary.lifetimes;
  return json;
}

}  // namespace

Json to_json(const ReplaySettings& settings) {
  Json json;
  json["runs"] = settings.runs;
  json["window"] = settings.window;
  json["samples"] = settings.samples;
  json["seconds"] = settings.seconds;
  if (settings.budget_seconds > 0) json["budget_seconds"] = settings.budget_seconds;
  return json;
}

void describe(JsonFields& fields, ReplaySample& sample) {
  fields("event", sample.event);
  fields("blocks", sample.pool.blocks);
  fields("live_bytes", sample.pool.live_bytes);
  alloc::Fragmentation& fragmentation = sample.pool.fragmentation;
  fragmentation.measured = fields.has("held_bytes", fragmentation.measured);
  if (!fragmentation.measured) return;
  fields("held_bytes", sample.held_bytes);
  fields("metadata_bytes", fragmentation.metadata_bytes);
  fields("free_bytes", fragmentation.free_bytes);
  fields("largest_free_bytes", fragmentation.largest_free_bytes);
  fields("touched_bytes", sample.touched_bytes);
  fields("address_bytes", sample.address_bytes);
  fields.optional("internal_fragmentation", fragmentation.internal);
  fields.finite("external_fragmentation", fragmentation.external);
  fields.finite("external_fragmentation_merged", fragmentation.external_merged);
}

void describe(JsonFields& fields, ReplayRow& row) {
  fields("trace", row.trace);
  fields("digest", row.digest);
  describe_allocator(fields, row);
  fields.derived("settings", to_json(row.settings));
  describe_pool_runs(fields, row);
  fields("floor_ms", row.floor_ms);
  fields("requests", row.requests);
  fields("refused", row.refused);
  if (row.refused != 0) fields("first_refused_bytes", row.first_refused_bytes);
  if (!fields.has("memory", !row.samples.empty())) return;
  fields.within("memory", [&](JsonFields& memory) {
    memory.derived("held_over_live", row.held_over_live());
    memory.unless_empty("peak_held_bytes", row.peak_held_bytes);
    ReplaySample peak = row.peak_sample ? row.samples[*row.peak_sample] : ReplaySample{};
    const bool has_peak = memory.has("peak", row.peak_sample.has_value());
    if (has_peak) memory.within("peak", [&](JsonFields& part) { describe(part, peak); });
    memory.list("over_time", row.samples);
    for (std::size_t i = 0; i < row.samples.size(); ++i) {
      if (has_peak && row.samples[i].event == peak.event) row.peak_sample = i;
    }
  });
}

Json replay_report(const std::vector<std::string>& argv, const ReplayBench& bench,
                   const std::vector<ReplayRow>& rows, const ReplayChoice& choice) {
  Json json = report_of(replay_schema, argv, bench.device, rows);
  json["trace"] = summary_json(bench);
  json["choice"]["text"] = choice.text;
  if (!choice.fastest.empty()) json["choice"]["fastest"] = choice.fastest;
  if (!choice.smallest.empty()) json["choice"]["smallest"] = choice.smallest;
  return json;
}

Earlier<ReplayRow> read_replays(const std::string& path, const ReplayBench& bench) {
  return read_earlier_rows<ReplayRow>(path, bench.device, replay_schema, bench.settings,
                                      [&](const ReplayRow& row) {
                                        return row.digest == bench.digest && !row.samples.empty() &&
                                               has_all_runs(row.runs_ms.size(), bench.settings);
                                      });
}

}  // namespace heapwood::bench
