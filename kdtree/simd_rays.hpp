// SPDX-License-Identifier: MIT
// Closest hits of many rays by one CPU thread: the very hits of closest_hit(), to the bit, sooner. Eight rays at a time go through
// the tree together, in the lanes of vectors (Wald, Slusallek, Benthin, Wagner 2001, "Interactive rendering with coherent ray
// tracing"). Those that do have the same signs of direction, so that they agree on the order of children; each has its own
// interval in every node, and takes part only where it would go alone.
// On a processor without vectors of eight, rays go one by one: by eights they would be two to three times slower there.
// A node is read once for all that visit it, so rays that start near each other should be near each other: those that do not start
// in one point are brought into that order first (ray_order.hpp).
#pragma once

#include <cstddef>

#include "kdtree/traverse.hpp"

namespace heapwood::kdtree {

// So many at most are brought into order with each other.
inline constexpr std::size_t ray_span = 65536;

// Any number of rays. Within a span they are sorted by their signs, too, in blocks of a few thousand.
void closest_hits(const TreeView<FastIntersection>& tree, const Ray* rays, Hit* hits, std::size_t count);

}  // namespace heapwood::kdtree
