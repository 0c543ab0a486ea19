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
  explicit Faces(std::vector<Triangle>& triangles) : triangles_(triangles) {}

  // Add the corners of a face, then end it. A face of fewer than three corners adds no triangle.
  void add_corner(std::uint32_t vertex) {
    pending_.v[corners_ < 2 ? corners_ : 2] = vertex;
    if (++corners_ < 3) return;
    triangles_.push_back(pending_);
    pending_.v[1] = vertex;
  }
  void end_face() {
    if (corners_ > 3) polygons_.push_back({triangles_.size() - (corners_ - 2), corners_});
    corners_ = 0;
  }

  // Triangulates the polygons with the mesh's vertices; `mesh.triangles` must be the array that the
  // faces were added to. Adds one note to `mesh.notes` if polygons intersect themselves.
  void triangulate(Mesh& mesh, const std::string& source) const;

 private:
  struct Polygon {
    std::size_t first_triangle, corners;
  };

  std::vector<Triangle>& triangles_;
  std::vector<Polygon> polygons_;
  Triangle pending_;
  std::size_t corners_ = 0;
};

}  // namespace heapwood::scenes
