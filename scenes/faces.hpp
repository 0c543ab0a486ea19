// SPDX-License-Identifier: MIT
// The faces of a mesh during reading. Files may list faces before vertices: a polygon is stored as
// a fan of triangles and triangulated in place when all vertices are known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "scenes/mesh.hpp"

namespace heapwood::scenes {

class Faces {
 public:
  // uv_triangles: receives a triangle of texture coordinates for each triangle.
  explicit Faces(std::vector<Triangle>& triangles, std::vector<Triangle>* uv_triangles = nullptr)
      : triangles_(triangles), uv_triangles_(uv_triangles) {}

  // Add the corners of a face, then end it. A face of fewer than three corners adds no triangle.
  void add_corner(std::uint32_t vertex, std::uint32_t uv = 0) {
    const unsigned place = corners_ < 2 ? static_cast<unsigned>(corners_) : 2;
    pending_.v[place] = vertex;
    pending_uv_.v[place] = uv;
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
