// SPDX-License-Identifier: MIT
// A triangle mesh on the host.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "geometry/triangle.hpp"
#include "geometry/vec3d.hpp"

namespace heapwood::scenes {

// A view that shows a scene well; procedural scenes know theirs.
struct CameraHint {
  Vec3 eye, target;
  float fov = 45;  // vertical, degrees
  bool operator==(const CameraHint&) const = default;
};

// Vertices are relative to `origin`: a vertex v lies at origin + v in the file's coordinates. The origin is 0 for scenes
// about the file's origin, and near the scene's centre for scenes far from it, so that single precision keeps their shape.
struct Mesh {
  std::string name;  // "atrium", "conference"
  Vec3d origin;
  std::vector<Vec3> vertices;
  std::vector<Triangle> triangles;
  unsigned up = 1;                   // axis: 0 x, 1 y, 2 z
  std::optional<CameraHint> camera;  // none: look at the bounds
};

// Throws Error{Exit::scene} naming the first vertex that is not finite or the first index out of range.
void check(const Mesh& mesh, const std::string& source);

// Removes triangles of zero area (two corners equal, or all three on a line) and returns how many there were. The order
// of the others and the vertices stay.
std::size_t drop_degenerate(Mesh& mesh);

// The box of all vertices, also of those that no triangle uses; empty for none.
Box bounds(const Mesh& mesh);

}  // namespace heapwood::scenes
