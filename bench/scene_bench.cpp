// SPDX-License-Identifier: MIT
#include "bench/scene_bench.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"

namespace heapwood::bench {

namespace {

void fail(Result& result, const std::string& reason) {
  result.status = Status::failed;
  result.reason = reason;
}

std::string exhausted_text(const Result& result) {
  std::string text =
      fmt::format("pool of {} exhausted: {} request", bytes_text(result.pool_bytes.value_or(0)),
                  bytes_text(result.refused_bytes));
  const char* plural = result.refused_splits == 1 ? "" : "s";
  return text +
         fmt::format(" refused, {} node{} not split", count_text(result.refused_splits), plural);
}

void ignore_failure(const std::exception&) {}

void note_run(Result& result, const kdtree::BuildRun& run) {
  result.warps = run.warps;
  if (!run.incomplete) return;
  result.status = Status::incomplete;
  result.refused_splits = run.failed_splits;
  result.refused_bytes = run.failed_bytes;
}

}  // namespace

SceneBench::SceneBench(const BenchJob& job, const BenchEvents& events, PreparedScene& scene,
                       std::vector<Candidate> candidates, std::vector<Result*> all, Step step)
    : job_(job),
      events_(events),
      scene_(scene),
      candidates_(std::move(candidates)),
      all_(std::move(all)),
      step_(std::move(step)),
      runner_(run_candidates(), job_.settings.runs, 1e3 * job_.budget_seconds,
              [this](std::size_t i, const std::string& what) {
                step_(fmt::format("{}: {}, {}", scene_.name(), candidates_[i].name(), what));
              }) {
  for (Candidate& candidate : candidates_) {
    Result& result = *candidate.result;
    result.scene = scene_.name();
    result.triangles = scene_.triangles();
    result.degenerate = scene_.degenerate();
  }
}

// The callbacks refer to this object and to the elements of candidates_.
std::vector<RunCandidate> SceneBench::run_candidates() {
  std::vector<RunCandidate> all;
  for (Candidate& candidate : candidates_) {
    RunCandidate one;
    one.warm_up = [this, &candidate] {
      candidate.warmed_up = true;
      return candidate.entry ? warm_up(candidate) : warm_up_per_level(candidate);
    };
    one.run = [this, &candidate] { return run(candidate); };
    one.running = [&candidate] { return !candidate.warmed_up || candidate.running(); };
    one.fail = [&candidate](const std::exception& error) {
      fail(*candidate.result, reason_text(error));
    };
    one.keep_warm_up = [this, &candidate] { keep_warm_up(candidate); };
    one.last_run_done = [this, &candidate] { compare_with_first(*candidate.result); };
    all.push_back(std::move(one));
  }
  return all;
}

void SceneBench::choose_pool(std::optional<std::uint64_t> kept_bytes) {
  if (std::none_of(candidates_.begin(), candidates_.end(),
                   [](const Candidate& candidate) { return candidate.entry; }))
    return;
  if (kept_bytes) {
    scene_.set_pool(*kept_bytes);
    return;
  }
  if (job_.settings.pool.kind == PoolSize::Kind::live_multiple) {
    if (scene_.live_bytes()) return;
    const registry::RegisteredAllocator* probe = live_probe();
    if (probe) runner_.guarded([&] { scene_.measure_live_bytes(*probe); }, ignore_failure);
    // Outside: a pool that cannot be allocated fails for every allocator.
    if (scene_.live_bytes()) scene_.set_live_bytes(*scene_.live_bytes());
    return;
  }
  if (job_.settings.pool.kind != PoolSize::Kind::automatic) return;
  if (job_.pool_probe) {
    runner_.guarded([&] { holds_all_ = !scene_.build_growing(*job_.pool_probe).incomplete; },
                    ignore_failure);
    return;
  }
  growing_ = true;
}

// The bytes in use at once depend on the builder, and only a little on the allocator: the default
// one stands for all, or else the first that keeps live memory.
const registry::RegisteredAllocator* SceneBench::live_probe() const {
  const auto usable = [&](const registry::RegisteredAllocator* entry) {
    return entry && entry->on(job_.device.id.kind) && entry->traits->keeps_live_memory &&
           !cannot_build(*entry);
  };
  if (const auto* entry = registry::find(default_allocator); usable(entry)) return entry;
  for (const Candidate& candidate : candidates_) {
    if (usable(candidate.entry)) return candidate.entry;
  }
  return nullptr;
}

// Without a probe (choose_pool()) it also sizes the pool of `--pool auto`, which grows until every
// allocator that keeps live memory completes a build. Those that may hand it out again come last,
// when the size is known.
void SceneBench::warm_up() {
  for (const bool keeps : {true, false}) {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const registry::RegisteredAllocator* entry = candidates_[i].entry;
      const bool careful = !entry || entry->traits->keeps_live_memory;
      if (careful == keeps) runner_.warm_up(i);
      if (stopped()) return;
    }
  }
  for (Candidate& candidate : candidates_) {
    if (candidate.entry && scene_.has_sized_pool())
      candidate.result->pool_bytes = scene_.pool_bytes();
  }
  compare_trees();
}

void SceneBench::build_per_level(Candidate& candidate, bool timed) {
  Result& result = *candidate.result;
  const kdtree::LevelRun run = scene_.build_per_level();
  if (!result.levels) result.levels.emplace();
  result.levels->run = run;
  result.levels->mapped_bytes = scene_.host_statistics().peak_mapped_bytes;
  if (!timed) return;
  result.runs_ms.push_back(run.ms);
  result.levels->allocation_ms.push_back(run.allocation_ms);
}

// Its time does not count towards the budget.
double SceneBench::warm_up_per_level(Candidate& candidate) {
  Result& result = *candidate.result;
  build_per_level(candidate, false);
  result.tree = scene_.tree_stats();
  result.status = Status::ok;
  if (events_.tree_built) events_.tree_built(scene_, result);
  return 0;
}

double SceneBench::warm_up(Candidate& candidate) {
  Result& result = *candidate.result;
  if (!may_run(candidate)) return 0;
  scene_.size_live_pool(*candidate.entry);
  result.pool_bytes = scene_.pool_bytes();
  const bool grow = growing_ && candidate.entry->traits->keeps_live_memory;
  const kdtree::BuildRun build =
      grow ? scene_.build_growing(*candidate.entry) : scene_.build(*candidate.entry);
  note_run(result, build);
  candidate.warm_up_ms = build.ms;
  candidate.warm_up_reset_ms = build.reset_ms;
  result.tree = scene_.tree_stats();
  result.workspace_bytes = scene_.workspace().overhead_bytes();
  if (job_.device.id.kind == simt::DeviceKind::cuda) {
    const registry::CompiledAllocator& compiled = compiled_for(*candidate.entry, job_.device);
    result.kernel = compiled.kernel_use(job_.device.id, job_.settings.refs);
    result.calls = compiled.call_use(job_.device.id, false, alloc::LargeBackend::buddy);
  }
  if (result.status != Status::incomplete) result.status = Status::ok;
  if (events_.tree_built) events_.tree_built(scene_, result);
  return build.ms;
}

// The order of warps varies, so that a pool that sufficed for the warm-up may be too small for a
// run. All runs are then repeated in the pool that this run has enlarged.
void SceneBench::measure() {
  std::size_t pool = scene_.pool_bytes();
  while (!runner_.measure([&] { return scene_.pool_bytes() == pool; })) {
    pool = scene_.pool_bytes();
    for (Candidate& candidate : candidates_) discard_runs(candidate);
  }
}

double SceneBench::run(Candidate& candidate) {
  Result& result = *candidate.result;
  if (!candidate.entry) {
    build_per_level(candidate, true);
    return result.runs_ms.back();
  }
  const kdtree::BuildRun build =
      growing_ ? scene_.build_growing(*candidate.entry) : scene_.build(*candidate.entry);
  // In a larger pool than the other candidates': the runner discards it.
  if (scene_.pool_bytes() != result.pool_bytes) return 0;
  note_run(result, build);
  result.runs_ms.push_back(build.ms);
  result.reset_ms.push_back(build.reset_ms);
  return build.ms;
}

void SceneBench::keep_warm_up(Candidate& candidate) {
  candidate.result->runs_ms.push_back(candidate.warm_up_ms);
  if (candidate.entry) candidate.result->reset_ms.push_back(candidate.warm_up_reset_ms);
}

void SceneBench::discard_runs(Candidate& candidate) {
  Result& result = *candidate.result;
  result.runs_ms.clear();
  result.reset_ms.clear();
  if (result.levels) result.levels->allocation_ms.clear();
  if (candidate.entry) result.pool_bytes = scene_.pool_bytes();
}

void SceneBench::instrument() {
  for (std::size_t i = 0; i < candidates_.size() && !stopped(); ++i) {
    Candidate& candidate = candidates_[i];
    step_(
        fmt::format("{}: {}, requests and fragmentation", scene_.name(), candidate.result->label));
    if (!candidate.running() || !candidate.entry) continue;
    runner_.guarded(i, [&] {
      const kdtree::InstrumentedRun run = scene_.build_instrumented(*candidate.entry);
      candidate.result->requests = run.requests;
      if (candidate.entry->traits->in_pool) candidate.result->at_end = run.at_end;
    });
    if (!job_.instrument_all && candidate.result->requests &&
        candidate.result->status == Status::ok)
      break;
  }
}

void SceneBench::finish() {
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    Result& result = *candidates_[i].result;
    const std::size_t done = result.runs_ms.size();
    if (result.status == Status::incomplete) {
      result.reason = exhausted_text(result);
    } else if (result.status == Status::ok && done == 0) {
      result.status = Status::skipped;
      result.reason = interrupted_reason;
    } else if (result.status == Status::ok) {
      const bool partial = done < static_cast<std::size_t>(job_.settings.runs);
      const char* why = stopped() ? "interrupted after" : "slow: only";
      result.reason = partial ? fmt::format("{} {} of {} runs", why, done, job_.settings.runs) : "";
      if (runner_.only_warm_up(i)) result.reason = "slow: only the warm-up";
    }
  }
}

bool SceneBench::may_run(Candidate& candidate) {
  Result& result = *candidate.result;
  if (const char* reason = cannot_build(*candidate.entry)) {
    result.reason = reason;
    return false;
  }
  if (!candidate.entry->on(job_.device.id.kind)) {
    result.reason = "not compiled for " + job_.device.key;
    return false;
  }
  if (scene_.pool_bytes() < candidate.entry->traits->smallest_pool) {
    result.reason = fmt::format("needs a pool of at least {}",
                                bytes_text(candidate.entry->traits->smallest_pool));
    return false;
  }
  if (candidate.entry->traits->keeps_live_memory || pool_holds_all()) return true;
  // It would wrap around and hand out arrays that nodes still read; ids in them may be out of
  // range.
  result.reason =
      "the pool is smaller than the sum of all requests; this allocator would overwrite live "
      "memory";
  return false;
}

bool SceneBench::pool_holds_all() {
  if (!holds_all_) {
    holds_all_ = false;
    const registry::RegisteredAllocator* bump = registry::find("atomic");
    const auto build = [&] { return growing_ ? scene_.build_growing(*bump) : scene_.build(*bump); };
    if (bump) runner_.guarded([&] { holds_all_ = !build().incomplete; }, ignore_failure);
  }
  return *holds_all_;
}

// AtomicMalloc hands out each address once: its tree is the reference.
void SceneBench::compare_trees() {
  const Result* first = nullptr;
  for (const Result* result : all_) {
    if (result->status != Status::ok || !result->tree) continue;
    if (!first || result->allocator == "atomic") first = result;
  }
  for (Candidate& candidate : candidates_) {
    Result& result = *candidate.result;
    if (result.status != Status::ok || !result.tree || result.tree->hash == first->tree->hash)
      continue;
    result.wrong_tree = true;
    fail(result, fmt::format("tree differs from {}'s: hash {:016x} instead of {:016x}",
                             first->label, result.tree->hash, first->tree->hash));
  }
}

void SceneBench::compare_with_first(Result& result) {
  const std::uint64_t hash = scene_.tree_stats().hash;
  if (result.status != Status::ok || result.tree->hash == hash) return;
  result.wrong_tree = true;
  fail(result, fmt::format("tree differs from run to run: hash {:016x}, then {:016x}",
                           result.tree->hash, hash));
}

}  // namespace heapwood::bench
