// SPDX-License-Identifier: MIT
#include "scenes/mesh.hpp"

#include <algorithm>
#include <cmath>

#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

// Differences and products of floats in double: a triangle of 1e-20 or 1e20 neither underflows nor overflows, and equal
// products cancel to exactly 0.
bool zero_area(const Corners& t) {
  const double ux = double(t.b.x) - t.a.x, uy = double(t.b.y) - t.a.y, uz = double(t.b.z) - t.a.z;
  const double vx = double(t.c.x) - t.a.x, vy = double(t.c.y) - t.a.y, vz = double(t.c.z) - t.a.z;
  return uy * vz - uz * vy == 0 && uz * vx - ux * vz == 0 && ux * vy - uy * vx == 0;
}

}  // namespace

void check(const Mesh& mesh, const std::string& source) {
  for (std::size_t i = 0; i < mesh.vertices.size(); ++i) {
    const Vec3& p = mesh.vertices[i];
    if (std::isfinite(p.x) && std::isfinite(p.y) && std::isfinite(p.z)) continue;
    throw Error(Exit::scene, source + ": vertex " + std::to_string(i) + " is not finite (" + std::to_string(p.x) +
                                 ", " + std::to_string(p.y) + ", " + std::to_string(p.z) + ")");
  }
  for (std::size_t i = 0; i < mesh.triangles.size(); ++i) {
    for (const std::uint32_t v : mesh.triangles[i].v) {
      if (v < mesh.vertices.size()) continue;
      throw Error(Exit::scene, source + ": triangle " + std::to_string(i) + " refers to vertex " + std::to_string(v) +
                                   ", but there are " + std::to_string(mesh.vertices.size()));
    }
  }
}

std::size_t drop_degenerate(Mesh& mesh) {
  return std::erase_if(mesh.triangles, [&](const Triangle& t) {
    return zero_area({mesh.vertices[t.v[0]], mesh.vertices[t.v[1]], mesh.vertices[t.v[2]]});
  });
}

Box bounds(const Mesh& mesh) {
  Box box;
  for (const Vec3& p : mesh.vertices) box.grow(p);
  return box;
}

}  // namespace heapwood::scenes
