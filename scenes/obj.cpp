// SPDX-License-Identifier: MIT
#include "scenes/obj.hpp"

#include <tiny_obj_loader.h>

#include <algorithm>
#include <istream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <streambuf>
#include <type_traits>
#include <utility>

#include "scenes/faces.hpp"
#include "scenes/file.hpp"
#include "scenes/mtl.hpp"
#include "scenes/obj_lines.hpp"
#include "simt/device.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

static_assert(std::is_same_v<tinyobj::real_t, double>, "compile with TINYOBJLOADER_USE_DOUBLE");

// Reads from a string without copying it. Reports the end of the text after Ctrl-C.
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

// Builds the appearance while faces are added in order.
class Look {
 public:
  Look(const std::string& source, obj::Lines& lines, Mesh& mesh)
      : shown_(printable(source, source.size())), lines_(lines), mesh_(mesh) {
    if (lines.libraries.empty()) return;
    mesh.appearance.materials.push_back({.name = "default", .colour = {0.82f, 0.77f, 0.71f}});
    const CompanionFiles files(source);
    TextureFiles textures(source, mesh.appearance);
    for (const std::string& library : lines.libraries) read(library, files, textures);
    textures.report(mesh, shown_);
    if (has_transform_)
      mesh.notes.push_back(shown_ + ": scales and offsets of textures (-s, -o) are ignored");
    if (mesh.appearance.materials.size() == 1) mesh.appearance = {};
    is_textured_ = !mesh.appearance.textures.empty();
    // The last one is for corners without texture coordinates.
    if (is_textured_) lines.uvs.push_back({});
  }

  std::vector<Triangle>* uv_triangles() {
    return is_textured_ ? &mesh_.appearance.uv_triangles : nullptr;
  }
  std::uint32_t next_uv() {
    if (!is_textured_) return 0;
    const std::uint32_t uv = lines_.corner_uvs[corner_++];
    return uv == obj::no_uv ? static_cast<std::uint32_t>(lines_.uvs.size() - 1) : uv;
  }
  void end_face() {
    if (mesh_.appearance.empty()) return;
    for (; run_ < lines_.runs.size() && lines_.runs[run_].face <= face_; ++run_) {
      const auto found = names_.find(lines_.runs[run_].name);
      current_ = found == names_.end() ? 0 : found->second;
    }
    ++face_;
    mesh_.appearance.triangle_materials.resize(mesh_.triangles.size(), current_);
  }
  void finish() {
    if (is_textured_) mesh_.appearance.uvs = std::move(lines_.uvs);
  }

 private:
  // A line may name several libraries, or one whose name has blanks.
  void read(const std::string& library, const CompanionFiles& files, TextureFiles& textures) {
    std::vector<std::string> names{library};
    try {
      files.find(library);
    } catch (const Error&) {
      std::istringstream words(library);
      names.assign(std::istream_iterator<std::string>(words), {});
    }
    for (const std::string& name : names) {
      if (!read_.insert(name).second) continue;
      try {
        const FileBytes file = read_file(files.find_anywhere(name));
        has_transform_ =
            parse_mtl(file.text(), textures, mesh_.appearance, names_) || has_transform_;
      } catch (const simt::Stopped&) {
        throw;
      } catch (const Error& error) {
        mesh_.notes.push_back(shown_ + ": material library " + error.what());
      }
    }
  }

  std::string shown_;
  obj::Lines& lines_;
  Mesh& mesh_;
  std::map<std::string, std::uint32_t, std::less<>> names_;
  std::set<std::string> read_;  // libraries
  std::size_t corner_ = 0, face_ = 0, run_ = 0;
  std::uint32_t current_ = 0;
  bool is_textured_ = false, has_transform_ = false;
};

}  // namespace

Mesh parse_obj(std::string_view text, const std::string& source, Content content) {
  const std::string shown = printable(source, source.size());
  obj::Lines lines = obj::validate(without_byte_order_mark(text), shown, content);

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
  Look look(source, lines, mesh);
  Faces faces(mesh.triangles, look.uv_triangles());
  std::size_t face = 0;
  auto large = lines.large_faces.begin();
  const auto add_large = [&] {
    for (; large != lines.large_faces.end() && large->place == face; ++large) {
      for (const std::uint32_t vertex : large->corners) faces.add_corner(vertex, look.next_uv());
      faces.end_face();
      look.end_face();
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
        faces.add_corner(static_cast<std::uint32_t>(index), look.next_uv());
      }
      faces.end_face();
      look.end_face();
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
  look.finish();
  check(mesh, shown);
  return mesh;
}

}  // namespace heapwood::scenes
