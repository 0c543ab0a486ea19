// SPDX-License-Identifier: MIT
// The vertex and face lines of an OBJ file, validated and normalized for a reader that trusts its
// input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heapwood::scenes::obj {

// A face that tinyobjloader, which counts corners in a byte, cannot read.
struct LargeFace {
  std::size_t place = 0;               // the number of faces in `text` before it
  std::vector<std::uint32_t> corners;  // from 0
};

struct Lines {
  std::string text;  // only valid `v X Y Z` and `f I J K ...`, 3 to 255 corners
  std::size_t vertices = 0;
  std::size_t faces = 0;  // in `text`
  std::vector<LargeFace> large_faces;
};

// Throws Error{Exit::scene} naming the first malformed line.
Lines validate(std::string_view text, const std::string& source);

}  // namespace heapwood::scenes::obj
