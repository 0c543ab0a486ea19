// SPDX-License-Identifier: MIT
// Eight rays that traverse a tree together in the lanes of vectors (simd_rays.hpp), with the
// arithmetic of both intersection tests, operation by operation. Included by simd_rays.cpp only,
// whose functions for AVX2 all of this is inlined into.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>
#if defined(__x86_64__) && !defined(__clang__)
#include <immintrin.h>
#endif

#include "kdtree/traverse/simd_rays.hpp"
#include "simt/lanes.hpp"

namespace heapwood::kdtree::packets {

using simt::Floats8;
using simt::Ints8;

inline constexpr unsigned lanes = 8;
// What is searched for: the closest hit, whether there is a hit, or all hits. any_from_far visits
// the far child of a node first.
enum class Find { closest, any, any_from_far, all };
constexpr bool finds_any(Find find) { return find == Find::any || find == Find::any_from_far; }
inline constexpr float never = -HUGE_VALF;  // end of an empty interval
inline constexpr std::size_t cache_line = 64;

// The set lanes of a mask: lane k in bit k.
[[gnu::always_inline]] inline unsigned bits_of(const Ints8& mask) {
#if defined(__x86_64__) && !defined(__clang__)
  return static_cast<unsigned>(__builtin_ia32_movmskps256(reinterpret_cast<Floats8>(mask)));
#else
  using Bytes8 [[gnu::vector_size(8)]] = signed char;
  const Bytes8 narrow = __builtin_convertvector(mask, Bytes8);
  std::uint64_t bytes;
  std::memcpy(&bytes, &narrow, sizeof bytes);
  // Byte k keeps its bit k; the product adds all bytes into the highest one.
  return static_cast<unsigned>((bytes & 0x8040201008040201u) * 0x0101010101010101u >> 56);
#endif
}
// Which masks have a set lane: bit 0 for a, bit 1 for b.
[[gnu::always_inline]] inline unsigned any_of(const Ints8& a, const Ints8& b) {
  return (bits_of(a) != 0 ? 1u : 0u) | (bits_of(b) != 0 ? 2u : 0u);
}

struct Vec8 {
  Floats8 x, y, z;

  [[gnu::always_inline]] Floats8& axis(unsigned a) { return a == 0 ? x : a == 1 ? y : z; }
};

// `AnyRow`: one row for all lanes, or one per lane.
template <class AnyRow>
[[gnu::always_inline]] inline void dot(const AnyRow& row, const Vec8& d, Floats8& to) {
  to = row.x * d.x + row.y * d.y + row.z * d.z;
}
template <class AnyRow>
[[gnu::always_inline]] inline void at(const AnyRow& row, const Vec8& p, Floats8& to) {
  to = row.w + row.x * p.x + row.y * p.y + row.z * p.z;
}
[[gnu::always_inline]] inline void absolute(const Floats8& x, Floats8& to) {
  Ints8 bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits &= 0x7fffffff;
  std::memcpy(&to, &bits, sizeof bits);
}
[[gnu::always_inline]] inline void set_low_bits(Floats8& x, int low) {
  Ints8 bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits = (bits & ~3) | low;
  std::memcpy(&x, &bits, sizeof bits);
}

// Eight rows, one per lane.
struct Row8 {
  Floats8 x, y, z, w;
};
[[gnu::always_inline]] inline void interleave(Floats8& a, Floats8& b) {
  const Floats8 low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
  b = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
  a = low;
}
// The rows `offset` rows after each address.
template <class T>
[[gnu::always_inline]] inline void load(Row8& to, const T* const (&from)[lanes], unsigned offset) {
  Floats8 rows[4];
  for (unsigned k = 0; k < 4; ++k) {
    simt::Floats4 low, high;
    std::memcpy(&low, reinterpret_cast<const Row*>(from[k]) + offset, sizeof low);
    std::memcpy(&high, reinterpret_cast<const Row*>(from[k + 4]) + offset, sizeof high);
    rows[k] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
  }
  interleave(rows[0], rows[2]);
  interleave(rows[1], rows[3]);
  interleave(rows[0], rows[1]);
  interleave(rows[2], rows[3]);
  to = {rows[0], rows[1], rows[2], rows[3]};
}

// Eight triangles of a leaf. Lanes without a triangle repeat the first one. Rows that every ray
// reads are loaded once.
template <class Record>
struct Record8 {
  static constexpr unsigned loaded = std::is_same_v<Record, CornerRecord> ? 3 : 1;

  const Record* of[lanes];
  Row8 rows[loaded];

  [[gnu::always_inline]] Record8(const Record* records, std::uint32_t count) {
    for (unsigned k = 0; k < lanes; ++k) of[k] = records + (k < count ? k : 0);
    load(rows[0], of, 0);
    if constexpr (loaded == 3) load(rows[1], of, 1), load(rows[2], of, 2);
  }
};
template <class Record>
const Record& lane_of(const Record& record, unsigned) {
  return record;
}
template <class Record>
const Record& lane_of(const Record8<Record>& records, unsigned k) {
  return *records.of[k];
}
// Row `index` of a triangle, or those of eight.
template <unsigned index, class Record>
[[gnu::always_inline]] inline const Row& row_of(const Record& record) {
  return reinterpret_cast<const Row*>(&record)[index];
}
template <unsigned index, class Record>
[[gnu::always_inline]] inline decltype(auto) row_of(const Record8<Record>& records) {
  if constexpr (index < Record8<Record>::loaded) {
    return (records.rows[index]);
  } else {
    Row8 row;
    load(row, records.of, index);
    return row;
  }
}

// Eight rays. Lanes without a ray repeat the first one.
struct Rays8 {
  const Ray* ray[lanes];  // for the lanes that the scalar test decides
  Vec8 origin, direction;
  Floats8 tmin;
  bool negative[3];  // whether all directions are negative on an axis

  [[gnu::always_inline]] void set(const Ray* rays, const std::uint32_t* which, std::uint32_t count,
                                  Floats8& tmax) {
    for (unsigned k = 0; k < lanes; ++k) ray[k] = rays + which[k < count ? k : 0];
    Row8 start, along;
    load(start, ray, 0);
    load(along, ray, 1);
    origin = {start.x, start.y, start.z};
    direction = {along.x, along.y, along.z};
    tmin = start.w;
    tmax = along.w;
    for (unsigned axis = 0; axis < 3; ++axis)
      negative[axis] = std::signbit(ray[0]->direction[axis]);
  }
  // Copies ray k to all lanes, but not its tmin.
  [[gnu::always_inline]] void set(const Rays8& from, unsigned k) {
    const Ray* const one = from.ray[k];
    std::fill_n(ray, lanes, one);
    origin = {Floats8{} + one->origin.x, Floats8{} + one->origin.y, Floats8{} + one->origin.z};
    direction = {Floats8{} + one->direction.x, Floats8{} + one->direction.y,
                 Floats8{} + one->direction.z};
  }
};
static_assert(sizeof(Ray) == 2 * sizeof(Row) && offsetof(Ray, direction) == sizeof(Row));

// The slopes of eight rays on one axis: what a test's distance() reads of them.
struct Slopes8 {
  const Floats8 &a, &b;
};

// The planes and triangles of an intersection test, for eight rays.
template <class Intersection>
class Test8;

template <>
class Test8<FastIntersection> {
 public:
  using Tree = TreeView<FastIntersection>;

  [[gnu::always_inline]] void set(const Tree& tree, const Rays8& rays) {
    Vec8 o = rays.origin, d = rays.direction;
    Floats8 along[3];
    for (unsigned axis = 0; axis < 3; ++axis) {
      const bool negative = rays.negative[axis];
      const Floats8 tiny = Floats8{} + (negative ? -1e-20f : 1e-20f), &x = d.axis(axis);
      inverse_[axis] = 1.0f / (((x < 1e-20f) & (x > -1e-20f)) ? tiny : x);
      set_low_bits(inverse_[axis], negative ? 2 : 0);
      offset_[axis] = -(o.axis(axis) * inverse_[axis]);
      absolute(x, along[axis]);
    }
    const Floats8 parallel = FastIntersection::parallel_below * (along[0] + along[1] + along[2]);
    slack_ = Floats8{} + tree.slack;
    for (unsigned axis = 0; axis < 3; ++axis) {
      Floats8 most;
      absolute(offset_[axis], most);
      most *= FastIntersection::offset_slack;
      slack_ = ((along[axis] > parallel) & (most > slack_)) ? most : slack_;
    }
  }
  // Whether a packet can trace rays with these distances to the faces of the tree's box. NaN would
  // break the rule for empty intervals; every plane lies between two faces, and so do distances.
  [[gnu::always_inline]] static void check(const Floats8& enter, const Floats8& leave, Ints8& ok) {
    ok &= (enter - enter == 0.0f) & (leave - leave == 0.0f);
  }
  [[gnu::always_inline]] Slopes8 slopes(const Rays8&, unsigned axis) const {
    return {inverse_[axis], offset_[axis]};
  }
  // The distances to a plane at which the near child ends and the far child begins.
  [[gnu::always_inline]] static void distance(float at, const Slopes8& slopes, Floats8& end,
                                              Floats8& begin) {
    end = begin = at * slopes.a + slopes.b;
  }
  // The distances between which hits in a leaf count.
  [[gnu::always_inline]] void limit(const Floats8& begin, const Floats8& end, Floats8& lower,
                                    Floats8& upper) const {
    const Floats8 from = begin * (1 - FastIntersection::relative_slack) - slack_,
                  to = end * (1 + FastIntersection::relative_slack) + slack_;
    lower = from > lower ? from : lower;
    upper = to < upper ? to : upper;
  }
  [[gnu::always_inline]] void set(const Test8&, unsigned) {}
  // Clears `hit` in the lanes whose distance h is not in [lower, upper) or whose point at h is
  // outside the triangle. False: no lane hits, and h is undefined. `record`: one triangle for all
  // lanes, or one per lane.
  template <class Record>
  [[gnu::always_inline]] bool hits(const Record& record, const Rays8& rays, const Floats8& lower,
                                   const Floats8& upper, Ints8& hit, Floats8& h) const {
    const Vec8 &o = rays.origin, &d = rays.direction;
    Floats8 distance, along, u, v;
    at(row_of<0>(record), o, distance);
    dot(row_of<0>(record), d, along);
    h = -distance * (1.0f / along);
    hit &= (h >= lower) & (h < upper);
    if (bits_of(hit) == 0) return false;
    const Vec8 p{o.x + d.x * h, o.y + d.y * h, o.z + d.z * h};
    at(row_of<1>(record), p, u);
    at(row_of<2>(record), p, v);
    hit &= (u >= 0.0f) & (v >= 0.0f) & (u + v <= 1.0f);
    return true;
  }

 private:
  Floats8 inverse_[3], offset_[3], slack_;
};

template <>
class Test8<WatertightIntersection> {
 public:
  using Tree = TreeView<WatertightIntersection>;
  static constexpr float slack = WatertightIntersection::plane_slack;

  [[gnu::always_inline]] void set(const Tree&, const Rays8& rays) {
    const Vec8& d = rays.direction;
    Floats8 x, y, z;
    absolute(d.x, x);
    absolute(d.y, y);
    absolute(d.z, z);
    inverse_ = {1.0f / d.x, 1.0f / d.y, 1.0f / d.z};
    along_x_ = (x > y) & (x > z);
    along_y_ = (x <= y) & (y > z);
    const unsigned x_lanes = bits_of(along_x_), y_lanes = bits_of(along_y_);
    longest_ = x_lanes == 255 ? 0 : y_lanes == 255 ? 1 : (x_lanes | y_lanes) == 0 ? 2 : mixed;
    Vec8 s;
    permute(d, s);
    sz_ = 1.0f / s.z;
    sx_ = s.x * sz_;
    sy_ = s.y * sz_;
  }
  // Copies lane k of another test to all lanes.
  [[gnu::always_inline]] void set(const Test8& from, unsigned k) {
    longest_ = from.along_x_[k] != 0 ? 0 : from.along_y_[k] != 0 ? 1 : 2;
    sx_ = Floats8{} + from.sx_[k];
    sy_ = Floats8{} + from.sy_[k];
    sz_ = Floats8{} + from.sz_[k];
  }
  [[gnu::always_inline]] static void check(const Floats8&, const Floats8&, Ints8&) {}
  [[gnu::always_inline]] Slopes8 slopes(const Rays8& rays, unsigned axis) const {
    return {(&inverse_.x)[axis], (&rays.origin.x)[axis]};
  }
  // NaN, the ray lies in the plane: both children keep the whole interval.
  [[gnu::always_inline]] static void distance(float at, const Slopes8& slopes, Floats8& end,
                                              Floats8& begin) {
    const Floats8 distance = (at - slopes.b) * slopes.a;
    end = distance * (1 + slack);
    begin = distance * (1 - slack);
  }
  [[gnu::always_inline]] void limit(const Floats8&, const Floats8&, Floats8&, Floats8&) const {}
  // `record`: one triangle for all lanes, or one per lane.
  template <class Record>
  [[gnu::always_inline]] bool hits(const Record& record, const Rays8& rays, const Floats8& lower,
                                   const Floats8& upper, Ints8& hit, Floats8& h) const {
    Vec8 a, b, c;
    shear(row_of<0>(record), rays.origin, a);
    shear(row_of<1>(record), rays.origin, b);
    shear(row_of<2>(record), rays.origin, c);
    const Floats8 ea = c.x * b.y - c.y * b.x, eb = a.x * c.y - a.y * c.x,
                  ec = b.x * a.y - b.y * a.x;
    const Ints8 zero = hit & ((ea == 0.0f) | (eb == 0.0f) | (ec == 0.0f));
    hit &=
        ((ea >= 0.0f) & (eb >= 0.0f) & (ec >= 0.0f)) | ((ea <= 0.0f) & (eb <= 0.0f) & (ec <= 0.0f));
    const unsigned some = any_of(hit, zero);
    if (some == 0) return false;
    const Floats8 determinant = ea + eb + ec, inverse = 1.0f / determinant, wa = ea * inverse,
                  u = eb * inverse, v = ec * inverse;
    h = (wa * a.z + u * b.z + v * c.z) * sz_;
    hit &= (determinant != 0.0f) & (h >= lower) & (h < upper);
    // Edges that the scalar test computes again in double.
    for (unsigned k = 0; (some & 2) != 0 && k < lanes; ++k) {
      if (zero[k] == 0) continue;
      float t = 0;
      hit[k] = hits_one(lane_of(record, k), *rays.ray[k], lower[k], upper[k], t) ? -1 : 0;
      h[k] = t;
    }
    return true;
  }

 private:
  static constexpr unsigned mixed = 3;

  [[gnu::noinline]] static bool hits_one(const CornerRecord& record, const Ray& ray, float lower,
                                         float upper, float& t) {
    return WatertightIntersection(ray).test(&record, ray, lower, upper, t);
  }
  // The components in the order of the test: z is the longest of the direction's.
  [[gnu::always_inline]] void permute(const Vec8& p, Vec8& to) const {
    to.x = along_x_ ? p.y : along_y_ ? p.z : p.x;
    to.y = along_x_ ? p.z : along_y_ ? p.x : p.y;
    to.z = along_x_ ? p.x : along_y_ ? p.y : p.z;
  }
  template <class AnyRow>
  [[gnu::always_inline]] void shear(const AnyRow& corner, const Vec8& origin, Vec8& to) const {
    const unsigned z = longest_, x = z == 2 ? 0 : z + 1, y = x == 2 ? 0 : x + 1;
    if (longest_ == mixed) {
      permute({corner.x - origin.x, corner.y - origin.y, corner.z - origin.z}, to);
    } else {
      to.x = (&corner.x)[x] - (&origin.x)[x];
      to.y = (&corner.x)[y] - (&origin.x)[y];
      to.z = (&corner.x)[z] - (&origin.x)[z];
    }
    to.x -= sx_ * to.z;
    to.y -= sy_ * to.z;
  }

  Vec8 inverse_;
  Ints8 along_x_, along_y_;
  unsigned longest_;  // axis of all directions, or `mixed`
  Floats8 sx_, sy_, sz_;
};

// A child to visit later, with each ray's interval in it.
struct FarChild {
  Floats8 begin, end;
  std::uint32_t place;
};

template <class Tree>
[[gnu::always_inline]] inline const Node* node_at(const Tree& tree, std::uint32_t place) {
  return reinterpret_cast<const Node*>(reinterpret_cast<const std::byte*>(tree.nodes) +
                                       std::size_t{place} * 4);
}

// The leaves that packets have visited, and the active rays in them.
struct Work {
  std::uint64_t leaves = 0, rays = 0;
};

// detail::traverse() for eight rays, with the same planes; minima and maxima replace its
// comparisons. A ray is active in a node while its interval there is not empty, begin <= end: a
// near child ends at the plane, a far child begins there, and an empty interval remains empty
// below.
template <class Intersection>
struct Packet {
  using Tree = TreeView<Intersection>;

  Rays8 rays;
  Test8<Intersection> test;
  Floats8 closest, begin, end;
  Ints8 found;
  // Find::all: where the hits of each ray go, and their number.
  std::vector<FoundHit>* all[lanes];
  std::size_t all_count = 0;

  // Returns the lanes that can be traced here, not alone.
  [[gnu::always_inline]] unsigned start(const Tree& tree, const Ray* from,
                                        const std::uint32_t* which, std::uint32_t count) {
    rays.set(from, which, count, closest);
    test.set(tree, rays);
    begin = rays.tmin;
    end = closest;
    Ints8 ok = Ints8{} - 1;
    for (unsigned axis = 0; axis < 3; ++axis) {
      const float lo = tree.bounds.lo[axis], hi = tree.bounds.hi[axis];
      const bool negative = rays.negative[axis];
      Floats8 enter, leave, other;
      test.distance(negative ? hi : lo, test.slopes(rays, axis), other, enter);
      test.distance(negative ? lo : hi, test.slopes(rays, axis), leave, other);
      test.check(enter, leave, ok);
      begin = enter > begin ? enter : begin;
      end = leave < end ? leave : end;
    }
    end = Ints8{0, 1, 2, 3, 4, 5, 6, 7} < static_cast<int>(count) ? end : never;
    found = Ints8{} + static_cast<int>(no_triangle);
    unsigned traced = bits_of(ok);
    for (unsigned k = 0; !Intersection::conservative && k < lanes; ++k)
      traced &= ~((detail::needs_exact_test(tree, *rays.ray[k]) ? 1u : 0u) << k);
    return traced;
  }
  // Sets all but `closest`, for rays that have these intervals in a node.
  [[gnu::always_inline]] void set(const Tree& tree, const Ray* from, const std::uint32_t* which,
                                  std::uint32_t count, const float* begins, const float* ends) {
    Floats8 tmax;
    rays.set(from, which, count, tmax);
    test.set(tree, rays);
    std::memcpy(&begin, begins, sizeof begin);
    std::memcpy(&end, ends, sizeof end);
    end = Ints8{0, 1, 2, 3, 4, 5, 6, 7} < static_cast<int>(count) ? end : never;
    found = Ints8{} + static_cast<int>(no_triangle);
  }

  [[gnu::always_inline]] void add_hit(unsigned lane, float t, std::uint32_t record) {
    all[lane]->push_back({t, record});
    ++all_count;
  }

  // Tests eight triangles of a leaf at a time against one active ray after the other, while that
  // takes fewer tests than one triangle after the other. Returns the next triangle.
  template <Find find>
  [[gnu::always_inline]] std::uint32_t test_rays(const Tree& tree, std::uint32_t first,
                                                 std::uint32_t last, unsigned active,
                                                 const Floats8& lower, Floats8& upper) {
    const unsigned rays_in = simt::popcount(active);
    for (std::uint32_t n; (n = std::min(last - first, lanes)) > rays_in + 1; first += n) {
      const Record8<typename Intersection::Record> triangles(tree.records + first, n);
      for (unsigned rest = active; rest != 0; rest &= rest - 1) {
        const unsigned lane = simt::lowest_bit(rest);
        Rays8 one;
        one.set(rays, lane);
        Test8<Intersection> alone{};
        alone.set(test, lane);
        Floats8 h;
        Ints8 hit = Ints8{0, 1, 2, 3, 4, 5, 6, 7} < static_cast<int>(n);
        if (!alone.hits(triangles, one, Floats8{} + lower[lane], Floats8{} + upper[lane], hit, h))
          continue;
        for (unsigned set = bits_of(hit); set != 0; set &= set - 1) {
          const unsigned i = simt::lowest_bit(set);
          if constexpr (find == Find::all) {
            add_hit(lane, h[i], first + i);
          } else if (h[i] < upper[lane]) {
            upper[lane] = closest[lane] = finds_any(find) ? never : h[i];
            found[lane] = static_cast<int>(first + i);
          }
        }
      }
    }
    return first;
  }

  // Inlined, it would take the registers of traverse().
  template <Find find>
  [[gnu::noinline]] HEAPWOOD_AVX2 void test_leaf(const Tree& tree, const Node& leaf,
                                                 const Ints8& inside) {
    std::uint32_t first = leaf.first;
    const std::uint32_t last = first + leaf.count();
    Floats8 lower = rays.tmin, upper = closest;
    test.limit(begin, end, lower, upper);
    first = test_rays<find>(tree, first, last, bits_of(inside), lower, upper);
    for (std::uint32_t k = first; k < last; ++k) {
      Floats8 h;
      Ints8 hit = inside;
      if (!test.hits(tree.records[k], rays, lower, upper, hit, h)) continue;
      if constexpr (find == Find::all) {
        for (unsigned i = 0; i < lanes; ++i) {
          if (hit[i] != 0) add_hit(i, h[i], k);
        }
      } else {
        // With any hit, the intervals of a ray that hits are empty from then on.
        const Floats8 to = finds_any(find) ? Floats8{} + never : h;
        upper = hit ? to : upper;
        closest = hit ? to : closest;
        found = hit ? static_cast<int>(k) : found;
      }
    }
  }

  // Traverses the tree below a node. An entry of the stack is always written, and counted or not:
  // the processor could not predict a branch.
  template <Find find>
  [[gnu::always_inline]] void traverse(const Tree& tree, const Node* node, Work& work) {
    FarChild stack[max_depth + 1];  // one more entry is written than counted
    unsigned top = 0;
    // In a search for all hits, leaves wait here until their triangles are in the cache. The
    // watertight test does not need the rays' intervals in them.
    struct {
      Node leaf;
      Ints8 inside;
    } leaves[16];
    unsigned waiting = 0;
    const auto test_waiting = [&] {
      for (unsigned k = 0; k < waiting; ++k)
        test_leaf<find>(tree, leaves[k].leaf, leaves[k].inside);
      waiting = 0;
    };
    if (bits_of(begin <= end) == 0) return;
    std::uint32_t side[3];  // what near_child() reads of the slopes
    for (unsigned axis = 0; axis < 3; ++axis) side[axis] = rays.negative[axis] ? 2 : 0;
    for (;;) {
      while (!node->leaf()) {
        const unsigned axis = node->axis();
        Floats8 near_end, far_begin;
        test.distance(node->split, test.slopes(rays, axis), near_end, far_begin);
        const std::uint32_t child = simt::select_bits(node->link, side[axis], 3);
        near_end = near_end < end ? near_end : end;
        far_begin = far_begin > begin ? far_begin : begin;
        const unsigned sides = any_of(begin <= near_end, far_begin <= end);
        constexpr bool from_far = find == Find::any_from_far;
        if (sides == (from_far ? 1 : 2)) {
          node = node_at(tree, from_far ? child : child ^ 2u);
          if (from_far) end = near_end;
          continue;
        }
        node = node_at(tree, from_far ? child ^ 2u : child);
        stack[top] =
            from_far ? FarChild{begin, near_end, child} : FarChild{far_begin, end, child ^ 2u};
        top += from_far ? sides & 1 : sides >> 1;
        // The far child lies next to the near one; its children are fetched.
        if (find == Find::all)
          __builtin_prefetch(node_at(tree, node_at(tree, child ^ 2u)->link & ~3u));
        (from_far ? begin : end) = from_far ? far_begin : near_end;
      }
      ++work.leaves;
      work.rays += simt::popcount(bits_of(begin <= end));
      if (node->count() != 0) {
        if constexpr (find == Find::all) {
          if (waiting == std::size(leaves)) test_waiting();
          leaves[waiting++] = {*node, begin <= end};
          const auto* const first = reinterpret_cast<const std::byte*>(tree.records + node->first);
          for (std::size_t k = 0; k < node->count() * sizeof *tree.records; k += cache_line)
            __builtin_prefetch(first + k);
        } else {
          test_leaf<find>(tree, *node, begin <= end);
        }
      }
      do {
        if (top == 0) return test_waiting();
        --top;
        // A ray with a hit in front of this interval has finished.
        begin = stack[top].begin;
        end = (Intersection::conservative ? begin <= closest : begin < closest) ? stack[top].end
                                                                                : never;
      } while (bits_of(begin <= end) == 0);
      node = node_at(tree, stack[top].place);
    }
  }
};

}  // namespace heapwood::kdtree::packets
