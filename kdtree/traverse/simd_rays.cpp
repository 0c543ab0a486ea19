// SPDX-License-Identifier: MIT
#include "kdtree/traverse/simd_rays.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "simt/lanes.hpp"

namespace heapwood::kdtree {
namespace {

using simt::Floats8;
using simt::Ints8;
using Tree = TreeView<FastIntersection>;

constexpr unsigned lanes = 8;
constexpr std::size_t ray_block = 4096;

[[gnu::always_inline]] inline void load(Floats8& to, const float* from) {
  std::memcpy(&to, from, sizeof to);
}

// Which masks have a set lane: bit 0 for a, bit 1 for b.
[[gnu::always_inline]] inline unsigned any_of(const Ints8& a, const Ints8& b) {
  using Pairs4 [[gnu::vector_size(32)]] = std::int64_t;
  const Ints8 lane = (a & 1) | (b & 2);
  Pairs4 pairs;
  std::memcpy(&pairs, &lane, sizeof pairs);
  const auto two =
      __builtin_shufflevector(pairs, pairs, 0, 1) | __builtin_shufflevector(pairs, pairs, 2, 3);
  const std::int64_t pair = two[0] | two[1];
  return static_cast<unsigned>(pair | pair >> 32);
}

struct Vec8 {
  Floats8 x, y, z;
};

[[gnu::always_inline]] inline void dot(Vec3 a, const Vec8& b, Floats8& to) {
  to = a.x * b.x + a.y * b.y + a.z * b.z;
}

[[gnu::always_inline]] inline void at(const Row& row, const Vec8& p, Floats8& to) {
  to = row.w + row.x * p.x + row.y * p.y + row.z * p.z;
}
// PlaneTest::test() for eight rays. Clears `hit` in the lanes whose distance h is not in [lower,
// upper) or whose point at h is outside the triangle. False: no lane's distance is in its interval.
[[gnu::always_inline]] inline bool test(const PlaneRecord& record, const Vec8& origin,
                                        const Vec8& direction, const Floats8& lower,
                                        const Floats8& upper, Ints8& hit, Floats8& h) {
  Floats8 distance, along, u, v;
  at(record.plane, origin, distance);
  dot({record.plane.x, record.plane.y, record.plane.z}, direction, along);
  h = -distance * (1.0f / along);
  hit &= (h >= lower) & (h < upper);
  if (any_of(hit, hit) == 0) return false;
  const Vec8 p{origin.x + direction.x * h, origin.y + direction.y * h, origin.z + direction.z * h};
  at(record.u, p, u);
  at(record.v, p, v);
  hit &= (u >= 0.0f) & (v >= 0.0f) & (u + v <= 1.0f);
  return true;
}

// A child to visit later, with each ray's interval in it.
struct PacketEntry {
  Floats8 begin, end;
  std::uint32_t place;
};

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

// Slopes of eight rays.
struct Slopes8 {
  Floats8 inverse, offset;

  [[gnu::always_inline]] void set(const Floats8& from, const Floats8& direction, int side) {
    inverse = 1.0f / direction;
    set_low_bits(inverse, side);
    offset = -(from * inverse);
  }
  [[gnu::always_inline]] void distance(float at, Floats8& to) const { to = at * inverse + offset; }
};

// detail::traverse() for eight rays, with the same planes; minima and maxima replace its
// comparisons. A ray is active in a node while its interval there is not empty, begin <= end: a
// near child ends at the plane, a far child begins there, and an empty interval remains empty
// below. A NaN would break this rule; start() excludes it.
struct Packet {
  static constexpr float never = -HUGE_VALF;  // end of an empty interval

  Slopes8 slopes[3];
  Vec8 origin, direction;
  Floats8 tmin, closest, begin, end, slack;
  Ints8 found;
  std::uint32_t side[3];  // bits of the slopes that near_child() reads

  // Computes FastIntersection's slopes, its slack and detail::clip; lanes without a ray repeat the
  // first of `count` rays. False: the distance of a plane overflows, and these rays must be traced
  // one by one. (Every plane lies between two faces of the box, so its distance lies between
  // theirs.)
  [[gnu::always_inline]] bool start(const Tree& tree, const Ray* rays, const std::uint32_t* which,
                                    std::uint32_t count) {
    alignas(32) float from[3][lanes], along[3][lanes], lowest[lanes], highest[lanes];
    for (unsigned k = 0; k < lanes; ++k) {
      const Ray& ray = rays[which[k < count ? k : 0]];
      for (unsigned axis = 0; axis < 3; ++axis) {
        from[axis][k] = ray.origin[axis];
        along[axis][k] = ray.direction[axis];
      }
      lowest[k] = ray.tmin;
      highest[k] = ray.tmax;
    }
    load(tmin, lowest);
    load(closest, highest);
    begin = tmin;
    end = closest;
    Ints8 finite = Ints8{} - 1;
    for (unsigned axis = 0; axis < 3; ++axis) {
      Floats8& o = axis == 0 ? origin.x : axis == 1 ? origin.y : origin.z;
      Floats8& d = axis == 0 ? direction.x : axis == 1 ? direction.y : direction.z;
      load(o, from[axis]);
      load(d, along[axis]);
      const bool negative = std::signbit(along[axis][0]);
      side[axis] = negative ? 2 : 0;
      const Floats8 tiny = Floats8{} + (negative ? -1e-20f : 1e-20f);
      slopes[axis].set(o, ((d < 1e-20f) & (d > -1e-20f)) ? tiny : d, static_cast<int>(side[axis]));
      const float lo = tree.bounds.lo[axis], hi = tree.bounds.hi[axis];
      Floats8 enter, leave;
      slopes[axis].distance(negative ? hi : lo, enter);
      slopes[axis].distance(negative ? lo : hi, leave);
      finite &= (enter - enter == 0.0f) & (leave - leave == 0.0f);
      begin = enter > begin ? enter : begin;
      end = leave < end ? leave : end;
    }
    set_slack(tree.slack);
    end = Ints8{0, 1, 2, 3, 4, 5, 6, 7} < static_cast<int>(count) ? end : never;
    found = Ints8{} + static_cast<int>(no_triangle);
    return any_of(~finite, ~finite) == 0;
  }

  [[gnu::always_inline]] void set_slack(float min_slack) {
    Floats8 along[3];
    absolute(direction.x, along[0]);
    absolute(direction.y, along[1]);
    absolute(direction.z, along[2]);
    const Floats8 parallel = FastIntersection::parallel_below * (along[0] + along[1] + along[2]);
    slack = Floats8{} + min_slack;
    for (unsigned axis = 0; axis < 3; ++axis) {
      Floats8 most;
      absolute(slopes[axis].offset, most);
      most *= FastIntersection::offset_slack;
      slack = ((along[axis] > parallel) & (most > slack)) ? most : slack;
    }
  }

  // With `any`, a ray that hits has finished: its intervals are empty from then on.
  template <bool any>
  [[gnu::always_inline]] void test_leaf(const Tree& tree, std::uint32_t first, std::uint32_t last) {
    if (first == last) return;
    Floats8 lower = begin * (1 - FastIntersection::relative_slack) - slack;
    Floats8 upper = end * (1 + FastIntersection::relative_slack) + slack;
    lower = lower > tmin ? lower : tmin;
    upper = upper < closest ? upper : closest;
    const Ints8 inside = begin <= end;
    for (std::uint32_t k = first; k < last; ++k) {
      Floats8 h;
      Ints8 hit = inside;
      if (!test(tree.records[k], origin, direction, lower, upper, hit, h)) continue;
      if constexpr (any) {
        upper = hit ? never : upper;
        closest = hit ? never : closest;
      } else {
        upper = hit ? h : upper;
        closest = hit ? h : closest;
      }
      found = hit ? static_cast<int>(k) : found;
    }
  }

  // `coherent`: these rays mostly follow the packet before them, so the processor predicts the
  // branch of the push. For other rays the branch is unpredictable: they always write the entry,
  // and count it or not.
  template <bool coherent, bool any>
  [[gnu::always_inline]] void traverse(const Tree& tree) {
    const auto node_at = [&tree](std::uint32_t place) __attribute__((always_inline)) {
      return reinterpret_cast<const Node*>(reinterpret_cast<const std::byte*>(tree.nodes) +
                                           std::size_t{place} * 4);
    };
    PacketEntry stack[max_depth + 1];  // one more entry is written than counted
    unsigned top = 0;
    Ints8 inside = begin <= end;
    if (any_of(inside, inside) == 0) return;
    const Node* node = tree.nodes;
    for (;;) {
      while (!node->leaf()) {
        const unsigned axis = node->axis();
        Floats8 plane;
        slopes[axis].distance(node->split, plane);
        const std::uint32_t child = simt::select_bits(node->link, side[axis], 3);
        const Floats8 near_end = plane < end ? plane : end,
                      far_begin = plane > begin ? plane : begin;
        const unsigned sides = any_of(begin <= near_end, far_begin <= end);
        if (sides == 2) {
          node = node_at(child ^ 2u);
          continue;
        }
        node = node_at(child);
        if (coherent && sides != 3) continue;
        stack[top] = {far_begin, end, child ^ 2u};
        top += coherent ? 1 : sides >> 1;
        end = near_end;
      }
      test_leaf<any>(tree, node->first, node->first + node->count());
      do {
        if (top == 0) return;
        --top;
        // A ray with a hit in front of this interval has finished.
        begin = stack[top].begin;
        end = begin < closest ? stack[top].end : never;
        inside = begin <= end;
      } while (any_of(inside, inside) == 0);
      node = node_at(stack[top].place);
    }
  }
};

// Results of one ray traced alone: the closest hit, or whether anything is hit.
void trace_one(const Tree& tree, const Ray& ray, Hit& hit) { hit = closest_hit(tree, ray); }
void trace_one(const Tree& tree, const Ray& ray, std::uint8_t& blocked) {
  blocked = any_hit(tree, ray);
}
// Results of ray k of a packet.
[[gnu::always_inline]] inline void finish(const Tree& tree, const Packet& packet, const Ray& ray,
                                          std::uint32_t k, Hit& hit) {
  const auto record = static_cast<std::uint32_t>(packet.found[k]);
  hit = {packet.closest[k], 0, 0, no_triangle};
  if (record == no_triangle) return;
  const bool is_sure = PlaneTest().is_sure(tree.records + record, ray, hit.t, hit.u, hit.v);
  if (!is_sure) {
    hit = trace_exactly<false>(tree, FastIntersection(ray, tree.slack), ray, record);
    return;
  }
  hit.triangle = tree.ids[record];
}
[[gnu::always_inline]] inline void finish(const Tree& tree, const Packet& packet, const Ray& ray,
                                          std::uint32_t k, std::uint8_t& blocked) {
  const auto record = static_cast<std::uint32_t>(packet.found[k]);
  blocked = record != no_triangle;
  if (blocked && is_thin(tree.records[record].plane.x)) trace_one(tree, ray, blocked);
}

// Traces rays that have the same signs of direction.
template <bool coherent, class Result>
[[gnu::always_inline]] inline void trace_packets(const Tree& tree, const Ray* rays, Result* results,
                                                 const std::uint32_t* which, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; i += lanes, which += lanes) {
    const std::uint32_t n = std::min(lanes, count - i);
    Packet packet;
    bool started = packet.start(tree, rays, which, n);
    for (std::uint32_t k = 0; k < n; ++k)
      started = started && !detail::needs_exact_test(tree, rays[which[k]]);
    if (started) packet.traverse<coherent, std::is_same_v<Result, std::uint8_t>>(tree);
    for (std::uint32_t k = 0; k < n; ++k) {
      if (started) {
        finish(tree, packet, rays[which[k]], k, results[which[k]]);
      } else {
        trace_one(tree, rays[which[k]], results[which[k]]);
      }
    }
  }
}
HEAPWOOD_CLONED
void trace_coherent(const Tree& tree, const Ray* rays, Hit* hits, const std::uint32_t* which,
                    std::uint32_t count) {
  trace_packets<true>(tree, rays, hits, which, count);
}
HEAPWOOD_CLONED
void trace_scattered(const Tree& tree, const Ray* rays, Hit* hits, const std::uint32_t* which,
                     std::uint32_t count) {
  trace_packets<false>(tree, rays, hits, which, count);
}
HEAPWOOD_CLONED
void test_scattered(const Tree& tree, const Ray* rays, std::uint8_t* blocked,
                    const std::uint32_t* which, std::uint32_t count) {
  trace_packets<false>(tree, rays, blocked, which, count);
}

template <class Result>
using TraceFunction = void(const Tree&, const Ray*, Result*, const std::uint32_t*, std::uint32_t);

// Traces a block of rays, grouped by the signs of the directions, which decide the order of
// children. `place_of(i)`: of ray i of the block.
template <class Result, class PlaceOf>
void trace_block(const Tree& tree, const Ray* rays, Result* results, std::size_t count,
                 PlaceOf place_of, TraceFunction<Result>* trace) {
  constexpr unsigned kinds = 8;
  std::uint32_t which[kinds][ray_block], ends[kinds] = {};
  for (std::uint32_t i = 0; i < count; ++i) {
    const RayPlace place = place_of(i);
    which[place.signs][ends[place.signs]++] = place.index;
  }
  for (unsigned k = 0; k < kinds; ++k) trace(tree, rays, results, which[k], ends[k]);
}

template <class Result>
void trace_sorted(const Tree& tree, const Ray* rays, Result* results, std::size_t count,
                  TraceFunction<Result>* same_origin, TraceFunction<Result>* other) {
  RayOrder order;
  for (std::size_t base = 0; base < count; base += ray_span) {
    const std::size_t n = std::min(ray_span, count - base);
    const std::span<const RayPlace> places = order.of({rays + base, n});
    for (std::size_t i = 0; i < n; i += ray_block) {
      trace_block(
          tree, rays + base, results + base, std::min(ray_block, n - i),
          [&](std::uint32_t k) { return places[i + k]; },
          order.same_origin() ? same_origin : other);
    }
  }
}

template <class Result>
void trace_all(const Tree& tree, const Ray* rays, Result* results, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) trace_one(tree, rays[i], results[i]);
}

}  // namespace

void closest_hits(const TreeView<FastIntersection>& tree, const Ray* rays, Hit* hits,
                  std::size_t count) {
  if (!simt::has_eight_lanes()) return trace_all(tree, rays, hits, count);
  trace_sorted(tree, rays, hits, count, trace_coherent, trace_scattered);
}

void any_hits(const TreeView<FastIntersection>& tree, const Ray* rays, std::uint8_t* blocked,
              std::size_t count, bool scattered) {
  if (!simt::has_eight_lanes()) return trace_all(tree, rays, blocked, count);
  if (scattered) return trace_sorted(tree, rays, blocked, count, test_scattered, test_scattered);
  for (std::size_t base = 0; base < count; base += ray_block) {
    trace_block(
        tree, rays + base, blocked + base, std::min(ray_block, count - base),
        [&](std::uint32_t k) {
          return RayPlace{k, signs_of(rays[base + k].direction)};
        },
        test_scattered);
  }
}

}  // namespace heapwood::kdtree
