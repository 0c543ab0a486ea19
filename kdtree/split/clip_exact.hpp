// SPDX-License-Identifier: MIT
// Triangles clipped to axis-aligned planes in double precision, for validation and tests. The
// polygon is cut plane by plane (Sutherland & Hodgman 1974); these are the "perfect splits" of Wald
// & Havran 2006, "On building fast kd-trees for ray tracing, and on doing that in O(N log N)",
// section 4.2.
//
// Half spaces are closed: a part that only touches a plane is a polygon without area, not empty. A
// new vertex has exactly the plane's coordinate. It is computed from the lower end of the edge for
// either side, so that the two parts of a triangle meet in the same points. Its other coordinates
// have errors of a few 2^-53 of the edge's.
#pragma once

#include <array>

#include "kdtree/tree.hpp"

namespace heapwood::kdtree {

using Point = std::array<double, 3>;

// A convex polygon, a segment or a point (stored with repeated vertices), or nothing.
class Polygon {
 public:
  // A triangle cut by a box has at most 9 corners; rounding may duplicate some.
  static constexpr unsigned capacity = 16;

  Polygon() = default;
  explicit Polygon(const Corners& triangle);

  bool empty() const { return size_ == 0; }
  unsigned size() const { return size_; }
  const Point& operator[](unsigned i) const { return points_[i]; }

  double lowest(unsigned axis) const;
  double highest(unsigned axis) const;
  double area() const;

 private:
  friend Polygon part(const Polygon& polygon, unsigned axis, double plane, bool below);
  void add(const Point& point);

  std::array<Point, capacity> points_;
  unsigned size_ = 0;
};

// The part of the polygon with coordinates <= plane (if `below`) or >= plane.
Polygon part(const Polygon& polygon, unsigned axis, double plane, bool below);

}  // namespace heapwood::kdtree
