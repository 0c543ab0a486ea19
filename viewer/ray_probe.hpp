// SPDX-License-Identifier: MIT
// Traces one ray on the host step by step, to show what the ray tracer does for a pixel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "kdtree/traverse/intersect.hpp"
#include "viewer/built_scene.hpp"
#include "viewer/gl.hpp"

namespace heapwood::viewer {

struct VisitedLeaf {
  Box box;
  std::uint32_t first = 0, refs = 0;
  unsigned depth = 0;
};

struct RayPath {
  kdtree::Ray ray;
  kdtree::Hit hit;
  unsigned inner_steps = 0, tests = 0;
  std::vector<VisitedLeaf> leaves;  // front to back, up to the leaf with the hit
  Box hit_box;                      // of the leaf with the hit
  std::size_t empty_leaves() const {
    return static_cast<std::size_t>(std::count_if(
        leaves.begin(), leaves.end(), [](const VisitedLeaf& leaf) { return leaf.refs == 0; }));
  }
};

// Visits the nodes that kdtree::closest_hit visits; the hit is the one it returns.
RayPath follow(const BuiltScene& scene, const kdtree::Ray& ray);

struct RayProbe {
  bool active = false;  // the ray under the mouse is shown
  bool pinned = false;  // the ray stays while the camera moves
  std::optional<RayPath> path;
  float x = 0, y = 0;  // its pixel

  void clear() {
    path.reset();
    pinned = false;
  }
  // The ray, the boxes of the leaves it visits and their triangles.
  std::vector<gl::Vertex> lines(const BuiltScene& scene) const;
};

}  // namespace heapwood::viewer
