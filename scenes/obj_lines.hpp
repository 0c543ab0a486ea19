// SPDX-License-Identifier: MIT
// The vertex and face lines of an OBJ file, validated and normalized for a reader that trusts its
// input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenes/mesh.hpp"

namespace heapwood::scenes::obj {

// A face of more than 255 corners. tinyobjloader cannot read it: it counts corners in a byte.
struct LargeFace {
  std::size_t place = 0;               // the number of faces in `text` before it
  std::vector<std::uint32_t> corners;  // from 0
};

// The faces from `face` on, counted over all faces of three corners and more, have this material.
struct MaterialRun {
  std::size_t face = 0;
  std::string name;
};

inline constexpr std::uint32_t no_uv = ~std::uint32_t{0};

struct Lines {
  std::string text;  // only valid `v X Y Z` and `f I J K ...`, 3 to 255 corners
  std::size_t vertices = 0;
  std::size_t faces = 0;  // in `text`
  std::vector<LargeFace> large_faces;

  // Set with Content::materials if the file names a material library.
  std::vector<std::string> libraries;  // as written: one name or several
  std::vector<Uv> uvs;
  std::vector<std::uint32_t> corner_uvs;  // of all faces in order; no_uv: none, or out of range
  std::vector<MaterialRun> runs;
};

// Throws Error{Exit::scene} naming the first malformed line. Malformed texture coordinates are
// ignored.
Lines validate(std::string_view text, const std::string& source,
               Content content = Content::geometry);

// The material libraries that the text names, as in Lines.
std::vector<std::string> find_libraries(std::string_view text);

}  // namespace heapwood::scenes::obj
