// SPDX-License-Identifier: MIT
#include "scenes/obj.hpp"

#include <tiny_obj_loader.h>

#include <istream>
#include <streambuf>
#include <type_traits>

#include "scenes/faces.hpp"
#include "scenes/file.hpp"
#include "scenes/obj_lines.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

static_assert(std::is_same_v<tinyobj::real_t, double>, "compile with TINYOBJLOADER_USE_DOUBLE");

// Reads from a string without a copy of it.
class StringBuffer : public std::streambuf {
 public:
  explicit StringBuffer(std::string& text) {
    setg(text.data(), text.data(), text.data() + text.size());
  }
};

}  // namespace

Mesh parse_obj(std::string_view text, const std::string& source) {
  const std::string shown = printable(source, source.size());
  obj::Lines lines = obj::validate(without_byte_order_mark(text), shown);

  tinyobj::attrib_t attributes;
  std::vector<tinyobj::shape_t> shapes;
  std::vector<tinyobj::material_t> materials;
  std::string warning, error;
  StringBuffer buffer(lines.text);
  std::istream stream(&buffer);
  if (!tinyobj::LoadObj(&attributes, &shapes, &materials, &warning, &error, &stream, nullptr, false,
                        false)) {
    throw Error(Exit::scene, shown + ": cannot be read: " + printable(error, 200));
  }
  lines.text = {};

  Mesh mesh;
  mesh.name = printable(stem_of(source), source.size());
  mesh.triangles.reserve(lines.faces);
  const std::size_t vertices = attributes.vertices.size() / 3;
  Faces faces(mesh.triangles);
  std::size_t face = 0;
  auto large = lines.large_faces.begin();
  const auto add_large = [&] {
    for (; large != lines.large_faces.end() && large->place == face; ++large) {
      for (const std::uint32_t vertex : large->corners) faces.add_corner(vertex);
      faces.end_face();
    }
  };
  for (const tinyobj::shape_t& shape : shapes) {
    std::size_t first = 0;
    for (const std::size_t count : shape.mesh.num_face_vertices) {
      add_large();
      for (std::size_t i = first; i < first + count; ++i) {
        const int index = shape.mesh.indices[i].vertex_index;
        if (index < 0 || static_cast<std::size_t>(index) >= vertices) {
          throw Error(Exit::scene, shown + ": a face refers to vertex " +
                                       std::to_string(index + 1LL) + ", but there are " +
                                       std::to_string(vertices));
        }
        faces.add_corner(static_cast<std::uint32_t>(index));
      }
      faces.end_face();
      first += count;
      ++face;
    }
  }
  add_large();
  shapes = {};
  require_triangles(mesh, shown);
  place_vertices(mesh, attributes.vertices);
  attributes = {};
  faces.triangulate(mesh, shown);
  check(mesh, shown);
  return mesh;
}

}  // namespace heapwood::scenes
