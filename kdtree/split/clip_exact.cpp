// SPDX-License-Identifier: MIT
#include "kdtree/split/clip_exact.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heapwood::kdtree {
namespace {

Point to_point(Vec3 v) { return {v.x, v.y, v.z}; }

// The point where the edge crosses the plane; requires lower[axis] < plane < upper[axis]. Clamped
// to the edge's box, so that rounding cannot move it out of the triangle's bounds.
Point crossing(const Point& lower, const Point& upper, unsigned axis, double plane) {
  const double t = (plane - lower[axis]) / (upper[axis] - lower[axis]);
  Point point;
  for (unsigned i = 0; i < 3; ++i) {
    const auto [smallest, largest] = std::minmax(lower[i], upper[i]);
    point[i] = std::clamp(lower[i] + t * (upper[i] - lower[i]), smallest, largest);
  }
  point[axis] = plane;
  return point;
}

}  // namespace

Polygon::Polygon(const Corners& triangle) : size_(3) {
  points_[0] = to_point(triangle.a);
  points_[1] = to_point(triangle.b);
  points_[2] = to_point(triangle.c);
}

// A corner beyond the capacity can only duplicate another one by rounding, so it is omitted.
void Polygon::add(const Point& point) {
  if (size_ > 0 && points_[size_ - 1] == point) return;
  if (size_ < capacity) points_[size_++] = point;
}

double Polygon::lowest(unsigned axis) const {
  double smallest = std::numeric_limits<double>::infinity();
  for (unsigned i = 0; i < size_; ++i) smallest = std::min(smallest, points_[i][axis]);
  return smallest;
}

double Polygon::highest(unsigned axis) const {
  double largest = -std::numeric_limits<double>::infinity();
  for (unsigned i = 0; i < size_; ++i) largest = std::max(largest, points_[i][axis]);
  return largest;
}

double Polygon::area() const {
  Point sum{};
  for (unsigned i = 2; i < size_; ++i) {
    Point u, v;
    for (unsigned k = 0; k < 3; ++k) {
      u[k] = points_[i - 1][k] - points_[0][k];
      v[k] = points_[i][k] - points_[0][k];
    }
    for (unsigned k = 0; k < 3; ++k)
      sum[k] += u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
  }
  return 0.5 * std::hypot(sum[0], sum[1], sum[2]);
}

Polygon part(const Polygon& polygon, unsigned axis, double plane, bool below) {
  const auto inside = [&](const Point& p) { return below ? p[axis] <= plane : p[axis] >= plane; };
  Polygon kept;
  for (unsigned i = 0; i < polygon.size_; ++i) {
    const Point& from = polygon.points_[i];
    const Point& to = polygon.points_[i + 1 == polygon.size_ ? 0 : i + 1];
    if (inside(from)) kept.add(from);
    if (from[axis] < plane && to[axis] > plane) kept.add(crossing(from, to, axis, plane));
    if (to[axis] < plane && from[axis] > plane) kept.add(crossing(to, from, axis, plane));
  }
  return kept;
}

}  // namespace heapwood::kdtree
