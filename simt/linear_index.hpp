// SPDX-License-Identifier: MIT
// The index of a thread in its block, or of a block in its grid: x varies fastest. CUDA fills the
// warps of a block in this order.
#pragma once

#include "simt/config.hpp"

namespace heapwood::simt {

struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};

HEAPWOOD_INLINE constexpr unsigned linear_index(Index3 at, Index3 size) {
  return (at.z * size.y + at.y) * size.x + at.x;
}

}  // namespace heapwood::simt
