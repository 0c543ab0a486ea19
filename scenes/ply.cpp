// SPDX-License-Identifier: MIT
#include "scenes/ply.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "scenes/file.hpp"
#include "scenes/ply_header.hpp"
#include "scenes/ply_readers.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {
namespace ply {
namespace {

template <class Reader>
class Body {
 public:
  Body(const Header& header, const Place& place) : header_(header), place_(place), reader_(place, header.body) {}

  Mesh run() {
    const Element* vertices = only("vertex");
    const Element* faces = only("face");
    if (vertices == nullptr) place_.fail(header_.body, "there is no element `vertex`");
    if (faces == nullptr) place_.fail(header_.body, "there is no element `face`: points alone cannot be traced");
    if (vertices->count >= std::numeric_limits<std::uint32_t>::max()) {
      place_.fail(header_.body, std::to_string(vertices->count) + " vertices are more than 32-bit indices can name");
    }
    vertex_count_ = vertices->count;
    for (const Element& element : header_.elements) {
      current_.element = &element;
      if (element.properties.empty()) {
        if (element.count != 0 && (&element == vertices || &element == faces)) {
          place_.fail(header_.body, "element `" + element.name + "` has no properties");
        }
        continue;  // takes no bytes, whatever its count
      }
      require_room(element);
      if (&element == vertices) {
        read_vertices(element);
      } else if (&element == faces) {
        read_faces(element);
      } else {
        skip(element);
      }
    }
    return std::move(mesh_);
  }

 private:
  const Element* only(std::string_view name) const {
    const Element* found = nullptr;
    for (const Element& element : header_.elements) {
      if (element.name != name) continue;
      if (found != nullptr) place_.fail(header_.body, "element `" + std::string(name) + "` stands there twice");
      found = &element;
    }
    return found;
  }

  const Property& only(const Element& element, std::string_view name, std::string_view other, bool list) const {
    const Property* found = nullptr;
    for (const Property& property : element.properties) {
      if (property.name != name && property.name != other) continue;
      if (found != nullptr) place_.fail(header_.body, "property `" + property.name + "` stands there twice");
      if (property.list_count.has_value() != list) {
        place_.fail(header_.body, "property `" + property.name + (list ? "` must be a list" : "` must not be a list"));
      }
      found = &property;
    }
    if (found == nullptr) {
      place_.fail(header_.body, "element `" + element.name + "` has no property `" + std::string(name) + "`");
    }
    return *found;
  }

  // Refuses a count that the rest of the file cannot hold, before anything is allocated for it.
  void require_room(const Element& element) const {
    std::size_t smallest = 0;
    for (const Property& p : element.properties) smallest += Reader::smallest(p.list_count.value_or(p.type));
    if (element.count <= (reader_.left() + 1) / smallest) return;
    place_.fail(reader_.offset(), std::to_string(element.count) + " of `" + printable(element.name) +
                                      "` are claimed, each of at least " + std::to_string(smallest) +
                                      " bytes, but only " + std::to_string(reader_.left()) + " follow");
  }

  std::uint64_t length(const Property& property) {
    const std::size_t begin = reader_.offset();
    const double n = reader_.read(*property.list_count, current_);
    if (!(n >= 0 && n < 4294967296.0 && n == std::floor(n))) {
      place_.fail(begin, "a list in " + current_.text() + " has a length of " + number(n));
    }
    return static_cast<std::uint64_t>(n);
  }

  void skip(const Property& property) {
    reader_.skip(property.type, property.list_count ? length(property) : 1, current_);
  }

  void skip(const Element& element) {
    for (current_.index = 0; current_.index < element.count; ++current_.index) {
      for (const Property& property : element.properties) skip(property);
    }
  }

  void read_vertices(const Element& element) {
    const Property* axes[] = {&only(element, "x", "x", false), &only(element, "y", "y", false),
                              &only(element, "z", "z", false)};
    mesh_.vertices.reserve(element.count);
    for (current_.index = 0; current_.index < element.count; ++current_.index) {
      const std::size_t begin = reader_.offset();
      float p[3] = {};
      for (const Property& property : element.properties) {
        unsigned axis = 0;
        while (axis < 3 && axes[axis] != &property) ++axis;
        if (axis == 3) {
          skip(property);
        } else {
          p[axis] = static_cast<float>(reader_.read(property.type, current_));
        }
      }
      if (!(std::isfinite(p[0]) && std::isfinite(p[1]) && std::isfinite(p[2]))) {
        place_.fail(after_space(begin), current_.text() + " is not finite");
      }
      mesh_.vertices.push_back({p[0], p[1], p[2]});
    }
  }

  void read_faces(const Element& element) {
    const Property& corners = only(element, "vertex_indices", "vertex_index", true);
    // Triangles are what most files hold; the count alone may be of faces of one byte.
    const std::size_t triangle = Reader::smallest(*corners.list_count) + 3 * Reader::smallest(corners.type);
    mesh_.triangles.reserve(std::min<std::uint64_t>(element.count, reader_.left() / triangle + 1));
    for (current_.index = 0; current_.index < element.count; ++current_.index) {
      for (const Property& property : element.properties) {
        if (&property == &corners) {
          read_face(property);
        } else {
          skip(property);
        }
      }
    }
  }

  void read_face(const Property& property) {
    const std::uint64_t n = length(property);
    Triangle fan;
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::size_t begin = reader_.offset();
      const double index = reader_.read(property.type, current_);
      if (!(index >= 0 && index < static_cast<double>(vertex_count_) && index == std::floor(index))) {
        place_.fail(after_space(begin), current_.text() + " refers to vertex " + number(index) + ", but there are " +
                                            std::to_string(vertex_count_));
      }
      fan.v[std::min<std::uint64_t>(i, 2)] = static_cast<std::uint32_t>(index);
      if (i < 2) continue;
      mesh_.triangles.push_back(fan);
      fan.v[1] = fan.v[2];
    }
  }

  // In text, a value begins behind the line break, on whose line the fault is.
  std::size_t after_space(std::size_t offset) const {
    if (!place_.lines) return offset;
    while (offset < place_.file.size() && std::isspace(static_cast<unsigned char>(place_.file[offset]))) ++offset;
    return offset;
  }

  static std::string number(double x) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof(text), x).ptr};
  }

  const Header& header_;
  const Place& place_;
  Reader reader_;
  Current current_;
  std::uint64_t vertex_count_ = 0;
  Mesh mesh_;
};

Mesh parse(std::span<const std::byte> file, const std::string& source) {
  const Header header = parse_header(file, source);
  const Place place{file, source, header.format == Format::ascii};
  switch (header.format) {
    case Format::ascii:
      return Body<AsciiReader>(header, place).run();
    case Format::little:
      return Body<BinaryReader<Format::little>>(header, place).run();
    case Format::big:
      break;
  }
  return Body<BinaryReader<Format::big>>(header, place).run();
}

}  // namespace
}  // namespace ply

Mesh parse_ply(std::span<const std::byte> file, const std::string& source) {
  Mesh mesh = ply::parse(file, printable(source, source.size()));
  mesh.name = stem_of(source);
  return mesh;
}

void write_ply(const Mesh& mesh, const std::string& path) {
  const std::string header =
      "ply\nformat binary_little_endian 1.0\ncomment written by heapwood\nelement vertex " +
      std::to_string(mesh.vertices.size()) + "\nproperty float x\nproperty float y\nproperty float z\nelement face " +
      std::to_string(mesh.triangles.size()) + "\nproperty list uchar int vertex_indices\nend_header\n";
  constexpr std::size_t face_bytes = 1 + sizeof(Triangle);
  std::vector<std::byte> faces(mesh.triangles.size() * face_bytes);
  for (std::size_t i = 0; i < mesh.triangles.size(); ++i) {
    faces[i * face_bytes] = std::byte{3};
    std::memcpy(&faces[i * face_bytes + 1], &mesh.triangles[i], sizeof(Triangle));
  }
  write_file(path, {std::as_bytes(std::span(header)), std::as_bytes(std::span(mesh.vertices)), faces});
}

}  // namespace heapwood::scenes
