// SPDX-License-Identifier: MIT
#include "scenes/faces.hpp"

#include <cstdio>

#include "scenes/file.hpp"
#include "scenes/polygon.hpp"

namespace heapwood::scenes {
namespace {

struct Count {
  std::size_t polygons = 0;
  Vec3d first;  // a corner of the first polygon

  void add(const Mesh& mesh, std::uint32_t vertex) {
    if (polygons++ == 0) first = mesh.origin + to_double(mesh.vertices[vertex]);
  }

  std::string text(const char* one, const char* several) const {
    char text[128];
    std::snprintf(text, sizeof(text), "(%.9g, %.9g, %.9g)", first.x, first.y, first.z);
    if (polygons == 1) return std::string("the polygon at ") + text + " " + one;
    return std::to_string(polygons) + " polygons " + several + ", the first at " + text;
  }
};

void corners_of_fan(const Triangle* fan, std::size_t corners, std::vector<std::uint32_t>& ids) {
  ids.assign({fan[0].v[0], fan[0].v[1]});
  for (std::size_t i = 0; i + 2 < corners; ++i) ids.push_back(fan[i].v[2]);
}

void write(std::span<const Triangle> triangles, const std::vector<std::uint32_t>& ids,
           Triangle* to) {
  for (const Triangle& t : triangles) *to++ = {{ids[t.v[0]], ids[t.v[1]], ids[t.v[2]]}};
}

}  // namespace

void Faces::triangulate(Mesh& mesh, const std::string& source) const {
  Triangulator triangulator;
  std::vector<std::uint32_t> ids;
  std::vector<Vec3> corners;
  Count intersecting, too_intricate;
  for (const Polygon& polygon : polygons_) {
    check_interruption();
    Triangle* const fan = &mesh.triangles[polygon.first_triangle];
    corners_of_fan(fan, polygon.corners, ids);
    corners.clear();
    for (const std::uint32_t id : ids) corners.push_back(mesh.vertices[id]);
    switch (triangulator.triangulate(corners)) {
      case Triangulator::Outcome::exact:
        break;
      case Triangulator::Outcome::intersects:
        intersecting.add(mesh, ids[0]);
        break;
      case Triangulator::Outcome::gave_up:
        too_intricate.add(mesh, ids[0]);
        break;
    }
    write(triangulator.triangles(), ids, fan);
    if (uv_triangles_ == nullptr) continue;
    Triangle* const uv_fan = &(*uv_triangles_)[polygon.first_triangle];
    corners_of_fan(uv_fan, polygon.corners, ids);
    write(triangulator.triangles(), ids, uv_fan);
  }
  if (intersecting.polygons > 0) {
    mesh.notes.push_back(source + ": " +
                         intersecting.text("intersects itself", "intersect themselves") +
                         ": areas may be covered twice or not at all");
  }
  if (too_intricate.polygons > 0) {
    mesh.notes.push_back(source + ": " +
                         too_intricate.text("is too intricate", "are too intricate") +
                         ": part of the area is filled outside the outline; split the polygon");
  }
}

}  // namespace heapwood::scenes
