// SPDX-License-Identifier: MIT
#include "scenes/polygon.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "scenes/file.hpp"

namespace heapwood::scenes {

namespace {

constexpr std::uint64_t tests_per_corner = 16'384;

// Predicates without rounding error. Polygons with collinear corners are common, and a wrong sign
// there turns an outline inside out. As in Shewchuk, "Adaptive Precision Floating-Point Arithmetic
// and Fast Robust Geometric Predicates", 1997, an error bound comes first, and an exact sum follows
// only if the bound does not decide the sign.

// The sign of the sum of six exact terms.
int sign_of_sum(const double (&terms)[6]) {
  double parts[6];  // non-overlapping, of increasing magnitude, zeros anywhere
  int count = 0;
  for (double sum : terms) {
    for (int i = 0; i < count; ++i) {
      const double a = parts[i], total = a + sum, rest = total - a;
      parts[i] = (a - (total - rest)) + (sum - rest);
      sum = total;
    }
    parts[count++] = sum;
  }
  for (int i = count - 1; i >= 0; --i) {
    if (parts[i] != 0) return parts[i] > 0 ? 1 : -1;
  }
  return 0;
}

// 1: a, b, c turn left; -1: they turn right; 0: they are collinear.
int orientation(Point2 a, Point2 b, Point2 c) {
  const double left = (b.x - a.x) * (c.y - a.y), right = (b.y - a.y) * (c.x - a.x);
  const double difference = left - right;
  if (std::abs(difference) > 4e-16 * (std::abs(left) + std::abs(right)))
    return difference > 0 ? 1 : -1;
  return sign_of_sum({b.x * c.y, -b.x * a.y, -a.x * c.y, -b.y * c.x, b.y * a.x, a.y * c.x});
}

struct Plane {
  unsigned axis = 2;  // the axis that the plane leaves out
  bool swap = false;  // the polygon is clockwise in the plane
};

Point2 project(Vec3 p, Plane plane) {
  const double x = p[(plane.axis + 1) % 3], y = p[(plane.axis + 2) % 3];
  return plane.swap ? Point2{y, x} : Point2{x, y};
}

// Chooses the coordinate plane in which the polygon has the largest area; Newell's normal is twice
// the area in each. Leaving out a coordinate, unlike a rotation, is exact.
Plane plane_of(std::span<const Vec3> corners) {
  const auto coordinate = [&](std::size_t i, unsigned axis) {
    return double{corners[i][axis]} - double{corners[0][axis]};
  };
  double areas[3] = {}, extents[3] = {}, scale = 0;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const unsigned u = (axis + 1) % 3, v = (axis + 2) % 3;
    double lo = 0, hi = 0;
    for (std::size_t i = 1; i < corners.size(); ++i) {
      lo = std::min(lo, coordinate(i, axis));
      hi = std::max(hi, coordinate(i, axis));
      areas[axis] +=
          coordinate(i - 1, u) * coordinate(i, v) - coordinate(i - 1, v) * coordinate(i, u);
    }
    extents[axis] = hi - lo;
    scale = std::max(scale, hi - lo);
  }
  const double largest = std::max({std::abs(areas[0]), std::abs(areas[1]), std::abs(areas[2])});
  Plane plane;
  // The normal is 0: areas cancel, as in the lobes of an 8. Leaves out the smallest extent.
  if (largest <= 1e-14 * scale * scale) {
    plane.axis = static_cast<unsigned>(std::min_element(extents, extents + 3) - extents);
    return plane;
  }
  // Rounding must not decide between equal areas, so nearly equal ones count as equal.
  while (plane.axis > 0 && std::abs(areas[plane.axis]) < largest * (1 - 1e-9)) --plane.axis;
  plane.swap = areas[plane.axis] < 0;
  return plane;
}

// Whether corner 0 sees every other corner: all triangles of the fan have a positive area, and
// together they go round corner 0 at most once.
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

// Rates the diagonal a-c of a quad. 2: both triangles have a positive area. 1: neither has a
// negative one. 0: one has.
int rank(Point2 a, Point2 b, Point2 c, Point2 d) {
  const int lower = std::min(orientation(a, b, c), orientation(a, c, d));
  return lower + 1;
}

float squared_distance(Vec3 a, Vec3 b) { return dot(b - a, b - a); }

// Whether collinear points a and c lie on the same side of b, or one of them equals b.
bool is_spike(Point2 a, Point2 b, Point2 c) {
  return (a.x - b.x) * (c.x - b.x) + (a.y - b.y) * (c.y - b.y) >= 0;
}

// Whether two edges of the outline cross each other at a point inside both. Tests a limited number
// of pairs of edges: in outlines of thousands of corners a crossing may be missed.
bool has_crossing(std::span<const Point2> outline) {
  struct Edge {
    double lo, hi;  // extent in x
    std::size_t corner;
  };
  const std::size_t n = outline.size();
  const auto end_of = [&](std::size_t corner) { return outline[corner + 1 == n ? 0 : corner + 1]; };
  std::vector<Edge> edges(n);
  for (std::size_t i = 0; i < n; ++i) {
    edges[i] = {std::min(outline[i].x, end_of(i).x), std::max(outline[i].x, end_of(i).x), i};
  }
  std::ranges::sort(edges, [](const Edge& a, const Edge& b) { return a.lo < b.lo; });
  std::size_t pairs = 256 * n;
  for (std::size_t i = 0; i < n; ++i) {
    check_interruption();
    const Point2 a = outline[edges[i].corner], b = end_of(edges[i].corner);
    const auto [y_lo, y_hi] = std::minmax(a.y, b.y);
    for (std::size_t j = i + 1; j < n && edges[j].lo <= edges[i].hi; ++j) {
      if (--pairs == 0) return false;
      const Point2 c = outline[edges[j].corner], d = end_of(edges[j].corner);
      if (std::max(c.y, d.y) < y_lo || std::min(c.y, d.y) > y_hi) continue;
      if (orientation(a, b, c) * orientation(a, b, d) < 0 &&
          orientation(c, d, a) * orientation(c, d, b) < 0)
        return true;
    }
  }
  return false;
}

}  // namespace

Triangulator::Outcome Triangulator::split_quad(std::span<const Vec3> corners) {
  const std::vector<Point2>& p = points_;
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

int Triangulator::turn(std::uint32_t corner) const {
  return orientation(points_[corners_[corner].previous], points_[corner],
                     points_[corners_[corner].next]);
}

void Triangulator::start() {
  left_ = static_cast<std::uint32_t>(points_.size());
  any_ = 0;
  tests_left_ = tests_per_corner * left_;
  corners_.clear();
  for (std::uint32_t i = 0; i < left_; ++i)
    corners_.push_back({i == 0 ? left_ - 1 : i - 1, i + 1 == left_ ? 0 : i + 1});
  blockers_.clear();
  for (std::uint32_t i = 0; i < left_; ++i) {
    corners_[i].is_blocker = turn(i) <= 0;
    if (corners_[i].is_blocker) blockers_.push_back(i);
  }
  queue_all();
}

void Triangulator::queue_all() {
  queue_.clear();
  std::uint32_t corner = any_;
  for (std::uint32_t i = 0; i < left_; ++i, corner = corners_[corner].next) queue(corner);
}

void Triangulator::queue(std::uint32_t corner) {
  corners_[corner].last_entry = queue_.size();
  queue_.push_back(corner);
}

// Whether the corner `other` lies in the triangle at `corner`, which is then not an ear. It may
// touch the triangle's border unless an edge goes from there into the triangle, because bridges to
// holes run along borders.
bool Triangulator::blocks(std::uint32_t other, std::uint32_t corner, Rule rule) const {
  const std::uint32_t before = corners_[corner].previous, after = corners_[corner].next;
  if (other == before || other == corner || other == after) return false;
  const Point2 triangle[4] = {points_[before], points_[corner], points_[after], points_[before]};
  int sides[3];
  for (unsigned i = 0; i < 3; ++i) {
    sides[i] = orientation(triangle[i], triangle[i + 1], points_[other]);
    if (sides[i] < 0) return false;
  }
  if (rule == Rule::strict && sides[0] > 0 && sides[1] > 0) return true;
  for (const std::uint32_t neighbour : {corners_[other].next, corners_[other].previous}) {
    bool enters = true;
    for (unsigned i = 0; i < 3 && enters; ++i) {
      enters = sides[i] > 0 || orientation(triangle[i], triangle[i + 1], points_[neighbour]) > 0;
    }
    if (enters) return true;
  }
  return false;
}

bool Triangulator::is_ear(std::uint32_t corner, Rule rule) {
  check_interruption();
  const Point2 a = points_[corners_[corner].previous], b = points_[corner],
               c = points_[corners_[corner].next];
  const int side = orientation(a, b, c);
  tests_left_ -= std::min<std::uint64_t>(tests_left_, side > 0 ? blockers_.size() : 1);
  if (side < 0) return false;
  if (side == 0) return rule == Rule::lax || is_spike(a, b, c);
  const auto [x_lo, x_hi] = std::minmax({a.x, b.x, c.x});
  const auto [y_lo, y_hi] = std::minmax({a.y, b.y, c.y});
  for (const std::uint32_t other : blockers_) {
    const Point2 p = points_[other];
    if (p.x >= x_lo && p.x <= x_hi && p.y >= y_lo && p.y <= y_hi && corners_[other].is_blocker &&
        blocks(other, corner, rule)) {
      return false;
    }
  }
  return true;
}

// Called when a neighbour of the corner has been clipped.
void Triangulator::update(std::uint32_t corner) {
  if (corners_[corner].is_blocker && turn(corner) > 0) corners_[corner].is_blocker = false;
  queue(corner);
}

void Triangulator::clip(std::uint32_t corner) {
  Corner& clipped = corners_[corner];
  triangles_.push_back({{clipped.previous, corner, clipped.next}});
  corners_[clipped.previous].next = clipped.next;
  corners_[clipped.next].previous = clipped.previous;
  clipped.is_clipped = true;
  clipped.is_blocker = false;
  any_ = clipped.next;
  if (--left_ % 64 == 0)
    std::erase_if(blockers_, [&](std::uint32_t i) { return !corners_[i].is_blocker; });
  update(clipped.previous);
  update(clipped.next);
}

// Finds a corner to clip when no ear passes the strict rule. In an outline that intersects itself
// possibly none passes the lax rule either: then returns false, with the first convex corner.
bool Triangulator::find_lax_ear(std::uint32_t& corner) {
  std::uint32_t convex = any_;
  bool has_convex = false;
  corner = any_;
  for (std::uint32_t i = 0; i < left_; ++i, corner = corners_[corner].next) {
    if (is_ear(corner, Rule::lax)) return true;
    if (has_convex || turn(corner) <= 0) continue;
    convex = corner;
    has_convex = true;
  }
  corner = convex;
  return false;
}

Triangulator::Outcome Triangulator::clip_ears() {
  start();
  bool has_lax_ears = true, has_clipped = false;  // since all corners were put into the queue
  std::size_t index = 0;
  while (left_ > 3 && tests_left_ > 0) {
    if (index < queue_.size()) {
      // The queue is first in, first out: neighbours of a clipped corner are tested last, which
      // avoids fans of slivers. A corner that is not an ear cannot become one until a neighbour is
      // clipped.
      const std::uint32_t corner = queue_[index];
      const bool is_last_entry = corners_[corner].last_entry == index++;
      if (corners_[corner].is_clipped || !is_last_entry || !is_ear(corner, Rule::strict)) continue;
      clip(corner);
      has_clipped = true;
      continue;
    }
    // The corner because of which a triangle failed the strict rule may have been clipped
    // meanwhile: retries all before the lax rule applies.
    if (!has_clipped) {
      std::uint32_t corner = 0;
      has_lax_ears = find_lax_ear(corner) && has_lax_ears;
      clip(corner);
    }
    queue_all();
    index = 0;
    has_clipped = false;
  }
  const bool gave_up = left_ > 3;
  for (std::uint32_t i = corners_[any_].next; corners_[i].next != any_; i = corners_[i].next)
    triangles_.push_back({{any_, i, corners_[i].next}});
  if (!has_lax_ears || has_crossing(points_)) return Outcome::intersects;
  return gave_up ? Outcome::gave_up : Outcome::exact;
}

Triangulator::Outcome Triangulator::triangulate(std::span<const Vec3> corners) {
  triangles_.clear();
  if (corners.size() == 3) {
    triangles_.push_back({{0, 1, 2}});
    return Outcome::exact;
  }
  const Plane plane = plane_of(corners);
  points_.clear();
  for (const Vec3 corner : corners) points_.push_back(project(corner, plane));
  if (corners.size() == 4) return split_quad(corners);
  if (!is_fan(points_)) return clip_ears();
  for (std::uint32_t i = 2; i < corners.size(); ++i) triangles_.push_back({{0, i - 1, i}});
  return Outcome::exact;
}

namespace {

struct Count {
  std::size_t polygons = 0;
  Vec3d first;  // a corner of the first such polygon

  void add(const Mesh& mesh, std::uint32_t vertex) {
    if (polygons++ == 0) first = mesh.origin + to_double(mesh.vertices[vertex]);
  }

  std::string text(const char* one, const char* several) const {
    char text[128];
    std::snprintf(text, sizeof(text), "(%.9g, %.9g, %.9g)", first.x, first.y, first.z);
    if (polygons == 1) return std::string("the polygon at ") + text + " " + one;
    return std::to_string(polygons) + " polygons " + several + ", the first at " + text;
  }
};

void corners_of_fan(const Triangle* fan, std::size_t corners, std::vector<std::uint32_t>& ids) {
  ids.assign({fan[0].v[0], fan[0].v[1]});
  for (std::size_t i = 0; i + 2 < corners; ++i) ids.push_back(fan[i].v[2]);
}

void write(std::span<const Triangle> triangles, const std::vector<std::uint32_t>& ids,
           Triangle* to) {
  for (const Triangle& t : triangles) *to++ = {{ids[t.v[0]], ids[t.v[1]], ids[t.v[2]]}};
}

}  // namespace

void Faces::triangulate(Mesh& mesh, const std::string& source) const {
  Triangulator triangulator;
  std::vector<std::uint32_t> ids;
  std::vector<Vec3> corners;
  Count intersecting, too_intricate;
  for (const Polygon& polygon : polygons_) {
    check_interruption();
    Triangle* const fan = &mesh.triangles[polygon.first_triangle];
    corners_of_fan(fan, polygon.corners, ids);
    corners.clear();
    for (const std::uint32_t id : ids) corners.push_back(mesh.vertices[id]);
    switch (triangulator.triangulate(corners)) {
      case Triangulator::Outcome::exact:
        break;
      case Triangulator::Outcome::intersects:
        intersecting.add(mesh, ids[0]);
        break;
      case Triangulator::Outcome::gave_up:
        too_intricate.add(mesh, ids[0]);
        break;
    }
    write(triangulator.triangles(), ids, fan);
    if (uv_triangles_ == nullptr) continue;
    Triangle* const uv_fan = &(*uv_triangles_)[polygon.first_triangle];
    corners_of_fan(uv_fan, polygon.corners, ids);
    write(triangulator.triangles(), ids, uv_fan);
  }
  if (intersecting.polygons > 0) {
    mesh.notes.push_back(source + ": " +
                         intersecting.text("intersects itself", "intersect themselves") +
                         ": areas may be covered twice or not at all");
  }
  if (too_intricate.polygons > 0) {
    mesh.notes.push_back(source + ": " +
                         too_intricate.text("is too intricate", "are too intricate") +
                         ": part of the area is filled outside the outline; split the polygon");
  }
}

}  // namespace heapwood::scenes
