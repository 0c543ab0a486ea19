// SPDX-License-Identifier: MIT
// Measures closest hits through a scene's tree; prints nothing. For `heapwood trace` and `heapwood reproduce`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/json_report.hpp"
#include "app/options.hpp"
#include "app/scene_camera.hpp"
#include "kdtree/quality.hpp"
#include "render/ray_sets.hpp"

namespace heapwood::app {

struct TraceBench {
  std::string scene;
  const engine::Entry* entry = nullptr;  // the allocator that the tree is built with
  simt::DeviceInfo device;
  BuildSettings settings;  // runs: of the build, and of each kind of rays
  CameraOptions camera;
  ImageSize size{1024, 1024};
  bool primary = true, diffuse = true;
  bool watertight = false;
};

// One kind of rays (render/ray_sets.hpp).
struct TraceRow {
  std::string kind;
  render::RayMeasurement rays;
  double mrays() const;  // millions of rays a second, by the median
};

// From the scene on the device until the first ray can be traced: the tree's build and the triangle records, each measured alone
// and after a warm-up. Where the device's trees are ordered for speed (render::Scene), the time for that stands apart: rays do not
// need it.
struct FirstRay {
  std::vector<double> build_ms, records_ms;  // every run
  std::optional<double> order_ms;
  double ms() const;  // the sum of the medians
};

struct TraceResult {
  std::string scene;
  std::size_t triangles = 0, pool_bytes = 0;
  bool incomplete = false;   // the tree, for want of memory
  bool interrupted = false;  // rows are those that were measured before
  kdtree::TreeStats tree;
  std::size_t node_bytes = 0, record_bytes = 0;
  FirstRay first_ray;
  render::Camera camera;
  Vec3d origin;  // of the mesh: to_string(camera, origin)
  std::vector<TraceRow> rows;
};

// `announce` is told what comes next: 4 steps. Throws what loading and building throw, and what tracing throws but an interruption.
TraceResult run_trace(const TraceBench& bench, const std::function<void(const std::string&)>& announce);

Json to_json(const TraceRow& row);
Json to_json(const FirstRay& first_ray);

}  // namespace heapwood::app
