// SPDX-License-Identifier: MIT
// ClosestPointSearch for a warp whose lanes have points next to each other. All lanes visit the
// cells that any of them needs, so that loads and branches are the same in all lanes. Triangles are
// compared in single precision first: only those that may be the closest are tested in double.
#pragma once

#include <array>
#include <cmath>

#include "kdtree/traverse/closest_point.hpp"

namespace heapwood::kdtree {

// Bounds of the distance of a triangle, whose corners are relative to the point. The upper one is
// the distance of a point of the triangle, and the lower one that of the corner that is nearest
// along the direction of this point.
struct DistanceBounds {
  float lower, upper;

  HEAPWOOD_INLINE DistanceBounds(Vec3 a, Vec3 b, Vec3 c) {
    const auto ratio = [](float x, float y) {  // in [0, 1], even if it is NaN
      return simt::min(simt::max(x * simt::approximate_reciprocal(y), 0), 1);
    };
    const Vec3 ab = b - a, ac = c - a;
    const float bb = dot(ab, ab), bc = dot(ab, ac), cc = dot(ac, ac), b0 = -dot(ab, a),
                c0 = -dot(ac, a), square = bb - 2 * bc + cc, along = bb - bc - b0 + c0;
    // The closest points of the edges, and their squares less that of corner a.
    const float on_ab = ratio(b0, bb), on_ac = ratio(c0, cc), on_bc = ratio(along, square),
                to_ab = on_ab * (on_ab * bb - 2 * b0), to_ac = on_ac * (on_ac * cc - 2 * c0),
                to_bc = bb - 2 * b0 + on_bc * (on_bc * square - 2 * along);
    float v = to_ac < to_ab ? 0 : on_ab, w = to_ac < to_ab ? on_ac : 0;
    if (to_bc < simt::min(to_ab, to_ac)) v = 1 - on_bc, w = on_bc;
    // The projection, if it is in the triangle.
    const float area = bb * cc - bc * bc, area_b = cc * b0 - bc * c0, area_c = bb * c0 - bc * b0;
    if (area_b > 0 && area_c > 0 && area - area_b - area_c > 0)
      v = ratio(area_b, area), w = ratio(area_c, area);
    const Vec3 q = a + ab * v + ac * w;
    const float nearest = dot(q, a) + simt::min(0.0f, simt::min(dot(q, ab), dot(q, ac)));
    const float distance = std::sqrt(dot(q, q) + 0x1p-120f);  // not 0
    const float error = 0x1p-18f * (distance + std::sqrt(bb + cc));
    lower = simt::max(nearest * simt::approximate_reciprocal(distance) - error, 0);
    upper = distance + error;
  }
};

class ClosestPacketSearch {
 public:
  // `exact`: a search for the lane's point. A lane that is not active finds nothing.
  template <class Warp>
  static HEAPWOOD_FN ClosestPoint find(const Warp& warp, ClosestPointSearch& exact, bool active) {
    const PointTree& tree = exact.tree_;
    const Vec3 point = exact.point_;
    float slack = exact.slack_, limit = exact.limit_, min_lower = HUGE_VALF;
    if (slack > 0x1p38f) slack = limit = HUGE_VALF;  // squares may overflow: all is listed
    if (!active) limit = -1;
    const auto is_near = [&limit](Vec3 offset) { return dot(offset, offset) <= limit; };
    // Far children to visit later: their offsets and, as bits, their nodes.
    alignas(16) std::array<float, 4> later[max_depth];
    std::uint32_t list[max_listed];  // of triangles that may be the closest
    unsigned top = 0, listed = 0;
    Vec3 offset = point - min(max(point, tree.bounds.lo), tree.bounds.hi);
    detail::NodeWords node = detail::load(tree.nodes);
    for (;;) {
      while (const unsigned kind = node.link & 3u) {
        const unsigned axis = kind - 1;
        const float beyond = detail::select(point, axis) - simt::from_bits(node.first);
        // The near child is the one on the side of most points.
        const std::uint32_t needed = warp.ballot(is_near(offset)),
                            lanes_below = warp.ballot(beyond < 0) & needed;
        const bool below = 2 * simt::popcount(lanes_below) > simt::popcount(needed);
        const Vec3 crossed = set(offset, axis, beyond),
                   far_offset = select(below == (beyond < 0), crossed, offset);
        offset = select(below == (beyond < 0), offset, crossed);
        const std::uint32_t near = (node.link & ~3u) | (below ? 0u : 2u);
        node = detail::load(tree.nodes, near);
        if (warp.any(is_near(far_offset)))
          later[top++] = {far_offset.x, far_offset.y, far_offset.z, simt::from_bits(near ^ 2u)};
      }
      const std::uint32_t last = node.first + (node.link >> 2);
      HEAPWOOD_ROLLED
      for (std::uint32_t k = node.first; k != last; ++k) {
        if (!is_near(offset)) continue;
        const std::uint32_t triangle = simt::load_constant(tree.refs + k);
        const Triangle t = tree.triangles[triangle];
        const auto corner = [&](unsigned i) { return tree.vertices[t.v[i]] - point; };
        const DistanceBounds bounds(corner(0), corner(1), corner(2));
        if (bounds.lower * bounds.lower > limit) continue;
        const float upper = bounds.upper + slack;
        limit = simt::min(upper * upper, limit);
        if (min_lower * min_lower > limit) listed = 0, min_lower = HUGE_VALF;  // all are beyond
        min_lower = simt::min(bounds.lower, min_lower);
        if (listed < max_listed) list[listed] = triangle;
        ++listed;
      }
      std::array<float, 4> next;
      do {
        if (top == 0) return closest_of(exact, limit, list, listed);
        next = later[--top];
        offset = {next[0], next[1], next[2]};
      } while (!warp.any(is_near(offset)));
      node = detail::load(tree.nodes, simt::bits(next[3]));
    }
  }

 private:
  static constexpr unsigned max_listed = 32;
  // Out of line, so that the search needs fewer registers.
  static HEAPWOOD_OUTLINE ClosestPoint closest_of(ClosestPointSearch& exact, float limit,
                                                  const std::uint32_t* list, unsigned listed) {
    exact.limit_ = simt::min(exact.limit_, limit);
    if (listed > max_listed) return exact.find();  // not all are in the list
    HEAPWOOD_ROLLED
    for (unsigned k = 0; k < listed; ++k) exact.test(list[k]);
    return exact.result();
  }
};

}  // namespace heapwood::kdtree
