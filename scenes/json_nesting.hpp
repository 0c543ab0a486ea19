// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

namespace heapwood::scenes {

// How deep objects and arrays are nested, without parsing the text: a parser that checks the depth
// in a callback takes time quadratic in the length of lists. The text may be invalid JSON.
std::size_t json_nesting(std::string_view text);

}  // namespace heapwood::scenes
