// SPDX-License-Identifier: MIT
#include "scenes/obj.hpp"

#include <tiny_obj_loader.h>

#include <istream>
#include <streambuf>

#include "scenes/file.hpp"
#include "scenes/obj_lines.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

// Reads from a string without a copy of it.
class StringBuffer : public std::streambuf {
 public:
  explicit StringBuffer(std::string& text) { setg(text.data(), text.data(), text.data() + text.size()); }
};

float squared_distance(Vec3 a, Vec3 b) { return dot(b - a, b - a); }

// The corners of one face as triangles: a quad at its shorter diagonal, anything larger as a fan.
void add_face(Mesh& mesh, const tinyobj::index_t* corners, std::size_t count) {
  const auto id = [&](std::size_t i) { return static_cast<std::uint32_t>(corners[i].vertex_index); };
  const auto at = [&](std::size_t i) { return mesh.vertices[id(i)]; };
  if (count == 4 && squared_distance(at(1), at(3)) < squared_distance(at(0), at(2))) {
    mesh.triangles.push_back({{id(0), id(1), id(3)}});
    mesh.triangles.push_back({{id(1), id(2), id(3)}});
    return;
  }
  for (std::size_t i = 2; i < count; ++i) mesh.triangles.push_back({{id(0), id(i - 1), id(i)}});
}

}  // namespace

Mesh parse_obj(std::string_view text, const std::string& source) {
  const std::string shown = printable(source, source.size());
  obj::Lines lines = obj::validate(text, shown);
  if (lines.faces == 0) throw Error(Exit::scene, shown + ": there is no face in it: is it a Wavefront OBJ file?");

  tinyobj::attrib_t attributes;
  std::vector<tinyobj::shape_t> shapes;
  std::vector<tinyobj::material_t> materials;
  std::string warning, error;
  StringBuffer buffer(lines.text);
  std::istream stream(&buffer);
  if (!tinyobj::LoadObj(&attributes, &shapes, &materials, &warning, &error, &stream, nullptr, false, false)) {
    throw Error(Exit::scene, shown + ": cannot be read: " + printable(error, 200));
  }

  Mesh mesh;
  mesh.name = stem_of(source);
  mesh.vertices.resize(attributes.vertices.size() / 3);
  for (std::size_t i = 0; i < mesh.vertices.size(); ++i) {
    const float* p = &attributes.vertices[3 * i];
    mesh.vertices[i] = {p[0], p[1], p[2]};
  }
  mesh.triangles.reserve(lines.faces);
  for (const tinyobj::shape_t& shape : shapes) {
    std::size_t first = 0;
    for (const std::size_t count : shape.mesh.num_face_vertices) {
      for (std::size_t i = first; i < first + count; ++i) {
        const int index = shape.mesh.indices[i].vertex_index;
        if (index < 0 || static_cast<std::size_t>(index) >= mesh.vertices.size()) {
          throw Error(Exit::scene, shown + ": a face refers to vertex " + std::to_string(index + 1LL) +
                                       ", but there are " + std::to_string(mesh.vertices.size()));
        }
      }
      add_face(mesh, &shape.mesh.indices[first], count);
      first += count;
    }
  }
  check(mesh, shown);
  return mesh;
}

}  // namespace heapwood::scenes
