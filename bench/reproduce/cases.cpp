// SPDX-License-Identifier: MIT
// The cases of each kind of experiment. They use the runners of the commands, and a few small ones
// of their own. graph_and_primitive_cases.cpp has the cases of graphs, semaphores and RCU.
#include <algorithm>
#include <filesystem>

#include "bench/bench_runner.hpp"
#include "bench/build_profile.hpp"
#include "bench/host_bench.hpp"
#include "bench/prepared_scene.hpp"
#include "bench/program/messages.hpp"
#include "bench/reproduce/reproduce.hpp"
#include "bench/results/format.hpp"
#include "bench/stress.hpp"
#include "bench/trace_bench.hpp"
#include "host_alloc/host_allocator.hpp"
#include "simt/memory.hpp"
#include "workloads/block_history.hpp"

namespace heapwood::bench {

namespace {

Json blank(const Allocator& entry) {
  return {{"allocator", entry.traits->id},
          {"label", entry.traits->label},
          {"frees", name(entry.traits->frees)},
          {"lower_bound", entry.traits->lower_bound}};
}

// Turns an exception into the result's status and reason; an interruption discards the result.
template <class F>
void guarded(Json& result, F f) {
  try {
    f();
  } catch (const std::exception& error) {
    set_status(result, Status::failed, error_text(error));
  }
}

// Makes a result per allocator, to which measure(entry, result) adds; it may throw.
template <class Measure>
Json results_of(const Allocators& allocators, Measure measure) {
  Json results = Json::array();
  for (const Allocator* entry : allocators) {
    Json& result = results.push_back(blank(*entry));
    guarded(result, [&] { measure(*entry, result); });
  }
  return results;
}

// Reduces a curve to a few hundred points, which suffice for a plot; keeps the last one.
Json thinned(const Json& all, std::size_t max_kept = 200) {
  if (all.size() <= max_kept) return all;
  Json some = Json::array();
  for (std::size_t i = 0; i + 1 < max_kept; ++i)
    some.push_back(all[i * all.size() / (max_kept - 1)]);
  some.push_back(all.back());
  return some;
}

using Presplit = alloc::AllocatorOptions::Presplit;
// The words of `presplit=`, in the order of Presplit.
constexpr const char* presplits[] = {"heap", "uniform", "payload", "root"};

Presplit presplit_of(const Experiment& experiment) {
  const auto found = std::ranges::find(presplits, experiment.text("presplit", "heap"));
  return static_cast<Presplit>(found - std::begin(presplits));
}

// The part of a case's key; "" for the default, so that keys of earlier results remain valid.
std::string presplit_text(Presplit presplit) {
  return presplit == Presplit::heap
             ? ""
             : fmt::format(" presplit={}", presplits[static_cast<int>(presplit)]);
}

std::string stress_key(const StressSettings& settings, const StressPoint& point) {
  std::string key = fmt::format("stress {} payload={} pool={}", name(settings.test), point.payload,
                                point.pool_bytes);
  if (has_iterations(settings.test)) key += fmt::format(" iterations={}", point.iterations);
  key += point.requests ? fmt::format(" requests={}", point.requests)
                        : fmt::format(" blocks={}", point.blocks);
  if (settings.allocator.page_bytes) key += fmt::format(" page={}", settings.allocator.page_bytes);
  // Names only settings that differ from the default, so that keys of earlier results remain valid.
  if (settings.rounds > 1) key += fmt::format(" rounds={}", settings.rounds);
  if (settings.test == workloads::StressTest::probability && settings.probability != 0.75)
    key += fmt::format(" probability={}", settings.probability);
  if (settings.coalesced) key += " coalesced";
  if (settings.allocator.large_backend == alloc::LargeBackend::builtin) key += " large=builtin";
  key += presplit_text(settings.allocator.presplit);
  return key + fmt::format(" runs={}", settings.runs);
}

ReproduceCase stress_case(StressBench bench) {
  ReproduceCase one{stress_key(bench.settings, bench.points.front()), bench.allocators};
  one.measure = [bench = std::move(bench)](const Announce& announce) {
    Json results = Json::array();
    for (const StressRow& row : run_stress(bench, on_step(announce))) {
      results.push_back(described(row));  // before thinning, because its figures use all iterations
      if (!results.back().contains("space")) continue;
      for (Json& steps : results.back()["space"]["steps"]) steps = thinned(steps);
    }
    return results;
  };
  return one;
}

struct ChosenScene {
  std::string source, label;  // label: the name without its folder
  Json about;
};

// The scenes of a list whose entries are NAME/FILE/STAND-IN.
std::vector<ChosenScene> chosen_scenes(const Experiment& experiment, const ReproduceSetup& setup) {
  std::vector<ChosenScene> scenes;
  if (experiment.list("scenes", setup).empty()) return scenes;
  for (const std::string& text : split(experiment.list("scenes", setup), ',')) {
    const std::vector<std::string> parts = split(text, '/');
    std::string name = parts.at(0);
    std::ranges::replace(name, '+', ' ');
    const std::string file = find_file(setup.scenes, parts.at(1), {".ply", ".obj"});
    ChosenScene& scene = scenes.emplace_back();
    scene.source = file.empty() ? parts.at(2) : file;
    scene.label = file.empty() ? scene.source : std::filesystem::path(file).filename().string();
    scene.about = {{"scene", name}, {"source", scene.label}, {"procedural", file.empty()}};
  }
  return scenes;
}

ReproduceCase build_case(const ChosenScene& scene, const Experiment& experiment,
                         const ReproduceSetup& setup) {
  const std::string pool = experiment.text("pool"), page = experiment.text("page");
  BenchJob job;
  job.scenes = {scene.source};
  job.allocators = experiment.allocators(setup);
  job.settings.refs = parse_refs(experiment.text("refs"));
  const std::vector<PoolSize> pools = parse_pools(pool);
  job.settings.pool = pools.front();
  if (pools.size() > 1) job.pools = pools;
  if (!page.empty()) job.settings.allocator.page_bytes = parse_bytes(page);
  job.settings.allocator.presplit = presplit_of(experiment);
  job.settings.runs = experiment.runs(setup);
  job.settings.timeout = job.budget_seconds = setup.seconds * experiment.number("time", 1);
  job.instrument_all = !experiment.has("one");
  job.device = setup.device;
  job.pool_probe = registry::find("atomic");
  ReproduceCase one{fmt::format("build {} refs={} pool={} runs={}", scene.label,
                                kdtree::name(job.settings.refs), pool, job.settings.runs) +
                        (page.empty() ? "" : " page=" + page) +
                        presplit_text(job.settings.allocator.presplit),
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

// Mean of (size - requested) / size over the blocks in use (RegEff equation 2); null without
// blocks. `whole` has processed the whole recording, so it has the best estimates of blocks' sizes.
Json internal_fragmentation(const workloads::HistoryBuilder& builder,
                            const workloads::HistoryBuilder& whole, std::uint32_t time) {
  double sum = 0;
  std::uint64_t blocks = 0;
  for (const workloads::Block& block : builder.history().blocks) {
    if (!block.in_use(time)) continue;
    const auto served = static_cast<double>(whole.served_bytes(block.bytes));
    sum += (served - static_cast<double>(block.bytes)) / served;
    ++blocks;
  }
  return blocks ? Json(sum / static_cast<double>(blocks)) : Json();
}

// Samples of the pool during a recorded build: [event, bytes in use, blocks, highest address,
// external fragmentation of the pool and below that address, internal fragmentation].
Json pool_over_time(const kdtree::RecordedRun& run, const Allocator& entry,
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

ReproduceCase recorded_case(const ChosenScene& scene, const Experiment& experiment,
                            const ReproduceSetup& setup) {
  BuildSettings settings;
  settings.timeout = setup.seconds;
  settings.refs = parse_refs(experiment.text("refs"));
  settings.pool = parse_pool(experiment.text("pool"));
  ReproduceCase one{fmt::format("recorded {} refs={} pool={}", scene.label,
                                kdtree::name(settings.refs), settings.pool.text),
                    experiment.allocators(setup), scene.about};
  one.measure = [source = scene.source, settings, allocators = one.allocators,
                 setup](const Announce& announce) {
    PreparedScene prepared(source, setup.device, settings, {.frees = false});
    if (const Allocator* atomic = registry::find("atomic");
        atomic && atomic->on(setup.device.id.kind))
      prepared.build_growing(*atomic);
    return results_of(allocators, [&](const Allocator& entry, Json& result) {
      announce(fmt::format("{}: {}, recorded", prepared.name(), entry.traits->label));
      const char* reason = cannot_build(entry);
      if (!entry.on(setup.device.id.kind)) reason = "not compiled for this device";
      if (!entry.traits->in_pool) reason = "does not allocate from the pool";
      if (reason) return set_status(result, Status::skipped, reason);
      if (simt::interrupted()) return;
      const kdtree::RecordedRun run = prepared.build_recorded(entry, std::size_t{4} << 20);
      const bool whole = !run.instrumented.run.incomplete && !run.truncated();
      set_status(result, whole ? Status::ok : Status::incomplete,
                 whole ? "" : "the recording or the tree is incomplete");
      result["pool_bytes"] = prepared.pool_bytes();
      result["points"] = pool_over_time(run, entry, prepared.pool_bytes());
    });
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
  // The first allocator that can build the tree; the tree is the same with each.
  for (const Allocator* entry : setup.allocators) {
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

ReproduceCase profile_case(const ChosenScene& scene, const Allocators& allocators,
                           const ReproduceSetup& setup) {
  BuildSettings settings;
  settings.timeout = setup.seconds;
  settings.runs = setup.full ? 5 : 3;
  ReproduceCase one{fmt::format("profile {} refs=clipped runs={}", scene.label, settings.runs),
                    allocators, scene.about};
  one.measure = [source = scene.source, settings, allocators, setup](const Announce& announce) {
    PreparedScene prepared(source, setup.device, settings, {.frees = false});
    return results_of(allocators, [&](const Allocator& entry, Json& result) {
      result.update(to_json(profile_build(prepared, entry, settings, announce)));
    });
  };
  return one;
}

}  // namespace

ReproduceCases stress_cases(const Experiment& experiment, const ReproduceSetup& setup) {
  StressBench bench;
  bench.device = setup.device;
  bench.allocators = experiment.allocators(setup);
  if (bench.allocators.empty()) return {};
  StressSettings& settings = bench.settings;
  settings.test = parse_stress_test(experiment.test);
  settings.lanes = has_requests(settings.test) || workloads::measures_space(settings.test) ? 32 : 1;
  settings.runs = experiment.runs(setup);
  settings.seconds = settings.budget_seconds = setup.seconds * experiment.number("time", 1);
  settings.inspect = experiment.has("memory");
  settings.rounds = static_cast<unsigned>(experiment.number("rounds", 1));
  settings.probability = experiment.number("probability", 0.75);
  settings.coalesced = experiment.has("coalesced");
  settings.warms_up = !experiment.has("cold");
  if (experiment.has("builtin")) settings.allocator.large_backend = alloc::LargeBackend::builtin;
  settings.allocator.presplit = presplit_of(experiment);
  if (experiment.has("slab")) settings.allocator.slab_bytes = parse_bytes(experiment.text("slab"));
  const auto list = [&](const char* key) { return experiment.list(key, setup); };
  std::vector<StressPoint> points = stress_points(
      {list("payload"), list("pool"), list("iterations"), list("blocks"), list("requests")},
      settings.test, setup.device);
  if (settings.test == workloads::StressTest::scaling ||
      settings.test == workloads::StressTest::range)
    take_oversized(points);
  ReproduceCases cases;
  for (const std::string& page : split(list("page"), ',')) {
    settings.allocator.page_bytes = page.empty() ? 0 : parse_bytes(page);
    for (const StressPoint& point : points) {
      bench.points = {point};
      ReproduceCase& one = cases.emplace_back(stress_case(bench));
      if (experiment.has("heap")) one.needs.heap_bytes = point.pool_bytes;
      one.needs.multiprocessors = static_cast<unsigned>(experiment.number("multiprocessors", 0));
      for (const char* word : {"heap", "cold", "multiprocessors", "slab"}) {
        if (experiment.has(word))
          one.key += std::string(" ") + word +
                     (experiment.text(word).empty() ? "" : "=" + experiment.text(word));
      }
    }
  }
  return cases;
}

ReproduceCases scene_cases(const Experiment& experiment, const ReproduceSetup& setup) {
  Allocators allocators = experiment.allocators(setup);
  if (experiment.kind == "profile") {
    std::erase_if(allocators, [&](const Allocator* entry) {
      return cannot_build(*entry) || !can_profile(*entry, setup.device);
    });
  }
  if (allocators.empty()) return {};
  ReproduceCases cases;
  for (const ChosenScene& scene : chosen_scenes(experiment, setup)) {
    cases.push_back(experiment.kind == "build"      ? build_case(scene, experiment, setup)
                    : experiment.kind == "recorded" ? recorded_case(scene, experiment, setup)
                    : experiment.kind == "trace"    ? trace_case(scene, setup)
                                                    : profile_case(scene, allocators, setup));
  }
  return cases;
}

ReproduceCases register_cases(const Experiment&, const ReproduceSetup& setup) {
  ReproduceCase one{"registers", setup.allocators};
  one.measure = [setup](const Announce&) {
    return results_of(setup.allocators, [&](const Allocator& entry, Json& result) {
      const registry::CompiledAllocator* compiled = entry.on(setup.device.id.kind);
      if (setup.device.id.kind == simt::DeviceKind::cpu || !compiled)
        return set_status(result, Status::skipped, "registers are those of GPU kernels");
      for (const bool coalesced : {false, true}) {
        if (coalesced && !alloc::has_coalesced_form(*entry.traits)) continue;
        result[coalesced ? "calls_coalesced" : "calls"] =
            described(compiled->call_use(setup.device.id, coalesced, alloc::LargeBackend::buddy));
      }
      set_status(result, Status::ok, "");
    });
  };
  return {one};
}

// The host-managed paper's benchmark: 4,000 steps, 20 blocks of 1 KiB to 16 MiB, three passes.
ReproduceCases host_cases(const Experiment& experiment, const ReproduceSetup& setup) {
  HostBenchTrace trace;
  if (!setup.full) trace.steps = 1000;
  HostBench bench;
  bench.trace = host_bench_trace(trace);
  bench.trace_name = fmt::format("{} steps", trace.steps);
  bench.device = setup.device;
  for (const host_alloc::HostAllocatorInfo& info : host_alloc::host_allocators()) {
    if (!info.only_on || *info.only_on == setup.device.id.kind) bench.allocators.push_back(&info);
  }
  const std::string key =
      fmt::format("host-bench steps={} slots={} passes={}", trace.steps, trace.slots, bench.passes);
  const auto host_case = [](const std::string& of, const HostBench& measured) {
    ReproduceCase one{of, {}, {{"min_block_bytes", measured.options.min_block_bytes}}};
    one.measure = [measured](const Announce& announce) {
      const std::vector<HostBenchRow> rows = run_host_bench(measured, on_step(announce));
      return Json(host_bench_report({}, measured, rows)["results"]);
    };
    return one;
  };
  if (!experiment.has("min_block")) return {host_case(key, bench)};
  ReproduceCases cases;
  bench.allocators = {&host_alloc::find_host_allocator("segfit", setup.device.id)};
  for (const std::string& size : split(experiment.list("min_block", setup), ',')) {
    bench.options.min_block_bytes = parse_bytes(size);
    cases.push_back(host_case(key + " min_block=" + size, bench));
  }
  return cases;
}

std::string find_file(const std::string& folder, const std::string& stem,
                      const std::vector<std::string>& extensions) {
  if (folder.empty() || stem.empty()) return "";
  for (const std::string& extension : extensions) {
    const std::filesystem::path path = std::filesystem::path(folder) / (stem + extension);
    if (std::filesystem::is_regular_file(path)) return path.string();
  }
  return "";
}

}  // namespace heapwood::bench
