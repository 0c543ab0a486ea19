// SPDX-License-Identifier: MIT
// Measures closest hits in a scene's tree for `heapwood trace` and `reproduce`. Prints nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/build_settings.hpp"
#include "bench/prepared_scene.hpp"
#include "bench/results/json_report.hpp"
#include "kdtree/check/quality.hpp"
#include "render/ray_sets.hpp"

namespace heapwood::bench {

struct TraceBench {
  std::string scene;
  const Allocator* entry = nullptr;  // the allocator of the build
  simt::DeviceInfo device;
  BuildSettings settings;  // its `runs` counts builds, and passes of each kind of rays
  CameraOptions camera;
  ImageSize size{1024, 1024};
  bool primary = true, diffuse = true;
  bool watertight = false;
};

// The result of one kind of rays (render/ray_sets.hpp).
struct TraceRow {
  std::string kind;
  render::RayMeasurement rays;
  double mrays() const;  // millions of rays per second at the median
};

// Time from the scene on the device to the first ray: the build and the making of triangle records,
// each measured separately after a warm-up. Reordering the tree for speed (render::Scene) is
// reported separately, because rays do not need it.
struct FirstRay {
  std::vector<double> build_ms, records_ms;  // one sample per run
  std::optional<double> order_ms;
  double ms() const;  // sum of the medians
};

struct TraceResult {
  std::string scene;
  std::size_t triangles = 0, pool_bytes = 0;
  bool incomplete = false;   // the tree is incomplete, for lack of memory
  bool interrupted = false;  // `rows` has only what was measured before
  std::string failure;       // why there are no more rows; "" if all are there
  kdtree::TreeStats tree;
  std::size_t node_bytes = 0, record_bytes = 0;
  FirstRay first_ray;
  render::Camera camera;
  Vec3d origin;             // origin of the mesh, for to_string(camera, origin)
  bool watertight = false;  // the test used
  std::vector<TraceRow> rows;
};

// announce is called before each of 4 steps. Errors before the first row exists are thrown; later
// ones, and interruptions of tracing, are reported in the result.
TraceResult run_trace(const TraceBench& bench,
                      const std::function<void(const std::string&)>& announce);

Json to_json(const TraceRow& row);
Json to_json(const FirstRay& first_ray);

}  // namespace heapwood::bench
