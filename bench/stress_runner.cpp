// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "bench/interleaved_runner.hpp"
#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"
#include "bench/scene_bench.hpp"
#include "bench/stress.hpp"
#include "simt/memory.hpp"

namespace heapwood::bench {

namespace {

struct Candidate {
  const registry::RegisteredAllocator* entry;
  StressRow* row;
  bool running = true;
  workloads::StressResult warm_up{};
};

// Measures all allocators at one point.
class PointBench {
 public:
  PointBench(const StressBench& bench, const StressPoint& point, std::vector<Candidate> candidates,
             simt::Memory& memory, std::function<void(const std::string&)> step)
      : bench_(bench),
        point_(point),
        candidates_(std::move(candidates)),
        memory_(memory),
        runner_(run_candidates(), bench_.settings.runs, 1e3 * bench_.settings.budget_seconds,
                [this, step = std::move(step)](std::size_t i, const std::string& what) {
                  step(fmt::format("{}: {}", candidates_[i].row->label, what));
                }) {}
  PointBench(const PointBench&) = delete;  // the callbacks refer to it
  PointBench& operator=(const PointBench&) = delete;

  void run() {
    prepare();
    const bool space = workloads::measures_space(bench_.settings.test);
    if (!space) runner_.warm_up();
    runner_.measure();
    if (!space && bench_.settings.inspect)
      runner_.each("addresses and fragmentation",
                   [this](std::size_t i) { inspect(candidates_[i]); });
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      candidates_[i].row->seconds = runner_.seconds(i);
      judge(i);
    }
  }
  bool stopped() const { return runner_.stopped(); }

 private:
  // The callbacks refer to this object and to the elements of candidates_.
  std::vector<RunCandidate> run_candidates() {
    std::vector<RunCandidate> all;
    for (Candidate& candidate : candidates_) {
      RunCandidate one;
      one.warm_up = [this, &candidate] {
        candidate.warm_up = stress(candidate, false);
        return std::nullopt;
      };
      one.run = [this, &candidate] {
        note_run(*candidate.row, stress(candidate, false));
        return std::nullopt;
      };
      one.running = [&candidate] { return candidate.running; };
      one.fail = [this, &candidate](const std::exception& error) {
        fail(candidate, failure_text(error));
      };
      one.keep_warm_up = [&candidate] { note_run(*candidate.row, candidate.warm_up); };
      all.push_back(std::move(one));
    }
    return all;
  }

  workloads::StressResult stress(const Candidate& candidate, bool inspect) const {
    return candidate.entry->on(bench_.device.id.kind)->stress(job(inspect));
  }

  void inspect(Candidate& candidate) const {
    const workloads::StressResult result = stress(candidate, true);
    StressRow& row = *candidate.row;
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
      Candidate& candidate = candidates_[i];
      const registry::CompiledAllocator* compiled = candidate.entry->on(bench_.device.id.kind);
      const alloc::AllocatorTraits& traits = *candidate.entry->traits;
      if (!compiled) {
        skip(candidate, "not compiled for " + bench_.device.key);
      } else if (point_.pool_bytes < traits.smallest_pool) {
        skip(candidate,
             fmt::format("needs a pool of at least {}", bytes_text(traits.smallest_pool)));
      } else if (const char* reason = why_not_applicable(traits)) {
        skip(candidate, reason);
      } else if (bench_.device.id.kind == simt::DeviceKind::cuda) {
        runner_.guarded(i, [&] {
          candidate.row->calls = compiled->call_use(bench_.device.id, bench_.settings.coalesced,
                                                    bench_.settings.large);
        });
      }
    }
    // Reused at the next point: a smaller pool is the start of a larger one.
    if (memory_.bytes() >= point_.pool_bytes) return;
    try {
      memory_ = simt::Memory();
      memory_ = simt::Memory(bench_.device.id, point_.pool_bytes);
    } catch (const std::exception& error) {
      for (Candidate& candidate : candidates_) {
        if (candidate.running) fail(candidate, reason_text(error));
      }
    }
  }

  // Why the test does not apply to an allocator, or nullptr.
  const char* why_not_applicable(const alloc::AllocatorTraits& traits) const {
    const workloads::StressTest test = bench_.settings.test;
    const bool range = test == workloads::StressTest::range,
               churn = test == workloads::StressTest::churn;
    const bool lifetimes = workloads::has_lifetimes(test);
    if ((range || churn || lifetimes) && traits.frees == alloc::Frees::all_at_once)
      return "cannot free single blocks";
    if (lifetimes && traits.frees == alloc::Frees::never) return "cannot free";
    if (workloads::measures_space(test) && !range && !traits.keeps_live_memory)
      return "never refuses: hands out memory in use instead";
    return nullptr;
  }

  workloads::StressJob job(bool inspect) const {
    const StressSettings& settings = bench_.settings;
    workloads::StressJob job;
    job.device = bench_.device.id;
    job.pool = {memory_.data(), point_.pool_bytes};
    job.options = allocator_sizes(settings.sizes);
    job.options.wait_when_full = settings.wait;
    job.options.page_bytes = point_.page_bytes;
    job.options.large_backend = settings.large;
    job.test = settings.test;
    job.coalesced = settings.coalesced;
    job.threads = stress_threads(settings, point_);
    job.lanes = settings.lanes;
    job.payload = point_.payload;
    job.iterations = point_.iterations;
    job.order = settings.order;
    job.seed = settings.seed;
    job.chance = workloads::chance_of(settings.probability);
    job.rounds = settings.rounds;
    job.touch = settings.touch;
    job.inspect = inspect;
    job.seconds = settings.seconds;
    if (!inspect) job.run_seconds = settings.budget_seconds;
    return job;
  }

  std::string failure_text(const std::exception& error) const {
    if (!dynamic_cast<const simt::Stopped*>(&error)) return reason_text(error);
    return fmt::format("not finished after {} s (--seconds)", figure_text(limit()));
  }
  static void skip(Candidate& candidate, const std::string& reason) {
    candidate.running = false;
    candidate.row->reason = reason;
  }
  static void fail(Candidate& candidate, const std::string& reason) {
    candidate.running = false;
    candidate.row->status = Status::failed;
    candidate.row->reason = reason;
  }

  void judge(std::size_t i) const {
    const Candidate& candidate = candidates_[i];
    StressRow& row = *candidate.row;
    if (!candidate.running) return;
    if (row.runs_ms.empty()) {
      row.reason = interrupted_reason;
      return;
    }
    const std::uint64_t overlaps = row.overlaps.value_or(0), shared = row.damaged + overlaps;
    const workloads::StressCounts& counts = *row.counts;
    const workloads::StressTest test = bench_.settings.test;
    const bool churn = test == workloads::StressTest::churn,
               exhausts = test == workloads::StressTest::exhaust;
    const bool fills = churn || exhausts || test == workloads::StressTest::utilization;
    if (shared) {
      const bool published = !candidate.entry->traits->keeps_live_memory;
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
      const bool partial = row.runs_ms.size() < static_cast<std::size_t>(bench_.settings.runs);
      if (runner_.only_warm_up(i))
        row.reason = "slow: only the warm-up";
      else if (partial)
        row.reason = fmt::format("{} {} of {} runs", stopped() ? "interrupted after" : "slow: only",
                                 row.runs_ms.size(), bench_.settings.runs);
      else if (churn && counts.failures == 0)
        row.reason = "nothing was refused: give more --iterations";
      else
        row.reason.clear();
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
  std::vector<Candidate> candidates_;
  simt::Memory& memory_;
  InterleavedRunner runner_;
};

}  // namespace

std::vector<StressRow> run_stress(const StressBench& bench, const StressEvents& events) {
  const std::size_t untimed = workloads::measures_space(bench.settings.test) ? 0 : 2;
  const std::size_t steps =
      bench.allocators.size() * (static_cast<std::size_t>(bench.settings.runs) + untimed);
  std::vector<StressRow> rows;
  simt::Memory memory;
  std::size_t done = 0;
  for (const StressPoint& point : bench.points) {
    const std::size_t first = rows.size();
    for (const registry::RegisteredAllocator* entry : bench.allocators) {
      StressRow row;
      row.allocator = entry->traits->id;
      row.label = entry->traits->label;
      row.frees = entry->traits->frees;
      row.lower_bound = entry->traits->lower_bound;
      row.settings = bench.settings;
      row.point = point;
      row.reason = interrupted_reason;
      rows.push_back(std::move(row));
    }
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < bench.allocators.size(); ++i)
      candidates.push_back({bench.allocators[i], &rows[first + i]});
    PointBench measure(bench, point, std::move(candidates), memory, [&](const std::string& what) {
      if (events.progress) events.progress(done, steps * bench.points.size(), what);
      ++done;
    });
    measure.run();
    if (events.point_done) events.point_done(rows);
    if (measure.stopped()) break;
  }
  return rows;
}

}  // namespace heapwood::bench
