// SPDX-License-Identifier: MIT
#include "scenes/obj.hpp"

#include <tiny_obj_loader.h>

#include <algorithm>
#include <istream>
#include <streambuf>
#include <type_traits>

#include "scenes/faces.hpp"
#include "scenes/file.hpp"
#include "scenes/obj_lines.hpp"
#include "simt/device.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

static_assert(std::is_same_v<tinyobj::real_t, double>, "compile with TINYOBJLOADER_USE_DOUBLE");

// Reads from a string without a copy of it. The text seems to end at Ctrl-C.
class StringBuffer : public std::streambuf {
 public:
  explicit StringBuffer(std::string& text) : text_(text) { next_piece(0); }

 protected:
  int_type underflow() override {
    const auto at = static_cast<std::size_t>(gptr() - text_.data());
    if (at == text_.size() || simt::interrupted()) return traits_type::eof();
    next_piece(at);
    return traits_type::to_int_type(*gptr());
  }

 private:
  void next_piece(std::size_t from) {
    char* const begin = text_.data() + from;
    setg(begin, begin, begin + std::min(text_.size() - from, std::size_t{1} << 16));
  }
  std::string& text_;
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
  const bool loaded = tinyobj::LoadObj(&attributes, &shapes, &materials, &warning, &error, &stream,
                                       nullptr, false, false);
  check_interruption();
  if (!loaded) {
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
      check_interruption();
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
