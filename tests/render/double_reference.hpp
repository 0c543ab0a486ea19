// SPDX-License-Identifier: MIT
// Reference ray tracer in double precision: the test of Moeller and Trumbore 1997 for every
// triangle whose enlarged bounding box the ray meets. Shares no code with the intersection tests
// and trees under test. Its own tree of bounding boxes (median splits) makes meshes of a million
// triangles feasible.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "kdtree/traverse/intersect.hpp"
#include "kdtree/tree.hpp"

namespace heapwood::render {

using Double3 = std::array<double, 3>;

inline Double3 in_double(Vec3 v) { return {v.x, v.y, v.z}; }
inline Double3 subtract(const Double3& a, const Double3& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
inline Double3 cross(const Double3& a, const Double3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
inline double dot(const Double3& a, const Double3& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
inline double length(const Double3& a) { return std::sqrt(dot(a, a)); }

// The intersection of a ray with a triangle's plane.
struct Meeting {
  double t, u, v;
  double cosine;      // between the ray and the normal, >= 0
  double ray_length;  // from the ray's origin to the triangle's farthest corner
  double min_height;  // of the triangle
  double longest_edge;

  double min_weight() const { return std::min({u, v, 1 - u - v}); }
};

// Above the rounding error of the area, which is relative to the two edges: they may be far shorter
// than the longest one.
inline bool has_area(const Corners& c) {
  const Double3 a = in_double(c.a), ab = subtract(in_double(c.b), a),
                ac = subtract(in_double(c.c), a);
  return length(cross(ab, ac)) > 1e-14 * length(ab) * length(ac);
}

// Returns nullopt if the triangle has no area or the ray is parallel to it.
inline std::optional<Meeting> meet(const kdtree::Ray& ray, const Corners& c) {
  const Double3 a = in_double(c.a), d = in_double(ray.direction), o = in_double(ray.origin);
  const Double3 ab = subtract(in_double(c.b), a), ac = subtract(in_double(c.c), a),
                s = subtract(o, a);
  const Double3 normal = cross(ab, ac);
  const double area = length(normal), determinant = -dot(normal, d);
  const double longest = std::max({length(ab), length(ac), length(subtract(ab, ac))});
  if (!has_area(c) || !(std::fabs(determinant) > 1e-14 * area * length(d))) return std::nullopt;
  const Double3 moment = cross(d, s);
  const double reach = std::max({length(s), length(subtract(s, ab)), length(subtract(s, ac))});
  return Meeting{dot(normal, s) / determinant,
                 dot(moment, ac) / -determinant,
                 dot(moment, ab) / determinant,
                 std::fabs(determinant) / (area * length(d)),
                 reach,
                 area / longest,
                 longest};
}

class DoubleReference {
 public:
  struct Hit {
    Meeting meeting;
    std::uint32_t triangle;
  };

  explicit DoubleReference(const kdtree::MeshView& mesh) : mesh_(mesh) {
    ids_.resize(mesh.triangles.size());
    boxes_.reserve(ids_.size());
    for (std::uint32_t i = 0; i < ids_.size(); ++i) {
      ids_[i] = i;
      boxes_.push_back(bounds(kdtree::corners(mesh, i)));
    }
    if (!ids_.empty()) divide(0, static_cast<std::uint32_t>(ids_.size()));
  }

  // Calls visit(triangle, meeting) for every triangle whose plane the ray meets near the triangle's
  // box.
  template <class Visit>
  void visit(const kdtree::Ray& ray, Visit visit) const {
    if (!nodes_.empty()) walk(0, ray, visit);
  }

  // Hits more than `apart` away from each other, nearest first. Accepts weights down to -1e-12, so
  // that a ray through an edge hits.
  std::vector<Hit> hits(const kdtree::Ray& ray, double apart) const {
    std::vector<Hit> all;
    visit(ray, [&](std::uint32_t triangle, const Meeting& m) {
      if (m.min_weight() >= -1e-12 && m.t >= ray.tmin && m.t < ray.tmax)
        all.push_back({m, triangle});
    });
    std::sort(all.begin(), all.end(),
              [](const Hit& a, const Hit& b) { return a.meeting.t < b.meeting.t; });
    std::vector<Hit> kept;
    for (const Hit& hit : all) {
      if (kept.empty() || hit.meeting.t > kept.back().meeting.t + apart) kept.push_back(hit);
    }
    return kept;
  }

 private:
  struct Node {
    Box box;
    std::uint32_t first, count;  // ids of a leaf
    std::uint32_t right;         // index of the right child; the left one follows its parent
  };

  void divide(std::uint32_t first, std::uint32_t last) {
    const std::size_t index = nodes_.size();
    nodes_.push_back({{}, first, last - first, 0});
    for (std::uint32_t i = first; i < last; ++i) nodes_[index].box.grow(boxes_[ids_[i]]);
    if (last - first <= 4) return;
    const Vec3 extent = nodes_[index].box.extent();
    const unsigned axis =
        extent.x >= extent.y ? (extent.x >= extent.z ? 0 : 2) : (extent.y >= extent.z ? 1 : 2);
    const std::uint32_t middle = first + (last - first) / 2;
    std::nth_element(ids_.begin() + first, ids_.begin() + middle, ids_.begin() + last,
                     [&](std::uint32_t a, std::uint32_t b) {
                       return boxes_[a].lo[axis] + boxes_[a].hi[axis] <
                              boxes_[b].lo[axis] + boxes_[b].hi[axis];
                     });
    nodes_[index].count = 0;
    divide(first, middle);
    nodes_[index].right = static_cast<std::uint32_t>(nodes_.size());
    divide(middle, last);
  }

  // Whether the ray meets the box enlarged by 10^-4 of the largest distance from the ray's origin
  // to its planes, so that triangles that the ray narrowly misses are visited, too.
  static bool meets(const Box& box, const kdtree::Ray& ray) {
    double begin = -std::numeric_limits<double>::infinity(), end = -begin;
    double margin = 0;
    for (unsigned axis = 0; axis < 3; ++axis) {
      const double lo = static_cast<double>(box.lo[axis]) - ray.origin[axis];
      const double hi = static_cast<double>(box.hi[axis]) - ray.origin[axis];
      margin = std::max({margin, std::fabs(lo), std::fabs(hi)});
    }
    margin *= 1e-4;
    for (unsigned axis = 0; axis < 3; ++axis) {
      const double o = ray.origin[axis], d = ray.direction[axis];
      const double lo = box.lo[axis] - margin - o, hi = box.hi[axis] + margin - o;
      if (d == 0) {
        if (lo > 0 || hi < 0) return false;
        continue;
      }
      begin = std::max(begin, std::min(lo / d, hi / d));
      end = std::min(end, std::max(lo / d, hi / d));
    }
    return begin <= end && end >= 0;
  }

  template <class Visit>
  void walk(std::uint32_t index, const kdtree::Ray& ray, Visit& visit) const {
    const Node& node = nodes_[index];
    if (!meets(node.box, ray)) return;
    for (std::uint32_t i = node.first; i < node.first + node.count; ++i) {
      if (const auto m = meet(ray, kdtree::corners(mesh_, ids_[i]))) visit(ids_[i], *m);
    }
    if (node.count != 0) return;
    walk(index + 1, ray, visit);
    walk(node.right, ray, visit);
  }

  kdtree::MeshView mesh_;
  std::vector<std::uint32_t> ids_;
  std::vector<Box> boxes_;
  std::vector<Node> nodes_;
};

}  // namespace heapwood::render
