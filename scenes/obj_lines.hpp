// SPDX-License-Identifier: MIT
// The vertex and face lines of an OBJ file, validated and in plain form, for a reader that trusts its input.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heapwood::scenes::obj {

struct Lines {
  std::string text;  // `v X Y Z` and `f I J K ...` alone: finite numbers, 3 to 255 corners, indices in range
  std::size_t vertices = 0;
  std::size_t faces = 0;  // lines: a polygon of more than 255 corners is several
};

// Throws Error{Exit::scene} naming the first line at fault.
Lines validate(std::string_view text, const std::string& source);

}  // namespace heapwood::scenes::obj
