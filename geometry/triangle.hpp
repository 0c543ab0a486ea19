// SPDX-License-Identifier: MIT
// A triangle of a mesh, by vertex indices or by corner positions.
#pragma once

#include <cstdint>

#include "geometry/box.hpp"

namespace heapwood {

struct Triangle {
  std::uint32_t v[3] = {0, 0, 0};  // indices into the vertex array
  bool operator==(const Triangle&) const = default;
};

struct Corners {
  Vec3 a, b, c;
};

HEAPWOOD_INLINE Box bounds(const Corners& t) {
  return {min(min(t.a, t.b), t.c), max(max(t.a, t.b), t.c)};
}

}  // namespace heapwood
