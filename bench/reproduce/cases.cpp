// SPDX-License-Identifier: MIT
// The measurements of each kind of experiment: the runners of `stress` and `bench`, and small ones
// (primitive_cases.cpp has that of semaphores and RCU).
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "bench/bench_runner.hpp"
#include "bench/build_profile.hpp"
#include "bench/prepared_scene.hpp"
#include "bench/program/messages.hpp"
#include "bench/reproduce/case_results.hpp"
#include "bench/results/format.hpp"
#include "bench/scene_bench.hpp"
#include "bench/stress_json.hpp"
#include "bench/trace_bench.hpp"
#include "simt/memory.hpp"
#include "workloads/block_history.hpp"

namespace heapwood::bench {

namespace {

Json blank(const registry::RegisteredAllocator& entry) {
  return {{"allocator", entry.traits->id},
          {"label", entry.traits->label},
          {"frees", name(entry.traits->frees)},
          {"lower_bound", entry.traits->lower_bound}};
}

// Turns an exception into the result's status and reason. An interruption ends the run; its result
// is discarded.
template <class F>
void guarded(Json& result, F f) {
  try {
    f();
  } catch (const std::exception& error) {
    set_status(result, Status::failed, error_text(error));
  }
}

// Reduces a curve to a few hundred points, including the last one, which suffice for a plot.
Json thinned(const Json& all, std::size_t max_kept = 200) {
  if (all.size() <= max_kept) return all;
  Json some = Json::array();
  for (std::size_t i = 0; i + 1 < max_kept; ++i)
    some.push_back(all[i * all.size() / (max_kept - 1)]);
  some.push_back(all.back());
  return some;
}

std::string stress_key(const StressSettings& settings, const StressPoint& point) {
  std::string key = fmt::format("stress {} payload={} pool={}", name(settings.test), point.payload,
                                point.pool_bytes);
  if (has_iterations(settings.test)) key += fmt::format(" iterations={}", point.iterations);
  key += point.requests ? fmt::format(" requests={}", point.requests)
                        : fmt::format(" blocks={}", point.blocks);
  if (point.page_bytes) key += fmt::format(" page={}", point.page_bytes);
  // Only settings that differ from the default, so that keys of earlier results remain valid.
  if (settings.rounds > 1) key += fmt::format(" rounds={}", settings.rounds);
  if (settings.test == workloads::StressTest::probability && settings.probability != 0.75)
    key += fmt::format(" probability={}", settings.probability);
  if (settings.coalesced) key += " coalesced";
  if (settings.large == alloc::LargeBackend::builtin) key += " large=builtin";
  if (settings.sizes.presplit != Presplit::heap)
    key += fmt::format(" presplit={}", name(settings.sizes.presplit));
  return key + fmt::format(" runs={}", settings.runs);
}

ReproduceCase stress_case(StressBench bench) {
  ReproduceCase one{stress_key(bench.settings, bench.points.front()), bench.allocators};
  one.measure = [bench = std::move(bench)](const Announce& announce) {
    Json results = Json::array();
    for (const StressRow& row : run_stress(bench, on_step(announce))) {
      results.push_back(to_json(row));  // before thinning: its figures use all iterations
      if (!results.back().contains("space")) continue;
      for (Json& steps : results.back()["space"]["steps"]) steps = thinned(steps);
    }
    return results;
  };
  return one;
}

// The file of a paper's scene, or "".
std::string find_scene(const std::string& folder, const std::string& stem) {
  if (folder.empty() || stem.empty()) return "";
  for (const char* extension : {".hwmesh", ".ply", ".obj"}) {
    const std::filesystem::path path = std::filesystem::path(folder) / (stem + extension);
    if (std::filesystem::is_regular_file(path)) return path.string();
  }
  return "";
}

struct ChosenScene {
  std::string source, label;  // label: name without the folder
  Json about;
  ChosenScene(const PaperScene& scene, const ReproduceSetup& setup) {
    const std::string file = find_scene(setup.scenes, scene.file);
    source = file.empty() ? scene.stand_in : file;
    label = file.empty() ? source : std::filesystem::path(file).filename().string();
    about = {{"scene", scene.name}, {"source", label}, {"procedural", file.empty()}};
  }
};

ReproduceCase build_case(const ChosenScene& scene, const BuildPlan& plan,
                         const ReproduceSetup& setup) {
  BenchJob job;
  job.scenes = {scene.source};
  job.allocators = chosen_allocators(setup.allocators, plan.only);
  job.settings.refs = plan.refs;
  const std::vector<PoolSize> pools = parse_pools(plan.pool);
  job.settings.pool = pools.front();
  if (pools.size() > 1) job.pools = pools;
  job.settings.page_bytes = plan.page_bytes;
  job.settings.runs = setup.full ? plan.runs : std::min(plan.runs, 3);
  job.settings.timeout = job.budget_seconds = setup.seconds * plan.time_factor;
  job.instrument_all = plan.requests_of_all;
  if (plan.per_level) job.settings.builder = Builder::both;
  job.device = setup.device;
  job.pool_probe = registry::find("atomic");
  ReproduceCase one{fmt::format("build {} refs={} pool={} runs={}", scene.label,
                                kdtree::name(plan.refs), plan.pool, job.settings.runs) +
                        (plan.per_level ? " builders=both" : "") +
                        (plan.page_bytes ? fmt::format(" page={}", plan.page_bytes) : ""),
                    job.allocators, scene.about};
  one.measure = [job = std::move(job)](const Announce& announce) {
    BenchEvents events;
    events.progress = on_step(announce);
    Json results = Json::array();
    for (const Result& result : run_bench(job, events).results) results.push_back(to_json(result));
    return results;
  };
  return one;
}

// Mean over the blocks in use of (size - requested) / size (RegEff equation 2); null without
// blocks. `whole` has processed the whole recording, and so knows best which sizes blocks have.
Json internal_fragmentation(const workloads::HistoryBuilder& at,
                            const workloads::HistoryBuilder& whole, std::uint32_t time) {
  double sum = 0;
  std::uint64_t blocks = 0;
  for (const workloads::Block& block : at.history().blocks) {
    if (!block.in_use(time)) continue;
    const auto served = static_cast<double>(whole.served_bytes(block.bytes));
    sum += (served - static_cast<double>(block.bytes)) / served;
    ++blocks;
  }
  return blocks ? Json(sum / static_cast<double>(blocks)) : Json();
}

// Points of the pool during a recorded build: [event, bytes in use, blocks, highest address,
// external fragmentation of the pool, external fragmentation below that address, internal
// fragmentation].
Json pool_over_time(const kdtree::RecordedRun& run, const registry::RegisteredAllocator& entry,
                    std::uint64_t pool_bytes) {
  workloads::HistoryBuilder whole(entry.traits->frees, entry.traits->in_pool ? pool_bytes : 0);
  for (const alloc::RecordedEvent& event : run.events) whole.add(event);
  workloads::HistoryBuilder so_far(entry.traits->frees, entry.traits->in_pool ? pool_bytes : 0);
  Json points = Json::array();
  const std::size_t stride = std::max<std::size_t>(1, run.events.size() / 200);
  for (std::size_t i = 0; i < run.events.size(); ++i) {
    so_far.add(run.events[i]);
    if (i % stride != 0 && i + 1 != run.events.size()) continue;
    const workloads::Gaps gaps = so_far.gaps();
    points.push_back({i + 1, gaps.used_bytes, gaps.blocks, gaps.mark_bytes, gaps.external(),
                      gaps.external_below(),
                      internal_fragmentation(so_far, whole, static_cast<std::uint32_t>(i + 1))});
  }
  return points;
}

ReproduceCase recorded_case(const ChosenScene& scene, const RecordPlan& plan,
                            const ReproduceSetup& setup) {
  BuildSettings settings;
  settings.timeout = setup.seconds;
  settings.refs = plan.refs;
  settings.pool = parse_pool(plan.pool);
  ReproduceCase one{
      fmt::format("recorded {} refs={} pool={}", scene.label, kdtree::name(plan.refs), plan.pool),
      chosen_allocators(setup.allocators, plan.only), scene.about};
  one.measure = [source = scene.source, settings, allocators = one.allocators,
                 setup](const Announce& announce) {
    PreparedScene prepared(source, setup.device, settings, {.frees = false});
    if (const registry::RegisteredAllocator* atomic = registry::find("atomic");
        atomic && atomic->on(setup.device.id.kind))
      prepared.build_growing(*atomic);
    Json results = Json::array();
    for (const registry::RegisteredAllocator* entry : allocators) {
      announce(fmt::format("{}: {}, recorded", prepared.name(), entry->traits->label));
      Json result = blank(*entry);
      const char* reason = cannot_build(*entry);
      if (!entry->on(setup.device.id.kind)) reason = "not compiled for this device";
      if (!entry->traits->in_pool) reason = "does not allocate from the pool";
      if (reason) {
        set_status(result, Status::skipped, reason);
      } else if (!simt::interrupted()) {
        guarded(result, [&] {
          const kdtree::RecordedRun run = prepared.build_recorded(*entry, std::size_t{4} << 20);
          const bool whole = !run.instrumented.run.incomplete && !run.truncated();
          set_status(result, whole ? Status::ok : Status::incomplete,
                     whole ? "" : "the recording or the tree is incomplete");
          result["pool_bytes"] = prepared.pool_bytes();
          result["points"] = pool_over_time(run, *entry, prepared.pool_bytes());
        });
      }
      results.push_back(std::move(result));
    }
    return results;
  };
  return one;
}

ReproduceCase trace_case(const ChosenScene& scene, const ReproduceSetup& setup) {
  TraceBench bench;
  bench.scene = scene.source;
  bench.device = setup.device;
  bench.settings.timeout = setup.seconds;
  if (!setup.full) bench.size = {256, 256};
  bench.settings.runs = setup.full ? 5 : 3;
  // The tree does not depend on the allocator.
  for (const registry::RegisteredAllocator* entry : setup.allocators) {
    if (!bench.entry && entry->on(setup.device.id.kind) && !cannot_build(*entry))
      bench.entry = entry;
  }
  ReproduceCase one{fmt::format("trace {} size={}x{} runs={}", scene.label, bench.size.width,
                                bench.size.height, bench.settings.runs),
                    {},
                    scene.about};
  one.measure = [bench = std::move(bench)](const Announce& announce) {
    Json results = Json::array();
    Json all{{"allocator", "primary"}, {"label", "Primary rays"}};
    guarded(all, [&] {
      if (!bench.entry) throw Error(Exit::failed, "none of the allocators can build the tree");
      const TraceResult traced = run_trace(bench, announce);
      if (!traced.failure.empty()) throw Error(Exit::failed, traced.failure);
      if (traced.incomplete) throw Error(Exit::failed, "the tree is incomplete");
      for (const TraceRow& row : traced.rows) {
        Json result{{"allocator", row.kind},
                    {"label", row.kind == "primary" ? "Primary rays" : "Diffuse rays"}};
        set_status(result, Status::ok, "");
        result["triangles"] = traced.triangles;
        result["built_with"] = bench.entry->traits->id;
        result.update(to_json(row));
        results.push_back(std::move(result));
      }
    });
    if (results.empty()) results.push_back(std::move(all));
    return results;
  };
  return one;
}

ReproduceCase profile_case(const ChosenScene& scene,
                           const std::vector<const registry::RegisteredAllocator*>& allocators,
                           const ReproduceSetup& setup) {
  BuildSettings settings;
  settings.timeout = setup.seconds;
  settings.runs = setup.full ? 5 : 3;
  ReproduceCase one{fmt::format("profile {} refs=clipped runs={}", scene.label, settings.runs),
                    allocators, scene.about};
  one.measure = [source = scene.source, settings, allocators, setup](const Announce& announce) {
    PreparedScene prepared(source, setup.device, settings, {.frees = false});
    Json results = Json::array();
    for (const registry::RegisteredAllocator* entry : allocators) {
      Json result = blank(*entry);
      guarded(result, [&] {
        const ProfiledBuild built =
            profile_build(prepared, *entry, setup.device, settings, announce);
        result.update(to_json(built));
      });
      results.push_back(std::move(result));
    }
    return results;
  };
  return one;
}

}  // namespace

Experiment generic_test(const StressPlan& plan) {
  return [plan](const ReproduceSetup& setup) {
    StressBench bench;
    bench.device = setup.device;
    bench.allocators = chosen_allocators(setup.allocators, plan.only);
    StressSettings& settings = bench.settings;
    settings.test = parse_stress_test(plan.test);
    settings.lanes =
        has_requests(settings.test) || workloads::measures_space(settings.test) ? 32 : 1;
    settings.runs = setup.full ? plan.runs : std::min(plan.runs, 3);
    settings.seconds = settings.budget_seconds = setup.seconds * plan.time_factor;
    settings.inspect = plan.memory;
    settings.rounds = plan.rounds;
    settings.probability = plan.probability;
    settings.coalesced = plan.coalesced;
    if (plan.builtin) settings.large = alloc::LargeBackend::builtin;
    settings.sizes.presplit = plan.presplit;
    std::vector<StressPoint> points =
        stress_points(setup.full ? plan.full : plan.quick, settings.test, setup.device);
    if (settings.test == workloads::StressTest::scaling ||
        settings.test == workloads::StressTest::range)
      take_oversized(points);
    std::vector<ReproduceCase> cases;
    for (const StressPoint& point : points) {
      bench.points = {point};
      if (!bench.allocators.empty()) cases.push_back(stress_case(bench));
    }
    return cases;
  };
}

Experiment builds(const BuildPlan& plan) {
  return [plan](const ReproduceSetup& setup) {
    std::vector<ReproduceCase> cases;
    if (chosen_allocators(setup.allocators, plan.only).empty()) return cases;
    for (const PaperScene& scene : setup.full ? plan.full : plan.quick)
      cases.push_back(build_case(ChosenScene(scene, setup), plan, setup));
    return cases;
  };
}

Experiment recorded_builds(const RecordPlan& plan) {
  return [plan](const ReproduceSetup& setup) {
    std::vector<ReproduceCase> cases;
    if (chosen_allocators(setup.allocators, plan.only).empty()) return cases;
    for (const PaperScene& scene : setup.full ? plan.full : plan.quick)
      cases.push_back(recorded_case(ChosenScene(scene, setup), plan, setup));
    return cases;
  };
}

Experiment traces(const std::vector<PaperScene>& full, const std::vector<PaperScene>& quick) {
  return [full, quick](const ReproduceSetup& setup) {
    std::vector<ReproduceCase> cases;
    for (const PaperScene& scene : setup.full ? full : quick)
      cases.push_back(trace_case(ChosenScene(scene, setup), setup));
    return cases;
  };
}

Experiment profiles(const std::vector<PaperScene>& full, const std::vector<PaperScene>& quick) {
  return [full, quick](const ReproduceSetup& setup) {
    std::vector<const registry::RegisteredAllocator*> allocators = setup.allocators;
    std::erase_if(allocators, [&](const registry::RegisteredAllocator* entry) {
      return cannot_build(*entry) || !can_profile(*entry, setup.device);
    });
    std::vector<ReproduceCase> cases;
    for (const PaperScene& scene : setup.full ? full : quick) {
      if (!allocators.empty())
        cases.push_back(profile_case(ChosenScene(scene, setup), allocators, setup));
    }
    return cases;
  };
}

void open_platform_heap(const ReproduceSetup& setup) {
  const registry::RegisteredAllocator* entry = registry::find("cuda");
  const registry::CompiledAllocator* compiled = entry ? entry->on(setup.device.id.kind) : nullptr;
  if (setup.device.id.kind == simt::DeviceKind::cpu || !compiled) return;
  workloads::StressJob job;
  job.device = setup.device.id;
  const simt::Memory head(job.device, entry->traits->smallest_pool);
  job.pool = {head.data(), std::size_t{2} << 30};  // only its head is accessed
  job.seconds = setup.seconds;
  Json ignored;  // the allocator's own cases report a failure
  guarded(ignored, [&] { compiled->stress(job); });
}

Experiment registers() {
  return [](const ReproduceSetup& setup) {
    ReproduceCase one{"registers", setup.allocators};
    one.measure = [setup](const Announce&) {
      Json results = Json::array();
      for (const registry::RegisteredAllocator* entry : setup.allocators) {
        Json result = blank(*entry);
        const registry::CompiledAllocator* compiled = entry->on(setup.device.id.kind);
        if (setup.device.id.kind == simt::DeviceKind::cpu || !compiled) {
          set_status(result, Status::skipped, "registers are those of GPU kernels");
        } else {
          guarded(result, [&] {
            result["calls"] =
                to_json(compiled->call_use(setup.device.id, false, alloc::LargeBackend::buddy));
            result["calls_coalesced"] =
                to_json(compiled->call_use(setup.device.id, true, alloc::LargeBackend::buddy));
            set_status(result, Status::ok, "");
          });
        }
        results.push_back(std::move(result));
      }
      return results;
    };
    return std::vector{one};
  };
}

}  // namespace heapwood::bench
