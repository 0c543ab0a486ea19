// SPDX-License-Identifier: MIT
// Measures closest hits through a scene's tree; prints nothing. For `heapwood trace` and `heapwood reproduce`.
#pragma once

#include <functional>
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
  BuildSettings settings;
  CameraOptions camera;
  ImageSize size{1024, 1024};
  bool primary = true, diffuse = true;
  bool watertight = false;
  int runs = 5;
};

// One kind of rays (render/ray_sets.hpp).
struct TraceRow {
  std::string kind;
  render::RayMeasurement rays;
  double mrays() const;  // millions of rays a second, by the median
};

struct TraceResult {
  std::string scene;
  std::size_t triangles = 0, pool_bytes = 0;
  bool incomplete = false;  // the tree, for want of memory
  kdtree::TreeStats tree;
  std::size_t node_bytes = 0, record_bytes = 0;
  render::Camera camera;
  std::vector<TraceRow> rows;
};

// `announce` is told what comes next: 4 steps. Throws what loading, building and tracing throw.
TraceResult run_trace(const TraceBench& bench, const std::function<void(const std::string&)>& announce);

Json to_json(const TraceRow& row);

}  // namespace heapwood::app
