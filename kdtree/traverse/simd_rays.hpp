// SPDX-License-Identifier: MIT
// Closest and any hits of many rays by one CPU thread, bit-identical to those of closest_hit() and
// any_hit(), but faster. Packets of eight rays traverse the tree together in the lanes of vectors
// (Wald, Slusallek, Benthin, Wagner 2001, "Interactive rendering with coherent ray tracing"). The
// rays of a packet have the same signs of direction, so they agree on the order of children. Each
// ray has its own interval in every node, and is active only in nodes that it would visit alone.
//
// On a processor without vectors of eight, rays are traced one by one: packets would be two to
// three times slower there.
//
// A node is loaded once for all rays that visit it, so rays that start near each other should be
// adjacent. Rays that do not start in one point are sorted first (ray_order.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kdtree/traverse/traverse.hpp"

namespace heapwood::kdtree {

// Max rays that are sorted together.
inline constexpr std::size_t ray_span = 65536;

// The hits of any number of rays. Within a span, blocks of 4,096 rays are grouped by the signs of
// their directions.
void closest_hits(const TreeView<FastIntersection>& tree, const Ray* rays, Hit* hits,
                  std::size_t count);

// Sets `blocked` to 1 for each ray that hits anything, else to 0 (any_hit()). The rays are not
// sorted, only grouped by their signs in blocks of 4,096: adjacent rays should start near each
// other.
void any_hits(const TreeView<FastIntersection>& tree, const Ray* rays, std::uint8_t* blocked,
              std::size_t count);

}  // namespace heapwood::kdtree
