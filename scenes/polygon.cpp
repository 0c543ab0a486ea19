// SPDX-License-Identifier: MIT
#include "scenes/polygon.hpp"

#include <algorithm>
#include <cmath>

namespace heapwood::scenes {
namespace {

struct Plane {
  unsigned axis = 2;  // the omitted axis
  bool swap = false;  // the polygon is clockwise in it
};

Point2 project(Vec3 p, Plane plane) {
  const double x = p[(plane.axis + 1) % 3], y = p[(plane.axis + 2) % 3];
  return plane.swap ? Point2{y, x} : Point2{x, y};
}

// Newell's normal is twice the area in each coordinate plane. The plane of the largest area is
// chosen: leaving out a coordinate, unlike a rotation, is exact.
Plane plane_of(std::span<const Vec3> corners) {
  const auto at = [&](std::size_t i, unsigned axis) {
    return double{corners[i][axis]} - double{corners[0][axis]};
  };
  double areas[3] = {}, extents[3] = {}, scale = 0;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const unsigned u = (axis + 1) % 3, v = (axis + 2) % 3;
    double lo = 0, hi = 0;
    for (std::size_t i = 1; i < corners.size(); ++i) {
      lo = std::min(lo, at(i, axis));
      hi = std::max(hi, at(i, axis));
      areas[axis] += at(i - 1, u) * at(i, v) - at(i - 1, v) * at(i, u);
    }
    extents[axis] = hi - lo;
    scale = std::max(scale, hi - lo);
  }
  const double largest = std::max({std::abs(areas[0]), std::abs(areas[1]), std::abs(areas[2])});
  Plane plane;
  // No normal: the areas cancel, as of the lobes of an 8.
  if (largest <= 1e-14 * scale * scale) {
    plane.axis = static_cast<unsigned>(std::min_element(extents, extents + 3) - extents);
    return plane;
  }
  // Rounding must not decide between equal areas.
  while (plane.axis > 0 && std::abs(areas[plane.axis]) < largest * (1 - 1e-9)) --plane.axis;
  plane.swap = areas[plane.axis] < 0;
  return plane;
}

// Whether corner 0 sees every other corner: all triangles of the fan have a positive area, and
// together they do not go round corner 0 more than once.
bool is_fan(std::span<const Point2> p) {
  bool past_half = false;
  for (std::size_t i = 1; i + 1 < p.size(); ++i) {
    if (orientation(p[0], p[i], p[i + 1]) <= 0) return false;
    const int side = orientation(p[0], p[1], p[i + 1]);
    if (past_half && side >= 0) return false;
    past_half = side <= 0;
  }
  return true;
}

// 2: both triangles have a positive area; 1: neither has a negative one; 0: one has.
int rank(Point2 a, Point2 b, Point2 c, Point2 d) {
  const int lower = std::min(orientation(a, b, c), orientation(a, c, d));
  return lower + 1;
}

float squared_distance(Vec3 a, Vec3 b) { return dot(b - a, b - a); }

}  // namespace

Triangulator::Outcome Triangulator::split_quad(std::span<const Vec3> corners) {
  const std::vector<Point2>& p = clipper_.points;
  const int at_0 = rank(p[0], p[1], p[2], p[3]), at_1 = rank(p[1], p[2], p[3], p[0]);
  const bool shorter_at_1 =
      squared_distance(corners[1], corners[3]) < squared_distance(corners[0], corners[2]);
  if (at_1 > at_0 || (at_1 == at_0 && shorter_at_1)) {
    triangles_.push_back({{0, 1, 3}});
    triangles_.push_back({{1, 2, 3}});
  } else {
    triangles_.push_back({{0, 1, 2}});
    triangles_.push_back({{0, 2, 3}});
  }
  return at_0 == 0 && at_1 == 0 && has_crossing(p) ? Outcome::intersects : Outcome::exact;
}

Triangulator::Outcome Triangulator::triangulate(std::span<const Vec3> corners) {
  triangles_.clear();
  if (corners.size() == 3) {
    triangles_.push_back({{0, 1, 2}});
    return Outcome::exact;
  }
  const Plane plane = plane_of(corners);
  std::vector<Point2>& points = clipper_.points;
  points.clear();
  for (const Vec3 corner : corners) points.push_back(project(corner, plane));
  if (corners.size() == 4) return split_quad(corners);
  if (is_fan(points)) {
    const auto n = static_cast<std::uint32_t>(points.size());
    for (std::uint32_t i = 2; i < n; ++i) triangles_.push_back({{0, i - 1, i}});
    return Outcome::exact;
  }
  clipper_.clip(triangles_);
  if (clipper_.met_no_ear() || has_crossing(points)) return Outcome::intersects;
  return clipper_.gave_up() ? Outcome::gave_up : Outcome::exact;
}

}  // namespace heapwood::scenes
