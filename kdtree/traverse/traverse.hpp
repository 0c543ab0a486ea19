// SPDX-License-Identifier: MIT
// Closest hit and any hit of a ray in a k-d tree: front to back, with a stack of far children (Wald
// 2004, "Realtime ray tracing and interactive global illumination", section 7.2). Shared by CPU and
// GPU; a template over the intersection test (intersect.hpp) and a work counter.
//
// Differences, chosen by measurements on an H200 (docs/rays.md): the direction's sign alone orders
// the children, so planes behind the origin need no case of their own; the next node is loaded
// before the far child is pushed, and the push has no branch around it; a hit beyond the leaf's
// interval is recorded and the search continues, so rounding and flat triangles in planes lose no
// hit; u and v are computed once, for the final hit.
//
// The fast test enlarges thin triangles. If the closest hit is one of them, it is confirmed by the
// watertight test, and if that rejects it, the ray is traced again with that test. This, and rays
// from far away or along the sides of the scene's box, is out of line (trace_exactly()), so that it
// costs the search no registers.
//
// For a conservative intersection test, cells overlap by the rounding errors of plane distances, a
// ray that lies in a plane visits both sides, and a stack entry holds its whole interval.
//
// Limits: depth at most max_depth (the stack), tmin >= 0.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include "kdtree/traverse/intersect.hpp"
#include "kdtree/tree.hpp"
#include "simt/scratch.hpp"

namespace heapwood::kdtree {

// The largest coordinate from which the fast test traces rays. Negative for a scene so far from the
// origin that this test is not precise enough: all of its rays are traced exactly.
inline float max_origin_of(const Box& bounds) {
  // Coordinates then err by 2^-15 of the diagonal.
  constexpr float max_distance_in_diagonals = 512;
  const float reach = reach_of(bounds);
  return reach > max_distance_in_diagonals * length(bounds.extent()) ? -1 : max_origin * reach;
}

// A tree in the memory of a device, as kernels receive it.
template <class Intersection>
struct TreeView {
  const Node* nodes;
  const typename Intersection::Record* records;  // one per ref
  const std::uint32_t* ids;                      // triangle id of each record
  Box bounds;
  float slack;       // diagonal_slack * diagonal of the bounds
  float max_origin;  // rays from larger coordinates are traced by trace_exactly()
  const Vec3* vertices;
  const Triangle* triangles;

  TreeView(const Node* of_nodes, const typename Intersection::Record* of_records,
           const std::uint32_t* of_ids, const Box& box, const Vec3* of_vertices,
           const Triangle* of_triangles)
      : nodes(of_nodes),
        records(of_records),
        ids(of_ids),
        bounds(box),
        slack(box.empty() ? 0 : Intersection::diagonal_slack * length(box.extent())),
        max_origin(box.empty() ? 0 : max_origin_of(box)),
        vertices(of_vertices),
        triangles(of_triangles) {}

  HEAPWOOD_INLINE Corners corners(std::uint32_t record) const {
    const Triangle t = triangles[ids[record]];
    return {vertices[t.v[0]], vertices[t.v[1]], vertices[t.v[2]]};
  }
};

// A test for the trees of an intersection test: the same one, or one derived from it that accepts
// fewer hits.
template <class Test, class Intersection>
concept TestFor = std::derived_from<Test, Intersection>;

// Counters of one ray's work. NoCounters compiles to nothing.
struct NoCounters {
  HEAPWOOD_INLINE void inner() {}
  HEAPWOOD_INLINE void leaf(std::uint32_t) {}
  HEAPWOOD_INLINE void test() {}
  HEAPWOOD_INLINE void hit() {}
};
struct Counters {
  std::uint32_t inner_steps = 0;
  std::uint32_t leaves = 0;    // empty ones included
  std::uint32_t tests = 0;     // triangle tests
  std::uint32_t hit_leaf = 0;  // refs in the leaf where the last hit was found

  HEAPWOOD_INLINE void inner() { ++inner_steps; }
  HEAPWOOD_INLINE void leaf(std::uint32_t count) {
    ++leaves;
    leaf_size_ = count;
  }
  HEAPWOOD_INLINE void test() { ++tests; }
  HEAPWOOD_INLINE void hit() { hit_leaf = leaf_size_; }

 private:
  std::uint32_t leaf_size_ = 0;
};

namespace detail {

struct NodeWords {
  std::uint32_t first, link;  // `first` is the bits of the plane in an inner node
};
HEAPWOOD_INLINE NodeWords load(const Node* node) {
  return std::bit_cast<NodeWords>(simt::load_constant(node));
}

// Nodes are addressed by twice their index, so that a link without its axis is the address of the
// pair below it, and bit 1 is the side.
HEAPWOOD_INLINE NodeWords load(const Node* nodes, std::uint32_t place) {
  return load(reinterpret_cast<const Node*>(reinterpret_cast<const std::byte*>(nodes) +
                                            std::size_t{place} * 4));
}

// Children to visit later, with the ray's interval in each. The interval usually begins where the
// one before it ended; cells that overlap by rounding store their own begin.
template <bool conservative>
class FarChildren {
 public:
  using Memory = simt::LocalStackMemory<max_depth>;

  HEAPWOOD_INLINE explicit FarChildren(Memory& memory) : stack_(memory) {}
  HEAPWOOD_INLINE void push(std::uint32_t place, float, float end) { stack_.push(place, end); }
  // False: the stack is empty.
  HEAPWOOD_INLINE bool pop(std::uint32_t& place, float& begin, float& end) {
    if (stack_.empty()) return false;
    begin = end;
    stack_.pop(place, end);
    return true;
  }

 private:
  simt::LocalStack stack_;
};
template <>
class FarChildren<true> {
 public:
  struct Entry {
    std::uint32_t place;
    float begin, end;
  };
  using Memory = Entry[max_depth];

  HEAPWOOD_INLINE explicit FarChildren(Memory& memory) : entries_(memory) {}
  HEAPWOOD_INLINE void push(std::uint32_t place, float begin, float end) {
    entries_[top_++] = {place, begin, end};
  }
  HEAPWOOD_INLINE bool pop(std::uint32_t& place, float& begin, float& end) {
    if (top_ == 0) return false;
    --top_;
    place = entries_[top_].place;
    begin = entries_[top_].begin;
    end = entries_[top_].end;
    return true;
  }

 private:
  Entry* entries_;
  unsigned top_ = 0;
};

// The part of the ray inside the box. False if there is none.
template <class Intersection>
HEAPWOOD_INLINE bool clip(const Intersection& test, const Ray& ray, const Box& box, float& begin,
                          float& end) {
  begin = ray.tmin;
  end = ray.tmax;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const auto slope = test.slope(axis);
    // the same sign as the slope's, also for zeros
    const bool negative = simt::bits(select(ray.direction, axis)) >> 31 != 0;
    const float lo = select(box.lo, axis), hi = select(box.hi, axis);
    begin = simt::max(
        test.plane(ray, axis, negative ? hi : lo, slope) * (1 - Intersection::plane_slack), begin);
    end = simt::min(
        test.plane(ray, axis, negative ? lo : hi, slope) * (1 + Intersection::plane_slack), end);
  }
  return begin <= end;
}

// Finds the closest hit (or any hit). Returns its record's index, or no_triangle; `closest` is its
// distance. FromFar: visits the far child of a node first, and pushes the near one with the begin
// of its interval, which ends where the one before it began.
template <bool Any, bool FromFar = false, class Intersection, class Test, class Count>
HEAPWOOD_INLINE std::uint32_t traverse(const TreeView<Intersection>& tree, const Test& test,
                                       const Ray& ray, float& closest, Count& count) {
  static_assert(!FromFar || (Any && !Test::conservative));
  typename FarChildren<Test::conservative>::Memory memory;
  FarChildren<Test::conservative> later(memory);
  std::uint32_t found = no_triangle;
  closest = ray.tmax;

  // Clip the ray to the root's box.
  float begin, end;
  if (!clip(test, ray, tree.bounds, begin, end)) return found;
  NodeWords node = load(tree.nodes);
  for (;;) {
    // Descend to a leaf.
    while (const unsigned kind = node.link & 3u) {
      count.inner();
      // Find where the ray meets the plane, and which children its interval reaches.
      const unsigned axis = kind - 1;
      const auto slope = test.slope(axis);
      const float at = test.plane(ray, axis, simt::from_bits(node.first), slope);
      std::uint32_t child = Test::near_child(node.link, slope);
      const bool far_only = at * (1 + Test::plane_slack) < begin;
      // Written so that NaN (the ray lies in the plane) selects both children.
      const bool both = !far_only && !(at * (1 - Test::plane_slack) > end);
      // Visit the nearer of them, and push the other one.
      if (far_only || (FromFar && both)) child ^= 2u;
      node = load(tree.nodes, child);
      if (both) {
        if constexpr (FromFar) {
          later.push(child ^ 2u, at, begin);
          begin = at;
        } else if constexpr (Test::conservative) {
          const bool within = at == at;
          later.push(child ^ 2u, within ? simt::max(at * (1 - Test::plane_slack), begin) : begin,
                     end);
          end = within ? simt::min(at * (1 + Test::plane_slack), end) : end;
        } else {
          later.push(child ^ 2u, at, end);
          end = at;
        }
      }
    }
    // Test the leaf's triangles. A hit shortens the ray.
    const std::uint32_t first = node.first, last = first + (node.link >> 2);
    count.leaf(last - first);
    if (first != last) {
      // Triangles far outside the leaf's interval belong to another leaf.
      float lower = ray.tmin, upper = closest;
      if constexpr (Test::culls) {
        const float slack = test.slack();
        lower = simt::max(begin * (1 - Test::relative_slack) - slack, lower);
        upper = simt::min(end * (1 + Test::relative_slack) + slack, upper);
      }
      HEAPWOOD_ROLLED
      for (std::uint32_t k = first; k != last; ++k) {
        count.test();
        if (test.test(tree.records + k, ray, lower, upper, upper)) {
          simt::keep_branch();
          closest = upper;
          found = k;
          count.hit();
          if constexpr (Any) return found;
        }
      }
    }
    // Continue with the nearest child on the stack, unless the hit lies before it.
    std::uint32_t place;
    if constexpr (Test::conservative) {
      // Cells overlap, so a closer hit may be in any entry that begins before the hit.
      do {
        if (!later.pop(place, begin, end)) return found;
      } while (closest < begin);
    } else if constexpr (FromFar) {
      if (!later.pop(place, end, begin)) return found;
    } else {
      if (closest <= end || !later.pop(place, begin, end)) return found;
    }
    node = load(tree.nodes, place);
  }
}

// The watertight test for a tree of plane records, with the corners of the mesh. Accepts the hits
// that `Test` accepts.
template <class Intersection, class Test>
class ExactIntersection : public WatertightIntersection {
 public:
  using Record = typename Intersection::Record;

  HEAPWOOD_INLINE ExactIntersection(const TreeView<Intersection>& tree, const Test& test,
                                    const Ray& ray)
      : WatertightIntersection(ray), tree_(&tree), test_(&test) {}

  HEAPWOOD_INLINE bool test(const Record* record, const Ray& ray, float lower, float upper,
                            float& t) const {
    float h, u, v;
    const auto k = static_cast<std::uint32_t>(record - tree_->records);
    if (!solve(tree_->corners(k), ray, lower, upper, h, u, v)) return false;
    if (!is_hittable(record->plane) || !test_->accepts(record, ray, h)) return false;
    t = h;
    return true;
  }

 private:
  const TreeView<Intersection>* tree_;
  const Test* test_;
};

// Whether only the watertight test finds a ray's hits: it starts far away, or runs along a side of
// the scene's box.
template <class Intersection>
HEAPWOOD_INLINE bool needs_exact_test(const TreeView<Intersection>& tree, const Ray& ray) {
  const Vec3 o = max(ray.origin, -ray.origin), d = max(ray.direction, -ray.direction);
  if (simt::max(simt::max(o.x, o.y), o.z) > tree.max_origin) return true;
  if (simt::min(simt::min(d.x, d.y), d.z) != 0) return false;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const float at = select(ray.origin, axis);
    if (select(d, axis) == 0 &&
        (at == select(tree.bounds.lo, axis) || at == select(tree.bounds.hi, axis))) {
      return true;
    }
  }
  return false;
}

}  // namespace detail

// Finds the closest hit or any hit by the watertight test, in a tree of plane records. `found` is
// the record that the fast test has found, or no_triangle. For any hit only Hit::found() is set.
template <bool Any, class Intersection, TestFor<Intersection> Test>
HEAPWOOD_OUTLINE Hit trace_exactly(const TreeView<Intersection> tree, const Test test, Ray ray,
                                   std::uint32_t found) {
  double moved = 0;
  const Vec3 start = max(ray.origin, -ray.origin);
  if (simt::max(simt::max(start.x, start.y), start.z) > max_origin * reach_of(tree.bounds)) {
    const MovedRay to = moved_to_box(tree.bounds, to_double(ray.origin), to_double(ray.direction),
                                     ray.tmin, ray.tmax);
    ray = to.ray;
    moved = to.distance;
  }
  const detail::ExactIntersection<Intersection, Test> exact(tree, test, ray);
  Hit hit;
  const bool is_confirmed = found != no_triangle && exact.solve(tree.corners(found), ray, ray.tmin,
                                                                ray.tmax, hit.t, hit.u, hit.v);
  if (!is_confirmed) {
    NoCounters none;
    found = detail::traverse<Any>(tree, exact, ray, hit.t, none);
    float t;
    if (!Any && found != no_triangle)
      exact.solve(tree.corners(found), ray, -HUGE_VALF, HUGE_VALF, t, hit.u, hit.v);
  }
  if (found != no_triangle) hit.triangle = tree.ids[found];
  if (moved != 0) hit.t = static_cast<float>(hit.t + moved);
  return hit;
}

// closest_hit() or any_hit(). `reload()` returns the ray for trace_exactly(): a GPU reads it from
// memory again, so that no registers hold its interval during the search.
template <bool Any, bool FromFar = false, class Intersection, TestFor<Intersection> Test,
          class Count, class Reload>
HEAPWOOD_INLINE Hit trace(const TreeView<Intersection>& tree, const Test& test, const Ray& ray,
                          Count& count, Reload reload) {
  Hit hit;
  std::uint32_t record = no_triangle;
  bool is_sure = false;
  if (Intersection::conservative || !detail::needs_exact_test(tree, ray)) {
    record = detail::traverse<Any, FromFar>(tree, test, ray, hit.t, count);
    if (record == no_triangle) return hit;
    const auto* const found = tree.records + record;
    if constexpr (Intersection::conservative) {
      is_sure = true;
      if constexpr (!Any) test.coordinates(found, ray, hit.t, hit.u, hit.v);
    } else {
      is_sure = (Any && !is_thin(simt::load_constant(&found->plane.x))) ||
                test.is_sure(found, ray, hit.t, hit.u, hit.v);
    }
  }
  if constexpr (!Intersection::conservative) {
    if (!is_sure) return trace_exactly<Any>(tree, test, reload(), record);
  }
  hit.triangle = tree.ids[record];
  return hit;
}

template <class Intersection, TestFor<Intersection> Test, class Count>
HEAPWOOD_INLINE Hit closest_hit(const TreeView<Intersection>& tree, const Test& test,
                                const Ray& ray, Count& count) {
  return trace<false>(tree, test, ray, count, [&ray] { return ray; });
}
template <class Intersection, class Count>
HEAPWOOD_INLINE Hit closest_hit(const TreeView<Intersection>& tree, const Ray& ray, Count& count) {
  return closest_hit(tree, Intersection(ray, tree.slack), ray, count);
}
template <class Intersection>
HEAPWOOD_INLINE Hit closest_hit(const TreeView<Intersection>& tree, const Ray& ray) {
  NoCounters none;
  return closest_hit(tree, ray, none);
}

// Whether anything lies in the ray's interval. FromFar: far children are visited first; within
// rounding errors of an edge next to a thin triangle, the result may then differ.
template <bool FromFar = false, class Intersection, TestFor<Intersection> Test,
          class Count = NoCounters>
HEAPWOOD_INLINE bool any_hit(const TreeView<Intersection>& tree, const Test& test, const Ray& ray,
                             Count&& count = {}) {
  return trace<true, FromFar>(tree, test, ray, count, [&ray] { return ray; }).found();
}
template <class Intersection>
HEAPWOOD_INLINE bool any_hit(const TreeView<Intersection>& tree, const Ray& ray) {
  return any_hit(tree, Intersection(ray, tree.slack), ray);
}

}  // namespace heapwood::kdtree
