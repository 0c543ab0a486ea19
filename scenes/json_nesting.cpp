// SPDX-License-Identifier: MIT
#include "scenes/json_nesting.hpp"

#include <algorithm>

namespace heapwood::scenes {

std::size_t json_nesting(std::string_view text) {
  std::size_t depth = 0, max_depth = 0;
  bool is_in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_in_string && c == '\\') {
      ++i;  // what is escaped ends no string
    } else if (c == '"') {
      is_in_string = !is_in_string;
    } else if (!is_in_string && (c == '{' || c == '[')) {
      max_depth = std::max(max_depth, ++depth);
    } else if (!is_in_string && (c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return max_depth;
}

}  // namespace heapwood::scenes
