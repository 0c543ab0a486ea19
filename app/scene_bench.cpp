// SPDX-License-Identifier: MIT
#include "app/scene_bench.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/format.hpp"
#include "app/samples.hpp"

namespace heapwood::app {

namespace {

void fail(Result& result, const std::string& reason) {
  result.status = Status::failed;
  result.reason = reason;
}

std::string exhausted_text(const Result& result) {
  std::string text = fmt::format("pool of {} exhausted: {} request", bytes_text(result.pool_bytes.value_or(0)),
                                 bytes_text(result.refused_bytes));
  const char* plural = result.refused_splits == 1 ? "" : "s";
  return text + fmt::format(" refused, {} node{} not split", count_text(result.refused_splits), plural);
}

void note_run(Result& result, const kdtree::BuildRun& run) {
  result.warps = run.warps;
  if (!run.incomplete) return;
  result.status = Status::incomplete;
  result.refused_splits = run.failed_splits;
  result.refused_bytes = run.failed_bytes;
}

}  // namespace

SceneBench::SceneBench(const BenchJob& job, const BenchEvents& events, PreparedScene& scene, std::vector<Lane> lanes,
                       std::vector<Result*> all, Step step)
    : job_(job),
      events_(events),
      scene_(scene),
      lanes_(std::move(lanes)),
      all_(std::move(all)),
      step_(std::move(step)) {
  for (Lane& lane : lanes_) {
    Result& result = *lane.result;
    result.scene = scene_.name();
    result.triangles = scene_.triangles();
    result.degenerate = scene_.degenerate();
  }
}

template <class F>
void SceneBench::guarded(Lane* lane, F f) {
  if (simt::interrupted()) stopped_ = true;
  if (stopped_) return;
  try {
    f();
  } catch (const simt::Stopped& stop) {
    if (stop.reason() == simt::Stopped::Reason::interrupted)
      stopped_ = true;
    else if (lane)
      fail(*lane->result, stop.what());
  } catch (const std::exception& error) {
    if (lane) fail(*lane->result, error.what());
  }
}

void SceneBench::choose_pool(std::optional<std::uint64_t> kept_bytes) {
  if (std::none_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.entry; })) return;
  if (kept_bytes) {
    scene_.set_pool(*kept_bytes);
    return;
  }
  if (job_.settings.pool.kind != PoolSize::Kind::automatic) return;
  if (job_.pool_probe) {
    guarded(nullptr, [&] { holds_all_ = !scene_.build_growing(*job_.pool_probe).incomplete; });
    return;
  }
  growing_ = true;
}

// Also finds the pool of `--pool auto`: the one in which every allocator has completed a build. What may hand out live
// memory comes last, when that pool is known.
void SceneBench::warm_up() {
  for (const bool keeps : {true, false}) {
    for (Lane& lane : lanes_) {
      const bool careful = !lane.entry || lane.entry->traits->keeps_live_memory;
      if (careful == keeps) warm_up(lane);
      if (stopped_) return;
    }
  }
  for (Lane& lane : lanes_) {
    if (lane.entry) lane.result->pool_bytes = scene_.pool_bytes();
  }
  compare_trees();
}

void SceneBench::build_per_level(Lane& lane, bool timed) {
  Result& result = *lane.result;
  const kdtree::LevelRun run = scene_.build_per_level();
  if (!result.levels) result.levels.emplace();
  result.levels->run = run;
  result.levels->mapped_bytes = scene_.host_statistics().peak_mapped_bytes;
  if (!timed) return;
  result.runs_ms.push_back(run.ms);
  result.levels->allocation_ms.push_back(run.allocation_ms);
}

void SceneBench::warm_up(Lane& lane) {
  Result& result = *lane.result;
  step_(fmt::format("{}: {}, warm-up", scene_.name(), lane.name()));
  if (!lane.entry) {
    guarded(&lane, [&] {
      build_per_level(lane, false);
      result.tree = scene_.tree_stats();
      result.status = Status::ok;
      if (events_.tree_built) events_.tree_built(scene_, result);
    });
    return;
  }
  result.pool_bytes = scene_.pool_bytes();
  if (!may_run(lane)) return;
  guarded(&lane, [&] {
    const bool grow = growing_ && lane.entry->traits->keeps_live_memory;
    const kdtree::BuildRun build = grow ? scene_.build_growing(*lane.entry) : scene_.build(*lane.entry);
    note_run(result, build);
    lane.warm_up_ms = build.ms;
    lane.warm_up_reset_ms = build.reset_ms;
    result.tree = scene_.tree_stats();
    result.workspace_bytes = scene_.workspace().overhead_bytes();
    if (job_.device.id.kind == simt::DeviceKind::cuda) {
      const engine::Engine& engine = engine_on(*lane.entry, job_.device);
      result.kernel = engine.kernel_use(job_.device.id, job_.settings.refs);
      result.calls = engine.call_use(job_.device.id, false, alloc::LargeBackend::buddy);
    }
    if (result.status != Status::incomplete) result.status = Status::ok;
    if (events_.tree_built) events_.tree_built(scene_, result);
  });
}

// Warps come in another order each time, and a pool in which the warm-up found room can lack it later: all runs are
// made again, then, in a larger one.
void SceneBench::measure() {
  while (!measure_runs()) {
    for (Lane& lane : lanes_) {
      Result& result = *lane.result;
      result.runs_ms.clear();
      result.reset_ms.clear();
      if (result.levels) result.levels->allocation_ms.clear();
      if (lane.entry) result.pool_bytes = scene_.pool_bytes();
    }
  }
  for (Lane& lane : lanes_) keep_warm_up(lane);
}

// False: the pool was too small and has been enlarged.
bool SceneBench::measure_runs() {
  for (int run = 0; run < job_.settings.runs && !stopped_; ++run) {
    for (Lane& lane : lanes_) {
      step_(fmt::format("{}: {}, run {} of {}", scene_.name(), lane.name(), run + 1, job_.settings.runs));
      if (!lane.running() || enough(lane)) continue;
      const std::size_t pool = scene_.pool_bytes();
      guarded(&lane, [&] {
        if (lane.entry) {
          const kdtree::BuildRun build = growing_ ? scene_.build_growing(*lane.entry) : scene_.build(*lane.entry);
          if (scene_.pool_bytes() != pool) return;
          note_run(*lane.result, build);
          lane.result->runs_ms.push_back(build.ms);
          lane.result->reset_ms.push_back(build.reset_ms);
        } else {
          build_per_level(lane, true);
        }
        if (run + 1 == job_.settings.runs || enough(lane)) compare_with_first(*lane.result);
      });
      if (scene_.pool_bytes() != pool) return false;
      if (stopped_) break;
    }
  }
  return true;
}

// Whether another run is too much, if it takes as long as the last one.
bool SceneBench::enough(const Lane& lane) const {
  const std::vector<double>& runs = lane.result->runs_ms;
  const double last = runs.empty() ? lane.warm_up_ms : runs.back();
  return job_.enough > 0 && last > 0 && lane.warm_up_ms + sum(runs) + last > 1e3 * job_.enough;
}

void SceneBench::keep_warm_up(Lane& lane) {
  lane.only_warm_up = lane.running() && !stopped_ && lane.result->runs_ms.empty() && lane.warm_up_ms > 0;
  if (!lane.only_warm_up) return;
  lane.result->runs_ms.push_back(lane.warm_up_ms);
  if (lane.entry) lane.result->reset_ms.push_back(lane.warm_up_reset_ms);
}

void SceneBench::instrument() {
  for (Lane& lane : lanes_) {
    if (stopped_) break;
    step_(fmt::format("{}: {}, requests and fragmentation", scene_.name(), lane.result->label));
    if (!lane.running() || !lane.entry) continue;
    guarded(&lane, [&] {
      const kdtree::InstrumentedRun run = scene_.build_instrumented(*lane.entry);
      lane.result->requests = run.requests;
      if (lane.entry->traits->in_pool) lane.result->at_end = run.at_end;
    });
    if (!job_.instrument_all && lane.result->requests && lane.result->status == Status::ok) break;
  }
}

void SceneBench::finish() {
  for (Lane& lane : lanes_) {
    Result& result = *lane.result;
    const std::size_t done = result.runs_ms.size();
    if (result.status == Status::incomplete) {
      result.reason = exhausted_text(result);
    } else if (result.status == Status::ok && done == 0) {
      result.status = Status::skipped;
      result.reason = interrupted_reason;
    } else if (result.status == Status::ok) {
      const bool partial = done < static_cast<std::size_t>(job_.settings.runs);
      const char* why = stopped_ ? "interrupted after" : "slow: only";
      result.reason = partial ? fmt::format("{} {} of {} runs", why, done, job_.settings.runs) : "";
      if (lane.only_warm_up) result.reason = "slow: only the warm-up";
    }
  }
}

bool SceneBench::may_run(Lane& lane) {
  Result& result = *lane.result;
  if (const char* reason = cannot_build(*lane.entry)) {
    result.reason = reason;
    return false;
  }
  if (!lane.entry->on(job_.device.id.kind)) {
    result.reason = "not compiled for " + job_.device.key;
    return false;
  }
  if (scene_.pool_bytes() < lane.entry->traits->smallest_pool) {
    result.reason = fmt::format("needs a pool of at least {}", bytes_text(lane.entry->traits->smallest_pool));
    return false;
  }
  if (lane.entry->traits->keeps_live_memory || pool_holds_all()) return true;
  // It would go round and hand out arrays that nodes still read: ids from such arrays are not even in range.
  result.reason = "the pool is smaller than the sum of all requests; this allocator would overwrite live memory";
  return false;
}

bool SceneBench::pool_holds_all() {
  if (!holds_all_) {
    holds_all_ = false;
    const engine::Entry* bump = engine::find("atomic");
    const auto build = [&] { return growing_ ? scene_.build_growing(*bump) : scene_.build(*bump); };
    if (bump) guarded(nullptr, [&] { holds_all_ = !build().incomplete; });
  }
  return *holds_all_;
}

// AtomicMalloc hands out every address once: its tree is the one to agree with.
void SceneBench::compare_trees() {
  const Result* first = nullptr;
  for (const Result* result : all_) {
    if (result->status != Status::ok || !result->tree) continue;
    if (!first || result->allocator == "atomic") first = result;
  }
  for (Lane& lane : lanes_) {
    Result& result = *lane.result;
    if (result.status != Status::ok || !result.tree || result.tree->hash == first->tree->hash) continue;
    result.wrong_tree = true;
    fail(result, fmt::format("tree differs from {}'s: hash {:016x} instead of {:016x}", first->label, result.tree->hash,
                             first->tree->hash));
  }
}

void SceneBench::compare_with_first(Result& result) {
  const std::uint64_t hash = scene_.tree_stats().hash;
  if (result.status != Status::ok || result.tree->hash == hash) return;
  result.wrong_tree = true;
  fail(result, fmt::format("tree differs from run to run: hash {:016x}, then {:016x}", result.tree->hash, hash));
}

}  // namespace heapwood::app
