// SPDX-License-Identifier: MIT
// The faces of a mesh that is being read. A polygon is a fan of triangles until all vertices are known, and is
// triangulated in place then: files may list faces before vertices.
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

  // The corners of a face one by one, then its end. A face of fewer than three corners leaves no triangle.
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

  // Triangulates the polygons, by the mesh's vertices; `mesh.triangles` are those that the faces were added to.
  // Polygons that intersect themselves are noted in `mesh.notes`, once.
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
