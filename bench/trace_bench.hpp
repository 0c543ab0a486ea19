// SPDX-License-Identifier: MIT
// Measures closest hits in a scene's tree for `heapwood trace` and `heapwood reproduce`; prints
// nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/build_settings.hpp"
#include "bench/results/json_report.hpp"
#include "bench/scene_camera.hpp"
#include "kdtree/check/quality.hpp"
#include "render/ray_sets.hpp"

namespace heapwood::bench {

struct TraceBench {
  std::string scene;
  const Allocator* entry = nullptr;  // allocator of the build
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
  double mrays() const;  // millions of rays per second at the median
};

// Time from the scene on the device to the first ray: the build and the triangle records, each
// measured separately after a warm-up. Reordering the tree for speed (render::Scene) is reported
// separately: rays do not need it.
struct FirstRay {
  std::vector<double> build_ms, records_ms;  // every run
  std::optional<double> order_ms;
  double ms() const;  // the sum of the medians
};

struct TraceResult {
  std::string scene;
  std::size_t triangles = 0, pool_bytes = 0;
  bool incomplete = false;   // the tree, for lack of memory
  bool interrupted = false;  // rows: those measured before
  std::string failure;       // why there are no more rows than these; "" if all are there
  kdtree::TreeStats tree;
  std::size_t node_bytes = 0, record_bytes = 0;
  FirstRay first_ray;
  render::Camera camera;
  Vec3d origin;             // of the mesh: to_string(camera, origin)
  bool watertight = false;  // the test that the rays took: asked for, or the mesh is coarse
  std::vector<TraceRow> rows;
};

// announce receives each of 4 steps. Passes on exceptions until there is a row, but not
// interruptions of tracing.
TraceResult run_trace(const TraceBench& bench,
                      const std::function<void(const std::string&)>& announce);

Json to_json(const TraceRow& row);
Json to_json(const FirstRay& first_ray);

}  // namespace heapwood::bench
