// SPDX-License-Identifier: MIT
// The kernels behind function pointers: render_cpu.cpp and render_cuda.cu instantiate the same templates
// (backend_impl.hpp); where CUDA is not built render_cuda_absent.cpp says so.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kdtree/traverse.hpp"
#include "kdtree/tree_order.hpp"
#include "render/develop.hpp"
#include "simt/device.hpp"
#include "simt/launch.hpp"

namespace heapwood::render {

// Pointers into a device's memory. `records` are PlaneRecord, or CornerRecord if watertight.
struct SceneData {
  bool watertight;
  const kdtree::Node* nodes;
  const void* records;
  const std::uint32_t* refs;
  std::size_t ref_count;
  const Vec3* vertices;
  const Triangle* triangles;
  std::uint32_t triangle_count;
  Box bounds;
};

// Steps of rays, summed: inner nodes, leaves (empty ones, too), triangles tested.
struct StepSums {
  std::uint64_t inner = 0, leaves = 0, tests = 0;
};

struct Backend {
  // Puts the tree into depth-first order (kdtree/tree_order.hpp) and returns milliseconds.
  double (*order)(const simt::DeviceId&, kdtree::TreeArrays&);
  // Writes ref_count records.
  void (*fill_records)(const simt::DeviceId&, const SceneData&, void* records);
  // Both return milliseconds. `ticket` holds the first tile; Frame::end_tile ends the launch.
  double (*render)(const simt::DeviceId&, const SceneData&, const Frame&, Pixel* film, std::uint32_t* ticket,
                   const simt::LaunchLimits&);
  double (*trace)(const simt::DeviceId&, const SceneData&, bool any, const kdtree::Ray*, kdtree::Hit*,
                  std::size_t count, const simt::LaunchLimits&);
  // Adds what the closest hits of these rays cost to `sums`.
  void (*count_steps)(const simt::DeviceId&, const SceneData&, const kdtree::Ray*, std::size_t count, StepSums* sums,
                      const simt::LaunchLimits&);
  void (*develop)(const simt::DeviceId&, const DevelopPixels&, std::size_t count);
};

const Backend& cpu_backend();
const Backend& cuda_backend();  // throws Error{Exit::device} where CUDA is not built
inline const Backend& backend(const simt::DeviceId& device) {
  return device.kind == simt::DeviceKind::cpu ? cpu_backend() : cuda_backend();
}

}  // namespace heapwood::render
