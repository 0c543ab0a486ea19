// SPDX-License-Identifier: MIT
// Divides a polygon in space into triangles, in the coordinate plane that is nearest to the
// polygon's own (by Newell's normal).
// - A quad is split at the shorter diagonal, or at the one that lies inside.
// - A polygon whose corner 0 sees every other corner, such as any strictly convex one, becomes a
//   fan around corner 0.
// - Any other polygon is triangulated by ear clipping (Meisters 1975): an ear is a convex corner
//   whose triangle with its two neighbours lies inside the polygon. Collinear corners, repeated
//   corners and bridges from a hole to its outline are handled; triangles of zero area arise only
//   from repeated corners and spikes.
// - A polygon that intersects itself has no correct triangulation: its corners are connected, and
//   areas may be covered twice.
// Limit: ear clipping takes O(n^2). Beyond 16,384 points tested per corner, which outlines of
// 10,000 corners do not reach, the rest of the polygon becomes a fan. So a polygon of a million
// corners takes about a minute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "scenes/mesh.hpp"

namespace heapwood::scenes {

// A point with coordinates of single precision, so that products are exact in double.
struct Point2 {
  double x = 0, y = 0;
  bool operator==(const Point2&) const = default;
};

class Triangulator {
 public:
  enum class Outcome {
    exact,       // the triangles cover the polygon, once
    intersects,  // the polygon intersects itself
    gave_up,     // the limit was reached: part of the polygon is a fan
  };

  // Triangulates a polygon of at least three corners, given as the mesh stores them (single
  // precision; computations are exact).
  Outcome triangulate(std::span<const Vec3> corners);

  // The corners - 2 triangles of the last polygon, with indices into `corners` and the polygon's
  // winding; valid until the next call.
  std::span<const Triangle> triangles() const { return triangles_; }

 private:
  // Which corners count as ears. strict: the new edge touches no other corner, and the triangle has
  // a positive area, except at spikes and repeated corners. lax: the triangle does not lie outside
  // the polygon.
  enum class Rule { strict, lax };

  struct Corner {
    std::uint32_t previous, next;
    std::size_t last_entry = 0;  // position of its last entry in the queue
    bool is_clipped = false;
    bool is_blocker = false;  // not convex, so it may lie in an ear's triangle
  };

  Outcome split_quad(std::span<const Vec3> corners);
  Outcome clip_ears();
  void start();
  void queue_all();
  void queue(std::uint32_t corner);
  int turn(std::uint32_t corner) const;
  bool is_ear(std::uint32_t corner, Rule rule);
  bool blocks(std::uint32_t other, std::uint32_t corner, Rule rule) const;
  bool find_lax_ear(std::uint32_t& corner);
  void clip(std::uint32_t corner);
  void update(std::uint32_t corner);

  std::vector<Triangle> triangles_;
  std::vector<Point2> points_;   // outline, counter-clockwise
  std::vector<Corner> corners_;  // ring of the corners that are not clipped
  std::vector<std::uint32_t> blockers_, queue_;
  std::uint32_t any_ = 0, left_ = 0;  // a corner that is not clipped; how many there are
  std::uint64_t tests_left_ = 0;
};

// The faces of a mesh while it is read. Files may list faces before vertices, so a polygon is
// stored as a fan of triangles, and triangulated in place when all vertices are known.
class Faces {
 public:
  // uv_triangles receives a triangle of texture coordinates for each triangle.
  explicit Faces(std::vector<Triangle>& triangles, std::vector<Triangle>* uv_triangles = nullptr)
      : triangles_(triangles), uv_triangles_(uv_triangles) {}

  // Call add_corner() per corner of a face, then end_face(). Faces of fewer than 3 corners are
  // skipped.
  void add_corner(std::uint32_t vertex, std::uint32_t uv = 0) {
    const unsigned corner = corners_ < 2 ? static_cast<unsigned>(corners_) : 2;
    pending_.v[corner] = vertex;
    pending_uv_.v[corner] = uv;
    if (++corners_ < 3) return;
    triangles_.push_back(pending_);
    pending_.v[1] = vertex;
    if (uv_triangles_ == nullptr) return;
    uv_triangles_->push_back(pending_uv_);
    pending_uv_.v[1] = uv;
  }
  void end_face() {
    if (corners_ > 3) polygons_.push_back({triangles_.size() - (corners_ - 2), corners_});
    corners_ = 0;
  }

  // Triangulates the polygons with the mesh's vertices; `mesh.triangles` must be the array that the
  // faces were added to. Adds a note to `mesh.notes` if polygons intersect themselves, and one if
  // polygons are too intricate (Triangulator::Outcome::gave_up).
  void triangulate(Mesh& mesh, const std::string& source) const;

 private:
  struct Polygon {
    std::size_t first_triangle, corners;
  };

  std::vector<Triangle>& triangles_;
  std::vector<Triangle>* uv_triangles_;
  std::vector<Polygon> polygons_;
  Triangle pending_, pending_uv_;
  std::size_t corners_ = 0;
};

}  // namespace heapwood::scenes
