// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "geometry/box.hpp"

namespace heapwood::kdtree {

// A node still to be split, with its refs.
struct alignas(16) NodeTask {
  std::byte* refs;
  std::uint32_t n;
  std::uint32_t node;  // index in the tree
  Box box;
  std::uint32_t depth;
  float scale;  // of the scene, for SplitCost
};
static_assert(sizeof(NodeTask) == 48);

}  // namespace heapwood::kdtree
