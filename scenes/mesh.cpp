// SPDX-License-Identifier: MIT
#include "scenes/mesh.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

// Whether the triangle has area 0. Differences and products of floats are computed in double, so
// that triangles of size 1e-20 or 1e20 neither underflow nor overflow, and equal products cancel to
// exactly 0.
bool zero_area(const Corners& t) {
  const Vec3d a = to_double(t.a);
  return cross(to_double(t.b) - a, to_double(t.c) - a) == Vec3d{};
}

double origin_of(double lo, double hi, double extent) {
  const double centre = lo / 2 + hi / 2;
  if (!(extent > 0) || std::abs(centre) <= 2 * extent) return 0;
  int exponent = 0;
  const double fraction = std::frexp(extent, &exponent);
  const double unit = std::ldexp(1.0, fraction == 0.5 ? exponent - 1 : exponent);
  return std::round(centre / unit) * unit;
}

// vertex(i) returns the coordinates of vertex i.
template <class F>
Vec3d choose_origin(const Mesh& mesh, const F& vertex) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  Vec3d lo{infinite, infinite, infinite}, hi{-infinite, -infinite, -infinite};
  for (const Triangle& triangle : mesh.triangles) {
    for (const std::uint32_t v : triangle.v) {
      const Vec3d p = vertex(v);
      lo = {std::min(lo.x, p.x), std::min(lo.y, p.y), std::min(lo.z, p.z)};
      hi = {std::max(hi.x, p.x), std::max(hi.y, p.y), std::max(hi.z, p.z)};
    }
  }
  return mesh.triangles.empty() ? Vec3d{} : origin_for(lo, hi);
}

// Clamps to the range of a float: a vertex that no triangle refers to may be out of range once it
// is relative to the origin.
float clamped(double x) {
  constexpr double limit = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(x, -limit, limit));
}
Vec3 relative(Vec3d p, Vec3d origin) {
  const Vec3d d = p - origin;
  return {clamped(d.x), clamped(d.y), clamped(d.z)};
}

// Checks that the appearance has an entry per triangle or vertex, and that its indices are in
// range.
void check_appearance(const Mesh& mesh, const std::string& source) {
  const Appearance& a = mesh.appearance;
  const auto has_size = [](std::size_t size, std::size_t wanted) {
    return size == 0 || size == wanted;
  };
  if (!has_size(a.triangle_materials.size(), mesh.triangles.size()) ||
      !has_size(a.uv_triangles.size(), mesh.triangles.size()) ||
      !has_size(a.vertex_colours.size(), mesh.vertices.size()) ||
      (a.uv_triangles.empty() && !has_size(a.uvs.size(), mesh.vertices.size()))) {
    throw Error(Exit::scene, source + ": the number of materials, texture coordinates or colours " +
                                 "is not that of the triangles or vertices");
  }

  bool in_range = true;
  for (const std::uint32_t material : a.triangle_materials)
    in_range = in_range && material < a.materials.size();
  for (const Triangle& t : a.uv_triangles) {
    for (const std::uint32_t uv : t.v) in_range = in_range && uv < a.uvs.size();
  }
  for (const Material& m : a.materials) {
    for (const std::uint32_t texture : {m.texture, m.emission_texture})
      in_range = in_range && (texture == no_texture || texture < a.textures.size());
  }
  if (!in_range) {
    throw Error(Exit::scene,
                source + ": an index of materials, textures or coordinates is out of range");
  }
}

}  // namespace

Vec3d origin_for(const Vec3d& lo, const Vec3d& hi) {
  const Vec3d size = hi - lo;
  const double extent = std::max({size.x, size.y, size.z});
  return {origin_of(lo.x, hi.x, extent), origin_of(lo.y, hi.y, extent),
          origin_of(lo.z, hi.z, extent)};
}

void place_vertices(Mesh& mesh, std::span<const double> coordinates) {
  const auto vertex = [&](std::size_t i) {
    return Vec3d{coordinates[3 * i], coordinates[3 * i + 1], coordinates[3 * i + 2]};
  };
  mesh.origin = choose_origin(mesh, vertex);
  mesh.vertices.resize(coordinates.size() / 3);
  for (std::size_t i = 0; i < mesh.vertices.size(); ++i)
    mesh.vertices[i] = relative(vertex(i), mesh.origin);
}

void place_vertices(Mesh& mesh) {
  move_origin(mesh,
              choose_origin(mesh, [&](std::size_t i) { return to_double(mesh.vertices[i]); }));
}

void move_origin(Mesh& mesh, Vec3d origin) {
  if (mesh.origin == origin) return;
  for (Vec3& p : mesh.vertices) p = relative(to_double(p) + mesh.origin, origin);
  mesh.origin = origin;
}

void require_triangles(const Mesh& mesh, const std::string& source) {
  if (!mesh.triangles.empty()) return;
  throw Error(Exit::scene, source + ": it contains no triangle; points and lines cannot be traced");
}

void check(const Mesh& mesh, const std::string& source) {
  for (std::size_t i = 0; i < mesh.vertices.size(); ++i) {
    const Vec3& p = mesh.vertices[i];
    if (is_finite(p)) continue;
    throw Error(Exit::scene, source + ": vertex " + std::to_string(i) + " is not finite (" +
                                 std::to_string(p.x) + ", " + std::to_string(p.y) + ", " +
                                 std::to_string(p.z) + ")");
  }
  for (std::size_t i = 0; i < mesh.triangles.size(); ++i) {
    for (const std::uint32_t v : mesh.triangles[i].v) {
      if (v < mesh.vertices.size()) continue;
      throw Error(Exit::scene, source + ": triangle " + std::to_string(i) + " refers to vertex " +
                                   std::to_string(v) + ", but there are " +
                                   std::to_string(mesh.vertices.size()));
    }
  }
  check_appearance(mesh, source);
}

std::size_t drop_degenerate(Mesh& mesh) {
  const auto has_zero_area = [&](const Triangle& t) {
    return zero_area({mesh.vertices[t.v[0]], mesh.vertices[t.v[1]], mesh.vertices[t.v[2]]});
  };
  std::vector<std::uint32_t>& materials = mesh.appearance.triangle_materials;
  std::vector<Triangle>& uvs = mesh.appearance.uv_triangles;
  if (materials.empty() && uvs.empty()) return std::erase_if(mesh.triangles, has_zero_area);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < mesh.triangles.size(); ++i) {
    if (has_zero_area(mesh.triangles[i])) continue;
    mesh.triangles[kept] = mesh.triangles[i];
    if (!materials.empty()) materials[kept] = materials[i];
    if (!uvs.empty()) uvs[kept] = uvs[i];
    ++kept;
  }
  const std::size_t dropped = mesh.triangles.size() - kept;
  mesh.triangles.resize(kept);
  if (!materials.empty()) materials.resize(kept);
  if (!uvs.empty()) uvs.resize(kept);
  return dropped;
}

Box bounds(const Mesh& mesh) {
  Box box;
  for (const Triangle& triangle : mesh.triangles) {
    for (const std::uint32_t v : triangle.v) box.grow(mesh.vertices[v]);
  }
  return box;
}

}  // namespace heapwood::scenes
