// SPDX-License-Identifier: MIT
// The render kernels behind function pointers. render_cpu.cpp and render_cuda.cu instantiate the
// same templates (backend_impl.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kdtree/traverse/traverse.hpp"
#include "kdtree/traverse/tree_order.hpp"
#include "render/develop.hpp"
#include "simt/device.hpp"
#include "simt/error.hpp"
#include "simt/launch.hpp"

namespace heapwood::render {

// A scene as pointers to device memory. `records` are PlaneRecord, or CornerRecord if watertight.
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
  MaterialView materials;
  // Used in mode path. If it has texels, the scene must have materials.
  EnvironmentView environment{};
};

// Traversal steps summed over rays: inner nodes, leaves including empty ones, triangle tests.
struct StepSums {
  std::uint64_t inner = 0, leaves = 0, tests = 0;
};

struct Backend {
  // Writes the tree in depth-first order into the arrays (kdtree/traverse/tree_order.hpp). Returns
  // the time in milliseconds.
  double (*order)(const simt::DeviceId&, const kdtree::DeviceTree&, kdtree::TreeArrays&,
                  simt::Memory memory);
  // Writes a record for each of the tree's ref_count refs.
  void (*fill_records)(const simt::DeviceId&, const SceneData&, void* records);
  // render and trace return milliseconds. `ticket` contains the first tile to render;
  // Frame::end_tile is the tile after the last.
  double (*render)(const simt::DeviceId&, const SceneData&, const Frame&, Pixel* film,
                   std::uint32_t* ticket, const simt::LaunchLimits&);
  double (*trace)(const simt::DeviceId&, const SceneData&, bool any, const kdtree::Ray*,
                  kdtree::Hit*, std::size_t count, const simt::LaunchLimits&);
  // Adds the traversal steps of these rays' closest hits to `sums`.
  void (*count_steps)(const simt::DeviceId&, const SceneData&, const kdtree::Ray*,
                      std::size_t count, StepSums* sums, const simt::LaunchLimits&);
  void (*count)(const simt::DeviceId&, const CountPixels&, std::size_t pixels);
  void (*develop)(const simt::DeviceId&, const DevelopPixels&, std::size_t pixels);
  // The hash of a tree's structure (kdtree/traverse/tree_order.hpp).
  std::uint64_t (*hash)(const simt::DeviceId&, const kdtree::DeviceTree&);
};

const Backend& cpu_backend();
const Backend& cuda_backend();
// Throws Error{Exit::device} for a GPU in builds without CUDA.
inline const Backend& backend(const simt::DeviceId& device) {
  if (device.kind == simt::DeviceKind::cpu) return cpu_backend();
  if constexpr (simt::has_cuda)
    return cuda_backend();
  else
    throw Error(Exit::device,
                "rendering on a GPU: this program was built without CUDA; use --device cpu, or "
                "rebuild with a CUDA compiler: make demo CUDA=on");
}

}  // namespace heapwood::render
