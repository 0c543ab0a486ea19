// SPDX-License-Identifier: MIT
// A polygon in space as triangles, in the coordinate plane that is nearest to the polygon's own (by
// Newell's normal).
// - A quad is split at the shorter diagonal, or at the one that lies inside.
// - A polygon whose corner 0 sees every other corner, as in any strictly convex polygon, is a fan
//   around corner 0.
// - Any other polygon is triangulated by ear clipping (Meisters 1975). Collinear corners, repeated
//   corners and bridges from a hole to its outline are handled; triangles of zero area arise only
//   from repeated corners and spikes.
// - A polygon that intersects itself has no correct triangulation: its corners are connected, and
//   areas may be covered twice.
// Limit: ear clipping takes O(n log n) for ordinary outlines and O(n^2) for some. Beyond 512 steps
// per corner the rest of the polygon becomes a fan: a polygon of a million corners takes less than
// a minute.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scenes/ear_clipping.hpp"

namespace heapwood::scenes {

class Triangulator {
 public:
  enum class Outcome {
    exact,       // the triangles cover the polygon, once
    intersects,  // the polygon intersects itself
    gave_up,     // the step limit was reached: part of the polygon is a fan
  };

  // Corners as the mesh stores them (single precision; computations are exact). At least three
  // corners.
  Outcome triangulate(std::span<const Vec3> corners);

  // corners - 2 triangles with indices into `corners`, in the polygon's winding; valid until the
  // next call.
  std::span<const Triangle> triangles() const { return triangles_; }

 private:
  Outcome split_quad(std::span<const Vec3> corners);

  std::vector<Triangle> triangles_;
  EarClipper clipper_;
};

}  // namespace heapwood::scenes
