// SPDX-License-Identifier: MIT
// A triangle mesh on the host.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "geometry/appearance.hpp"
#include "geometry/triangle.hpp"
#include "geometry/vec.hpp"

namespace heapwood::scenes {

// The camera of a procedural scene or glTF file, relative to the mesh's origin like the vertices.
struct CameraHint {
  Vec3 eye, target;
  float fov = 45;  // vertical angle in degrees
  bool operator==(const CameraHint&) const = default;
};

// A mesh. Vertices are relative to `origin`: a vertex v lies at origin + v in the file's
// coordinates. The origin is 0 for scenes around the file's origin, and near the scene's centre for
// scenes far from it, so that single precision keeps their shape.
struct Mesh {
  std::string name;  // "atrium", "conference"
  Vec3d origin;
  std::vector<Vec3> vertices;
  std::vector<Triangle> triangles;
  unsigned up = 1;                   // axis: 0 x, 1 y, 2 z
  std::optional<CameraHint> camera;  // absent: the renderer chooses one (render/auto_camera.hpp)
  std::vector<std::string> notes;    // deviations from the file, one line each for the user
  Appearance appearance;             // empty if there is none, or none was requested
};

// What to read of a scene; `materials` adds materials and the files of their textures.
enum class Content { geometry, materials };

// Chooses the origin and sets the vertices from the file's coordinates, x y z of each vertex;
// `triangles` must be set. On each axis the origin is 0 unless the centre of the referenced
// vertices is farther from 0 than twice the scene's largest extent; so a terrain far away in x and
// y keeps its heights. Otherwise the origin is the centre, rounded to a multiple of the smallest
// power of two that is no less than the largest extent. At that distance the difference of a
// coordinate in single precision and the origin is exact, and integers stay integers.
void place_vertices(Mesh& mesh, std::span<const double> coordinates);
// Chooses the origin for coordinates that are in `vertices` already, in single precision.
void place_vertices(Mesh& mesh);

// The origin that place_vertices() chooses for these bounds of the referenced vertices.
Vec3d origin_for(const Vec3d& lo, const Vec3d& hi);

// Makes the vertices relative to another origin.
void move_origin(Mesh& mesh, Vec3d origin);

// Throws Error{Exit::scene} if the mesh, read from `source`, has no triangle.
void require_triangles(const Mesh& mesh, const std::string& source);

// Throws Error{Exit::scene} that names the first vertex that is not finite, or the first triangle
// that refers to a vertex that does not exist, or if the appearance does not fit the mesh: by the
// sizes of its arrays, or by an index that is out of range.
void check(const Mesh& mesh, const std::string& source);

// Removes triangles of zero area (equal or collinear corners) and returns their number. Keeps the
// order of the others and all vertices; the appearance stays that of the triangles.
std::size_t drop_degenerate(Mesh& mesh);

// The box of the vertices that triangles refer to; empty for none.
Box bounds(const Mesh& mesh);

}  // namespace heapwood::scenes
