// SPDX-License-Identifier: MIT
// The first pass of both builders over the mesh: corner copies and the scene's bounds.
#pragma once

#include <cstdint>

#include "geometry/triangle.hpp"
#include "kdtree/build/shared_node.hpp"
#include "kdtree/refs.hpp"

namespace heapwood::kdtree {

// Copies the corners of the triangles [first, last), so that they can be read in the order of the
// triangles' ids, and adds their bounds to those of `scene`. All lanes call.
template <class Warp>
HEAPWOOD_INLINE void copy_corners(Warp& warp, const Vec3* vertices, const Triangle* triangles,
                                  std::uint32_t first, std::uint32_t last, PackedCorners* corners,
                                  SharedNode& scene) {
  Box box;
  for (std::uint32_t i = first + warp.lane(); i < last; i += Warp::width) {
    const Triangle t = triangles[i];
    // Adding zero turns -0 into +0: from here on equal coordinates have equal bits.
    const Vec3 zero{0.0f, 0.0f, 0.0f};
    const Vec3 a = vertices[t.v[0]] + zero, b = vertices[t.v[1]] + zero,
               c = vertices[t.v[2]] + zero;
    corners[i] = {{a.x, a.y, a.z, 0.0f}, {b.x, b.y, b.z, 0.0f}, {c.x, c.y, c.z, 0.0f}};
    box.grow(bounds(Corners{a, b, c}));
  }
  GatheredBounds<Warp> tight;
  tight.add(warp, true, box);
  tight.add_to(scene, warp);
}

}  // namespace heapwood::kdtree
