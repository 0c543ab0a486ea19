// SPDX-License-Identifier: MIT
// The parameters of a kernel that renders: the frame of a picture, and the scene. A SceneView shows
// the mesh in clay; a ColouredView in its materials' colours, with holes where they are not opaque;
// a SurroundedView in the light of an environment.
#pragma once

#include <cstdint>

#include "kdtree/traverse/traverse.hpp"
#include "render/camera.hpp"
#include "render/environment_view.hpp"
#include "render/lighting.hpp"
#include "render/material_view.hpp"

namespace heapwood::render {

enum class Mode : std::uint8_t { shaded, path, ao, normals, depth, heatmap, leaves, albedo };

// Sums over a pixel's samples. `a` counts the samples that hit (in heatmap mode all samples); the
// meaning of r, g, b depends on the mode.
struct alignas(16) Pixel {
  float r = 0, g = 0, b = 0, a = 0;
};

// The kernel's parameters for one pass of a picture.
struct Frame {
  CameraFrame camera;
  Lighting lighting;
  std::uint32_t width, height;
  std::uint32_t first_sample, samples;  // samples of this pass
  // The pass renders the tiles from the ticket's start up to this one (kernel.hpp).
  std::uint32_t end_tile;
  std::uint32_t total_samples;   // samples of the picture
  std::uint32_t occlusion_rays;  // per sample, in modes shaded and ao
  std::uint32_t bounces;         // in mode path
  std::uint32_t seed;
  Mode mode;
  bool clay;  // ignores the scene's colours
};

template <class Test>
struct SceneView {
  using Intersection = Test;
  static constexpr bool coloured = false;
  kdtree::TreeView<Intersection> tree;
  const Vec3* vertices;
  const Triangle* triangles;
};

template <class Test>
struct ColouredView : SceneView<Test> {
  static constexpr bool coloured = true;
  MaterialView materials;
};

// A view in which the environment replaces key light, surroundings, background and floor.
template <class Test>
struct SurroundedView : ColouredView<Test> {
  EnvironmentView environment;
};
template <class View>
concept Surrounded = requires(const View& view) {
  view.environment;
};

}  // namespace heapwood::render
