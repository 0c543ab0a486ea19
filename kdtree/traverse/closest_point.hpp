// SPDX-License-Identifier: MIT
// The triangle closest to a point: depth first, the child on the point's side first. A cell, a box
// or a triangle farther away than the closest triangle found so far is skipped. Each entry of the
// stack has its cell's offset from the point, and a child's offset differs from it on one axis
// (Arya, Mount 1993, "Algorithms for fast vector quantization").
//
// Cells and boxes are compared in single precision, with a slack for its rounding errors and those
// of the cells' refs; triangles in double precision, so that thin triangles are as exact as others.
#pragma once

#include <cmath>
#include <cstdint>

#include "kdtree/traverse/traverse.hpp"

namespace heapwood::kdtree {

// A tree without triangle records.
struct PointTree {
  const Node* nodes;
  const std::uint32_t* refs;
  const Vec3* vertices;
  const Triangle* triangles;
  Box bounds;
};

// The point of a triangle that is closest to another point.
struct ClosestPoint {
  double square = HUGE_VAL;  // of the distance; infinite: no triangle within the limit
  double u = 0, v = 0;       // weights of the second and third corner
  std::uint32_t triangle = no_triangle;

  HEAPWOOD_INLINE bool found() const { return triangle != no_triangle; }
};

namespace detail {

// The closest point of a triangle, whose corners are relative to the given point.
class PointOfTriangle {
 public:
  HEAPWOOD_INLINE PointOfTriangle(Double3 a, Double3 b, Double3 c) {
    const Double3 ab = minus(b, a), ac = minus(c, a), normal = cross(ab, ac);
    const double area = dot(normal, normal);
    // Areas of the triangles that the projection forms with the edges: weights of the corners.
    const double area_a = dot(normal, cross(b, c)), area_b = dot(normal, cross(c, a)),
                 area_c = dot(normal, cross(a, b));
    const double lengths = dot(ab, ab) * dot(ac, ac);
    if (area_a >= 0 && area_b >= 0 && area_c >= 0 && area > 0) {
      const double height = dot(normal, a);
      square = height * height / area;
      u = area_b / area;
      v = area_c / area;
      constexpr double min_area = 1e-12;  // of triangles whose normal is precise
      if (area > min_area * lengths) return;
    }
    // The projection is not in the triangle, or not to be trusted: an edge's point is closer.
    closer_edge(a, ab, [this](double w) { u = w, v = 0; });
    closer_edge(a, ac, [this](double w) { u = 0, v = w; });
    closer_edge(b, minus(c, b), [this](double w) { u = 1 - w, v = w; });
  }

  double square = HUGE_VAL, u = 0, v = 0;

 private:
  static HEAPWOOD_INLINE Double3 minus(Double3 a, Double3 b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
  }
  // Takes the closest point of an edge, from + w along, if it is closer.
  template <class SetWeights>
  HEAPWOOD_INLINE void closer_edge(Double3 from, Double3 along, SetWeights set) {
    const double length = dot(along, along);
    const double w = length > 0 ? limited(-dot(from, along) / length, 0, 1) : 0;
    const Double3 point{from.x + w * along.x, from.y + w * along.y, from.z + w * along.z};
    const double point_square = dot(point, point);
    if (!(point_square < square)) return;
    square = point_square;
    set(w);
  }
};

}  // namespace detail

// A search for the triangle closest to a point. Of triangles at the same distance it is the one
// with the lowest number.
class ClosestPointSearch {
 public:
  // Only triangles closer than `max_distance` are found. The point is relative to the mesh's
  // origin, like the vertices.
  HEAPWOOD_INLINE ClosestPointSearch(const PointTree& tree, Vec3d point, double max_distance)
      : tree_(tree), exact_(point), point_(to_float(point)) {
    closest_.square = max_distance * max_distance;
    const Vec3 far = max(point_, -point_);
    slack_ = 0x1p-22f * (reach_of(tree.bounds) + far.x + far.y + far.z);
    set_limit();
  }

  HEAPWOOD_FN ClosestPoint find() {
    // Far children to visit later, with their offsets: the point minus the closest point of the
    // cell.
    struct Entry {
      Vec3 offset;
      std::uint32_t node;
    };
    Entry later[max_depth];
    unsigned top = 0;
    Vec3 offset = point_ - min(max(point_, tree_.bounds.lo), tree_.bounds.hi);
    if (!(dot(offset, offset) <= limit_)) return result();
    detail::NodeWords node = detail::load(tree_.nodes);
    for (;;) {
      while (const unsigned kind = node.link & 3u) {
        const unsigned axis = kind - 1;
        const float beyond = detail::select(point_, axis) - simt::from_bits(node.first);
        const std::uint32_t near = (node.link & ~3u) | (beyond < 0 ? 0u : 2u);
        const Vec3 far_offset = set(offset, axis, beyond);
        node = detail::load(tree_.nodes, near);
        if (dot(far_offset, far_offset) <= limit_) later[top++] = {far_offset, near ^ 2u};
      }
      test_leaf(node.first, node.first + (node.link >> 2));
      do {
        if (top == 0) return result();
        --top;
        offset = later[top].offset;
      } while (dot(offset, offset) > limit_);
      node = detail::load(tree_.nodes, later[top].node);
    }
  }

  // Tests a triangle that is likely to be close, which limits the search from its beginning.
  HEAPWOOD_INLINE void test(std::uint32_t triangle) {
    const Triangle t = tree_.triangles[triangle];
    const Vec3 a = tree_.vertices[t.v[0]], b = tree_.vertices[t.v[1]], c = tree_.vertices[t.v[2]];
    const Vec3 lo = min(min(a, b), c), hi = max(max(a, b), c);
    const Vec3 offset = max(max(lo - point_, point_ - hi), {0, 0, 0});
    if (dot(offset, offset) > limit_) return;
    const detail::PointOfTriangle found(from_point(a), from_point(b), from_point(c));
    if (!(found.square < closest_.square ||
          (found.square == closest_.square && triangle < closest_.triangle && closest_.found()))) {
      return;
    }
    closest_ = {found.square, found.u, found.v, triangle};
    set_limit();
  }

  HEAPWOOD_INLINE ClosestPoint result() const {
    return closest_.found() ? closest_ : ClosestPoint{};
  }

 private:
  friend class ClosestPacketSearch;
  HEAPWOOD_INLINE void test_leaf(std::uint32_t first, std::uint32_t last) {
    HEAPWOOD_ROLLED
    for (std::uint32_t k = first; k != last; ++k) {
      const std::uint32_t triangle = simt::load_constant(tree_.refs + k);
      if (triangle != closest_.triangle) test(triangle);
    }
  }
  HEAPWOOD_INLINE detail::Double3 from_point(Vec3 v) const {
    return {v.x - exact_.x, v.y - exact_.y, v.z - exact_.z};
  }
  // The square beyond which nothing can be closest.
  HEAPWOOD_INLINE void set_limit() {
    const float distance = static_cast<float>(std::sqrt(closest_.square)) * (1 + 0x1p-20f) + slack_;
    limit_ = distance * distance;
  }

  const PointTree& tree_;
  Vec3d exact_;
  Vec3 point_;
  float slack_, limit_;
  ClosestPoint closest_;
};

}  // namespace heapwood::kdtree
