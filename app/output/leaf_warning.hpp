// SPDX-License-Identifier: MIT
// Warns of trees that are slow to trace because one leaf holds very many refs.
#pragma once

#include <cstdint>
#include <string>

namespace heapwood::app {

// One line on standard error if a leaf of a scene's tree has more than 1,000 refs. Only for
// complete trees: an incomplete one has large leaves for lack of memory and its own warning.
void warn_of_large_leaf(const std::string& scene, std::uint32_t largest_leaf);

}  // namespace heapwood::app
