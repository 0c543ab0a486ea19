// SPDX-License-Identifier: MIT
// Scenes that are hard for builders: no triangle, one, equal ones, no volume, no area, extreme
// sizes.
#include <cmath>

#include "scenes/exact_math.hpp"
#include "scenes/families.hpp"
#include "scenes/random.hpp"

namespace heapwood::scenes {
namespace {

Vec3 anywhere(Random& random, float size) {
  return {random.uniform(-size, size), random.uniform(-size, size), random.uniform(-size, size)};
}

// Small triangles spread over a cube of edge 2 * size.
Mesh soup(const Request& request, float size) {
  Random random(request.seed);
  const float edge = size / exact::cbrt(static_cast<float>(request.triangles) + 1);
  Mesh mesh;
  for (std::uint32_t i = 0; i < request.triangles; ++i) {
    const Vec3 middle = anywhere(random, size);
    for (unsigned k = 0; k < 3; ++k) mesh.vertices.push_back(middle + anywhere(random, edge));
    mesh.triangles.push_back({{3 * i, 3 * i + 1, 3 * i + 2}});
  }
  mesh.camera = CameraHint{{1.6f * size, 1.2f * size, 3 * size}, {0, 0, 0}, 45};
  return mesh;
}

}  // namespace

Mesh make_empty(const Request&) { return {}; }

Mesh make_single(const Request&) { return make_identical({.triangles = 1}); }

Mesh make_identical(const Request& request) {
  Mesh mesh;
  mesh.vertices = {{-1, -1, 0.5f}, {1, -0.5f, -0.25f}, {0.25f, 1, 0}};
  mesh.triangles.assign(request.triangles, {{0, 1, 2}});
  mesh.camera = CameraHint{{0, 0, 4}, {0, 0, 0}, 45};
  return mesh;
}

Mesh make_flat(const Request& request) {
  Mesh mesh = soup(request, 1);
  for (Vec3& p : mesh.vertices) p.z = 0;
  return mesh;
}

Mesh make_points(const Request& request) {
  Mesh mesh = soup(request, 1);
  const Vec3 point = {0.25f, -0.5f, 0.125f};
  for (std::size_t i = 1; i < mesh.triangles.size(); i += 2) {
    for (const std::uint32_t v : mesh.triangles[i].v) mesh.vertices[v] = point;
  }
  return mesh;
}

Mesh make_tiny(const Request& request) { return soup(request, 1e-20f); }
Mesh make_huge(const Request& request) { return soup(request, 1e20f); }

}  // namespace heapwood::scenes
