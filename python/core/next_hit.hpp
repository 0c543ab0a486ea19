// SPDX-License-Identifier: MIT
// All hits of a ray, one search per hit: each finds the next one in the order of distance and, at
// the same distance, of triangle. So no memory per ray is needed, hits come sorted, and a triangle
// that lies in several leaves counts once: its copies give the same distance bit by bit.
//
// The search is the tree's closest-hit traversal (kdtree/traverse/traverse.hpp) with a test that
// rejects what came before. It has to be the watertight test: only with that one does the traversal
// visit every leaf that may hold a hit at the distance found so far.
#pragma once

#include <cmath>
#include <cstdint>

#include "kdtree/traverse/traverse.hpp"

namespace heapwood::python {

using WatertightTree = kdtree::TreeView<kdtree::WatertightIntersection>;

class NextHitTest : public kdtree::WatertightIntersection {
 public:
  // Hits up to (after_t, after_triangle) are rejected; a negative after_t rejects none.
  HEAPWOOD_INLINE NextHitTest(const WatertightTree& tree, const kdtree::Ray& ray, float after_t,
                              std::uint32_t after_triangle)
      : WatertightIntersection(ray),
        records_(tree.records),
        ids_(tree.ids),
        after_t_(after_t),
        after_triangle_(after_triangle) {}

  HEAPWOOD_INLINE bool test(const Record* record, const kdtree::Ray& ray, float lower, float upper,
                            float& t) const {
    float h;
    // Includes the bound itself: the triangle decides between hits at one distance.
    if (!WatertightIntersection::test(record, ray, lower, HUGE_VALF, h)) return false;
    if (!(h <= upper && h < ray.tmax)) return false;
    const std::uint32_t triangle = ids_[record - records_];
    if (h < after_t_ || (h == after_t_ && triangle <= after_triangle_)) return false;
    if (h > best_t_ || (h == best_t_ && triangle >= best_triangle_)) return false;
    best_t_ = h;
    best_triangle_ = triangle;
    t = h;
    return true;
  }

 private:
  const Record* records_;
  const std::uint32_t* ids_;
  float after_t_;
  std::uint32_t after_triangle_;
  // The hit found so far. Mutable: a traversal has a constant test.
  mutable float best_t_ = HUGE_VALF;
  mutable std::uint32_t best_triangle_ = kdtree::no_triangle;
};

// Calls visit(hit) for each hit in order, until it returns false.
template <class Visit>
HEAPWOOD_INLINE void for_each_hit(const WatertightTree& tree, kdtree::Ray ray, Visit visit) {
  float after_t = -1;
  std::uint32_t after_triangle = 0;
  for (;;) {
    kdtree::NoCounters none;
    const kdtree::Hit hit =
        kdtree::closest_hit(tree, NextHitTest(tree, ray, after_t, after_triangle), ray, none);
    if (!hit.found() || !visit(hit)) return;
    ray.tmin = after_t = hit.t;
    after_triangle = hit.triangle;
  }
}

}  // namespace heapwood::python
