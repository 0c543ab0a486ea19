// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bench/interleaved_runner.hpp"
#include "bench/program/messages.hpp"
#include "bench/replay_bench.hpp"
#include "bench/results/format.hpp"
#include "bench/scene_bench.hpp"
#include "kdtree/build/build.hpp"
#include "simt/memory.hpp"

namespace heapwood::bench {

namespace {

using workloads::ReplayData;
using workloads::ReplayJob;
using workloads::ReplayPlan;
using workloads::ReplayResult;

struct ReplayCandidate {
  const registry::RegisteredAllocator* entry;
  ReplayRow* row;
  bool running = true;
  ReplayResult warm_up{};
};

// Events after which an inspected replay looks at the pool: evenly spaced, and the peak.
std::vector<std::size_t> cuts_of(const ReplayBench& bench) {
  const std::size_t events = bench.trace->events.size();
  std::vector<std::size_t> cuts{bench.summary.peak_event};
  for (unsigned i = 1; i < bench.settings.samples; ++i)
    cuts.push_back(events / bench.settings.samples * i);
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

const ReplayRow* find_kept(const ReplayBench& bench, const std::string& pool,
                           const std::string& allocator) {
  for (const ReplayRow& row : bench.kept) {
    if (row.pool == pool && row.allocator == allocator) return &row;
  }
  return nullptr;
}

// All allocators in one pool.
class ReplayPoolRunner {
 public:
  ReplayPoolRunner(const ReplayBench& bench, const ReplayPlan& plan, const ReplayPlan& cut_plan,
                   std::size_t pool_bytes, std::vector<ReplayCandidate> candidates,
                   std::function<void(const std::string&)> step)
      : bench_(bench),
        plan_(plan),
        cut_plan_(cut_plan),
        pool_bytes_(pool_bytes),
        candidates_(std::move(candidates)),
        runner_(run_candidates(), bench.settings.runs, 1e3 * bench.settings.budget_seconds,
                [this, step = std::move(step)](std::size_t i, const std::string& what) {
                  step(fmt::format("{}: {}", candidates_[i].row->label, what));
                }) {}
  ReplayPoolRunner(const ReplayPoolRunner&) = delete;  // the callbacks refer to it
  ReplayPoolRunner& operator=(const ReplayPoolRunner&) = delete;

  static constexpr int steps_besides_runs = 3;

  // Returns whether it was interrupted.
  bool run() {
    for (ReplayCandidate& candidate : candidates_) skip_if_unusable(candidate);
    if (std::any_of(candidates_.begin(), candidates_.end(),
                    [](const ReplayCandidate& candidate) { return candidate.running; })) {
      runner_.guarded(
          [this] {
            memory_ = simt::Memory(bench_.device.id, pool_bytes_);
            data_.emplace(bench_.device.id, plan_);
          },
          [this](const std::exception& error) {
            for (ReplayCandidate& candidate : candidates_) {
              if (candidate.running) fail(candidate, error);
            }
          });
    }
    runner_.warm_up();
    runner_.measure();
    runner_.each("without calls", [&](std::size_t i) { measure_floor(candidates_[i]); });
    data_.reset();
    runner_.each("inspection", [&](std::size_t i) { inspect(candidates_[i]); });
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      candidates_[i].row->seconds = runner_.seconds(i);
      judge(i);
    }
    return runner_.stopped();
  }

 private:
  static constexpr int inspections = 3, floor_runs = 3;

  std::vector<RunCandidate> run_candidates() {
    std::vector<RunCandidate> all;
    for (ReplayCandidate& candidate : candidates_) {
      RunCandidate one;
      one.warm_up = [this, &candidate] {
        candidate.warm_up = replay(candidate, job_of(plan_, *data_));
        return std::nullopt;
      };
      one.run = [this, &candidate] {
        add_run(candidate, replay(candidate, job_of(plan_, *data_)));
        return std::nullopt;
      };
      one.keep_warm_up = [&candidate] { add_run(candidate, candidate.warm_up); };
      one.running = [&candidate] { return candidate.running; };
      one.fail = [this, &candidate](const std::exception& error) { fail(candidate, error); };
      all.push_back(std::move(one));
    }
    return all;
  }

  void fail(ReplayCandidate& candidate, const std::exception& error) const {
    candidate.running = false;
    candidate.row->status = Status::failed;
    candidate.row->reason = dynamic_cast<const simt::Stopped*>(&error) == nullptr
                                ? reason_text(error)
                                : fmt::format("the replay did not finish within {} s (--seconds)",
                                              figure_text(bench_.settings.seconds));
  }

  void skip_if_unusable(ReplayCandidate& candidate) {
    const alloc::AllocatorTraits& traits = *candidate.entry->traits;
    std::string reason;
    if (candidate.entry->on(bench_.device.id.kind) == nullptr) {
      reason = "not compiled for " + bench_.device.key;
    } else if (pool_bytes_ < traits.smallest_pool) {
      reason = fmt::format("needs a pool of at least {}", bytes_text(traits.smallest_pool));
    } else if (!traits.keeps_live_memory) {
      reason = "may hand out memory in use";
    }
    if (reason.empty()) return;
    candidate.running = false;
    candidate.row->status = Status::skipped;
    candidate.row->reason = reason;
  }

  ReplayJob job_of(const ReplayPlan& plan, ReplayData& data) const {
    ReplayJob job;
    job.device = bench_.device.id;
    job.pool = {memory_.data(), memory_.bytes()};
    job.plan = &plan;
    job.data = &data;
    job.seconds = bench_.settings.seconds;
    return job;
  }

  ReplayResult replay(ReplayCandidate& candidate, const ReplayJob& job) const {
    const ReplayResult result = candidate.entry->on(bench_.device.id.kind)->replay(job);
    ReplayRow& row = *candidate.row;
    if (result.refused > row.refused) {
      row.refused = result.refused;
      row.first_refused_bytes = result.first_refused_bytes;
    }
    if (result.damaged != 0) {
      throw Error(Exit::failed, fmt::format("the contents of {} blocks were changed",
                                            count_text(result.damaged)));
    }
    if (result.inspection.overlaps != 0) {
      throw Error(Exit::failed, fmt::format("{} blocks overlap others in use",
                                            count_text(result.inspection.overlaps)));
    }
    return result;
  }

  static void add_run(ReplayCandidate& candidate, const ReplayResult& result) {
    candidate.row->runs_ms.push_back(result.ms);
    candidate.row->reset_ms.push_back(result.reset_ms);
  }

  void measure_floor(ReplayCandidate& candidate) {
    ReplayJob job = job_of(plan_, *data_);
    job.calls = false;
    std::vector<double> ms;
    for (int i = 0; i < floor_runs; ++i) ms.push_back(replay(candidate, job).ms);
    candidate.row->floor_ms = std::move(ms);
  }

  void inspect(ReplayCandidate& candidate) {
    if (!cut_data_) cut_data_.emplace(bench_.device.id, cut_plan_);
    ReplayJob job = job_of(cut_plan_, *cut_data_);
    job.inspected = bench_.trace;
    job.stamps = true;  // not in timed replays
    // The row gets all inspections or none, if one is interrupted.
    ReplayRow seen;
    for (int i = 0; i < inspections; ++i) {
      seen.samples = replay(candidate, job).inspection.samples;
      for (std::size_t k = 0; k < seen.samples.size(); ++k) {
        if (seen.samples[k].event == bench_.summary.peak_event) seen.peak_sample = k;
      }
      if (seen.peak() != nullptr && seen.peak()->pool.fragmentation.measured)
        seen.peak_held_bytes.push_back(static_cast<double>(seen.peak()->held_bytes));
    }
    ReplayRow& row = *candidate.row;
    row.samples = std::move(seen.samples);
    row.peak_sample = seen.peak_sample;
    row.peak_held_bytes = std::move(seen.peak_held_bytes);
  }

  void judge(std::size_t i) {
    ReplayRow& row = *candidates_[i].row;
    if (!candidates_[i].running || row.runs_ms.empty()) return;
    row.status = Status::ok;
    row.reason.clear();
    if (row.refused != 0) {
      row.status = Status::incomplete;
      row.reason =
          fmt::format("{} of {} requests refused, first one of {}", count_text(row.refused),
                      count_text(row.requests), bytes_text(row.first_refused_bytes));
    } else if (runner_.only_warm_up(i)) {
      row.reason = "slow: the warm-up is the only run";
    } else if (row.runs_ms.size() < static_cast<std::size_t>(bench_.settings.runs)) {
      row.reason = fmt::format("{} of {} runs{}", row.runs_ms.size(), bench_.settings.runs,
                               runner_.stopped() ? ", interrupted" : " within the budget");
    } else if (runner_.stopped() && row.samples.empty()) {
      row.reason = "interrupted before the memory was inspected";
    }
  }

  const ReplayBench& bench_;
  const ReplayPlan &plan_, &cut_plan_;
  std::size_t pool_bytes_;
  std::vector<ReplayCandidate> candidates_;
  simt::Memory memory_;
  std::optional<ReplayData> data_, cut_data_;
  InterleavedRunner runner_;
};

}  // namespace

std::optional<double> ReplayRow::held_over_live() const {
  const std::optional<double> held = median(peak_held_bytes);
  if (!held || peak() == nullptr || peak()->pool.live_bytes == 0) return std::nullopt;
  return *held / static_cast<double>(peak()->pool.live_bytes);
}

std::uint64_t pool_bytes(const ReplayBench& bench, const ReplayPool& pool) {
  constexpr std::uint64_t unit = 256, min_pool = 1 << 16, base = std::uint64_t{16} << 20;
  const workloads::TraceSummary& summary = bench.summary;
  double bytes = static_cast<double>(pool.bytes);
  if (pool.kind == ReplayPool::Kind::peak_multiple) {
    bytes = pool.multiple * static_cast<double>(summary.peak_padded);
  } else if (pool.kind == ReplayPool::Kind::automatic) {
    bytes = 4 * static_cast<double>(summary.peak_padded) + static_cast<double>(base);
    for (const registry::RegisteredAllocator* entry :
         bench.sized_for.empty() ? bench.allocators : bench.sized_for) {
      if (entry->traits->frees == alloc::Frees::individually) continue;
      bytes = std::max(bytes, 1.25 * static_cast<double>(summary.padded_bytes));
    }
    // Other allocators are worth measuring where one that never frees does not fit.
    bytes = std::min(bytes, .5 * static_cast<double>(simt::device_available(bench.device.id)));
  }
  if (bytes > 1e15) throw Error(Exit::usage, fmt::format("--pool {}: too large", pool.text));
  const auto whole = static_cast<std::uint64_t>(bytes);
  return pool.kind == ReplayPool::Kind::bytes
             ? whole / unit * unit
             : std::max((whole + unit - 1) / unit * unit, min_pool);
}

std::vector<ReplayRow> run_replay(const ReplayBench& bench, const ReplayEvents& events) {
  const workloads::ReplayPlan plan =
      workloads::plan_replay(*bench.trace, {.window = bench.settings.window, .cuts = {}});
  const workloads::ReplayPlan cut_plan = workloads::plan_replay(
      *bench.trace, {.window = bench.settings.window, .cuts = cuts_of(bench)});
  std::vector<ReplayRow> rows;
  std::vector<std::uint64_t> sizes;  // of the pools; throws before anything is measured
  std::size_t done = 0, steps = 0;
  for (const ReplayPool& pool : bench.settings.pools) {
    sizes.push_back(pool_bytes(bench, pool));
    for (const registry::RegisteredAllocator* entry : bench.allocators) {
      if (const ReplayRow* kept = find_kept(bench, pool.text, entry->traits->id)) {
        rows.push_back(*kept);
        // An automatic pool depends on the memory that was available.
        if (pool.kind == ReplayPool::Kind::automatic) sizes.back() = kept->pool_bytes;
        continue;
      }
      ReplayRow row;
      row.trace = bench.name;
      row.digest = bench.digest;
      row.allocator = entry->traits->id;
      row.label = entry->traits->label;
      row.frees = entry->traits->frees;
      row.lower_bound = entry->traits->lower_bound;
      row.pool = pool.text;
      row.requests = bench.summary.requests;
      row.reason = interrupted_reason;
      rows.push_back(std::move(row));
      steps += static_cast<std::size_t>(bench.settings.runs + ReplayPoolRunner::steps_besides_runs);
    }
  }
  for (std::size_t p = 0; p < bench.settings.pools.size(); ++p) {
    const std::size_t first = p * bench.allocators.size();
    const ReplayPool& pool = bench.settings.pools[p];
    std::vector<ReplayCandidate> candidates;
    for (std::size_t i = 0; i < bench.allocators.size(); ++i) {
      ReplayRow& row = rows[first + i];
      if (find_kept(bench, pool.text, row.allocator)) continue;
      row.pool_bytes = sizes[p];
      candidates.push_back({bench.allocators[i], &row});
    }
    ReplayPoolRunner runner(
        bench, plan, cut_plan, sizes[p], std::move(candidates), [&](const std::string& what) {
          if (events.progress)
            events.progress(done, steps, fmt::format("pool {}: {}", pool.text, what));
          ++done;
        });
    if (runner.run()) break;
  }
  return rows;
}

}  // namespace heapwood::bench
