// SPDX-License-Identifier: MIT
#include "bench/trace_bench.hpp"

#include <algorithm>

#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"

namespace heapwood::bench {

double TraceRow::mrays() const {
  const std::optional<double> ms = median(rays.runs_ms);
  return ms && *ms > 0 ? 1e-3 * static_cast<double>(rays.rays) / *ms : 0;
}

double FirstRay::ms() const {
  return median(build_ms).value_or(0) + median(records_ms).value_or(0);
}

TraceResult run_trace(const TraceBench& bench,
                      const std::function<void(const std::string&)>& announce) {
  announce(bench.scene + ": loading");
  PreparedScene scene(bench.scene, bench.device, bench.settings, pool_needs({bench.entry}));
  announce(scene.name() + ": building");
  TraceResult result;
  result.incomplete = scene.build_growing(*bench.entry).incomplete;
  // The order of warps varies, so a pool that sufficed once may be too small for a run. Such a run
  // enlarges the pool, and then all runs are repeated in that pool.
  std::size_t pool = 0;
  do {
    pool = scene.pool_bytes();
    result.first_ray.build_ms.clear();
    for (int run = 0; run < bench.settings.runs && scene.pool_bytes() == pool; ++run) {
      const kdtree::BuildRun build = scene.build_growing(*bench.entry);
      result.incomplete |= build.incomplete;
      result.first_ray.build_ms.push_back(build.ms);
    }
  } while (scene.pool_bytes() != pool);
  result.scene = scene.name();
  result.origin = scene.mesh().origin;
  result.triangles = scene.triangles();
  result.pool_bytes = scene.pool_bytes();
  result.tree = scene.tree_stats();
  result.node_bytes = sizeof(kdtree::Node) * (result.tree.inner + result.tree.leaves);
  result.record_bytes = (sizeof(kdtree::PlaneRecord) + sizeof(std::uint32_t)) * result.tree.refs;
  const render::Scene traced(bench.device.id, scene.workspace().download(), scene.view(),
                             bench.watertight);
  result.watertight = traced.watertight();
  result.first_ray.order_ms = traced.order_ms();
  for (int run = 0; run < bench.settings.runs; ++run)
    result.first_ray.records_ms.push_back(traced.fill_records());
  const auto [width, height] = bench.size;
  result.camera = choose_camera(bench.camera, bench.scene, scene.mesh(), traced,
                                static_cast<double>(width) / std::max(1u, height));

  const auto measure = [&](const char* kind, const std::vector<kdtree::Ray>& rays) {
    result.rows.push_back(
        {kind, render::measure_rays(traced, rays, bench.settings.runs, bench.settings.timeout)});
  };
  try {
    announce(scene.name() + ": primary rays");
    const std::vector<kdtree::Ray> primary = render::primary_rays(result.camera, width, height);
    measure("primary", primary);
    if (bench.diffuse) {
      announce(scene.name() + ": diffuse rays");
      measure("diffuse",
              render::diffuse_rays(traced, primary, result.rows.front().rays.found, width));
    }
  } catch (const std::exception& error) {
    const auto* stop = dynamic_cast<const simt::Stopped*>(&error);
    result.interrupted = stop && stop->reason() == simt::Stopped::Reason::interrupted;
    if (!result.interrupted && result.rows.empty()) throw;
    if (!result.interrupted) result.failure = error_text(error);
  }
  if (!bench.primary && !result.rows.empty()) result.rows.erase(result.rows.begin());
  return result;
}

Json to_json(const TraceRow& row) {
  const render::RayMeasurement& rays = row.rays;
  Json json;
  json["kind"] = row.kind;
  json["rays"] = rays.rays;
  json["hits"] = rays.hits;
  json["runs_ms"] = rays.runs_ms;
  put(json, "median_ms", median(rays.runs_ms));
  json["mrays_per_second"] = row.mrays();
  json["steps"] = {
      {"inner", rays.steps.inner}, {"leaves", rays.steps.leaves}, {"triangles", rays.steps.tests}};
  return json;
}

Json to_json(const FirstRay& first_ray) {
  Json json;
  json["build_runs_ms"] = first_ray.build_ms;
  json["records_runs_ms"] = first_ray.records_ms;
  put(json, "build_median_ms", median(first_ray.build_ms));
  put(json, "order_ms", first_ray.order_ms);
  put(json, "records_median_ms", median(first_ray.records_ms));
  json["ms"] = first_ray.ms();
  return json;
}

}  // namespace heapwood::bench
