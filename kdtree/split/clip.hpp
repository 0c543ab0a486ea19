// SPDX-License-Identifier: MIT
// Bounds of the part of a triangle on one side of a plane or inside a box, in single precision and
// identical on every device. The bounds decide splits. They are accurate to a few ulps and never
// lose a ref: a ref that a caller has counted keeps valid bounds inside its node.
#pragma once

#include "geometry/triangle.hpp"
#include "simt/math.hpp"

namespace heapwood::kdtree {

struct Sides {
  Box left, right;
};

// Clamps the interval [lo, hi] to [min, max]; an inverted interval becomes one point in it.
HEAPWOOD_INLINE void clamp_interval(float& lo, float& hi, float min, float max) {
  lo = simt::max(lo, min);
  hi = simt::min(hi, max);
  if (lo > hi) lo = hi = simt::min(simt::max(lo, min), max);
}
// Clamps `part` to `within`; the result is never empty.
HEAPWOOD_INLINE Box clamp_box(Box part, const Box& within) {
  clamp_interval(part.lo.x, part.hi.x, within.lo.x, within.hi.x);
  clamp_interval(part.lo.y, part.hi.y, within.lo.y, within.hi.y);
  clamp_interval(part.lo.z, part.hi.z, within.lo.z, within.hi.z);
  return part;
}

// Where the edge a-b meets the plane; `da` and `db` are the ends' distances, of opposite signs.
HEAPWOOD_INLINE Vec3 crossing(Vec3 a, Vec3 b, float da, float db) {
  const float t = da / (da - db);
  const Vec3 q = a + (b - a) * t;
  // clamped, so that rounding does not move the point out of the edge's box
  return max(min(a, b), min(max(a, b), q));
}

// Grows both boxes by the point in which the edge crosses the plane, if it does.
HEAPWOOD_INLINE void add_crossing(Vec3 a, Vec3 b, float da, float db, Box& left, Box& right) {
  if ((da < 0.0f && db > 0.0f) || (da > 0.0f && db < 0.0f)) {
    const Vec3 q = crossing(a, b, da, db);
    left.grow(q);
    right.grow(q);
  }
}

// Returns the bounds of the triangle's parts on both sides of the plane `axis` = p. Both lie inside
// `box`, the bounds known so far, which the plane cuts.
HEAPWOOD_INLINE Sides split_bounds(const Corners& t, const Box& box, unsigned axis, float p) {
  Vec3 a = t.a, b = t.b, c = t.c;
  float da = a[axis] - p, db = b[axis] - p, dc = c[axis] - p;
  Box left, right;
  // Each pass handles corner a and edge a-b, then rotates the corners. The loop is not unrolled, so
  // that the builder's code fits the instruction cache.
  HEAPWOOD_ROLLED
  for (unsigned corner = 0; corner < 3; ++corner) {
    if (da <= 0.0f) left.grow(a);
    if (da >= 0.0f) right.grow(a);
    add_crossing(a, b, da, db, left, right);
    const Vec3 first = a;
    const float d = da;
    a = b, b = c, c = first;
    da = db, db = dc, dc = d;
  }
  const Box below{box.lo, set(box.hi, axis, p)};
  const Box above{set(box.lo, axis, p), box.hi};
  return {clamp_box(left, below), clamp_box(right, above)};
}

// The box planes that a point lies beyond: bits 0 to 2 below lo.xyz, bits 3 to 5 above hi.xyz.
HEAPWOOD_INLINE unsigned outside_planes(Vec3 p, const Box& box) {
  return (p.x < box.lo.x ? 1u : 0u) | (p.y < box.lo.y ? 2u : 0u) | (p.z < box.lo.z ? 4u : 0u) |
         (p.x > box.hi.x ? 8u : 0u) | (p.y > box.hi.y ? 16u : 0u) | (p.z > box.hi.z ? 32u : 0u);
}

// The max rounding error of a point on an edge, relative to the edge's coordinates: 4 ulps.
inline constexpr float edge_error = 4.8e-7f;

// Clips the segment a-b to the box (Liang & Barsky 1984) and grows `part` by the ends of the
// remaining segment. outside_a, outside_b: outside_planes() of its ends. A segment that misses the
// box by no more than rounding counts as touching it: planes are often chosen where edges meet.
HEAPWOOD_INLINE void add_segment(Vec3 a, Vec3 b, unsigned outside_a, unsigned outside_b,
                                 const Box& box, Box& part) {
  if ((outside_a & outside_b) != 0) return;
  float t0 = 0.0f, t1 = 1.0f;
  const Vec3 d = b - a;
  HEAPWOOD_ROLLED
  for (unsigned planes = outside_a | outside_b; planes != 0; planes &= planes - 1) {
    const unsigned plane = simt::lowest_bit(planes), axis = plane < 3 ? plane : plane - 3;
    const float t = ((plane < 3 ? box.lo : box.hi)[axis] - a[axis]) / d[axis];
    if ((outside_a >> plane & 1) != 0) {
      t0 = simt::max(t0, t);
    } else {
      t1 = simt::min(t1, t);
    }
  }
  if (t0 > t1) {
    // The segment misses the box by no more than rounding if the gap is at most the error on an
    // axis with a plane between the ends. The masks select the two planes of an axis.
    const Vec3 error = max(max(a, -a), max(b, -b)) * edge_error, gap = max(d, -d) * (t0 - t1);
    const unsigned planes = outside_a | outside_b;
    if (((planes & 9) == 0 || gap.x > error.x) && ((planes & 18) == 0 || gap.y > error.y) &&
        ((planes & 36) == 0 || gap.z > error.z))
      return;
  }
  const Vec3 lowest = min(a, b), highest = max(a, b);
  part.grow(max(lowest, min(highest, a + d * t0)));
  part.grow(max(lowest, min(highest, a + d * t1)));
}

// The normal of a triangle and the rounding error of each component, which is large relative to the
// normal if the triangle is a needle.
struct RoundedNormal {
  Vec3 value, error;

  static HEAPWOOD_INLINE RoundedNormal of(Vec3 e, Vec3 f) {
    const Vec3 p{e.y * f.z, e.z * f.x, e.x * f.y}, q{e.z * f.y, e.x * f.z, e.y * f.x};
    // error of 4 * 2^-24: two differences, the product, the subtraction
    return {p - q, (max(p, -p) + max(q, -q)) * 2.4e-7f};
  }
};

// Grows `part` by the point where a box edge, parallel to `axis` through (u, v) on the two other
// axes, passes through the triangle, within rounding errors. If the triangle is nearly parallel to
// the edge, that may be the whole edge. Distances are multiplied by `scale`, and the normal is that
// of the scaled triangle. `whole` is the overlap of the box and the triangle's bounds.
HEAPWOOD_INLINE void add_box_edge(const Corners& t, const RoundedNormal& rounded, float scale,
                                  float unscale, unsigned axis, float u, float v, const Box& whole,
                                  Box& part) {
  const Vec3 normal = rounded.value;
  const float n = normal[axis], error = rounded.error[axis];
  if (n == 0.0f && error == 0.0f) return;
  const unsigned i = axis == 0 ? 1 : 0, j = axis == 2 ? 1 : 2;
  const float au = (t.a[i] - u) * scale, av = (t.a[j] - v) * scale, bu = (t.b[i] - u) * scale;
  const float bv = (t.b[j] - v) * scale, cu = (t.c[i] - u) * scale, cv = (t.c[j] - v) * scale;
  const float ab = au * bv - av * bu, bc = bu * cv - bv * cu, ca = cu * av - cv * au;
  const bool inside =
      (ab >= 0.0f && bc >= 0.0f && ca >= 0.0f) || (ab <= 0.0f && bc <= 0.0f && ca <= 0.0f);
  if (!inside) return;
  const Vec3 on_edge = set(set(t.a, i, u), j, v);
  float lo = whole.lo[axis], hi = whole.hi[axis];
  if (simt::max(n, -n) > 128.0f * error) {
    const float inverse = 1.0f / n, up = (au * normal[i] + av * normal[j]) * inverse;
    const float slack = 1.01f * simt::max(inverse, -inverse) *
                        (simt::max(au, -au) * rounded.error[i] +
                         simt::max(av, -av) * rounded.error[j] + simt::max(up, -up) * error);
    lo = simt::max(lo, t.a[axis] + (up - slack) * unscale);
    hi = simt::min(hi, t.a[axis] + (up + slack) * unscale);
    if (!(lo <= hi)) return;
  }
  part.grow(set(on_edge, axis, lo));
  part.grow(set(on_edge, axis, hi));
}

// 2^-exponent of the box's largest extent: scales areas to near 1 without rounding.
HEAPWOOD_INLINE float scale_of(const Box& box) {
  const Vec3 e = box.extent();
  const std::uint32_t exponent = simt::bits(simt::max(e.x, simt::max(e.y, e.z))) >> 23;
  return exponent < 1 || exponent > 253 ? 1.0f : simt::from_bits((254 - exponent) << 23);
}

// The edges of a box that lie on two of the given planes (see outside_planes()): bit 4 * axis +
// corner for the edge parallel to `axis` through that corner of the other two axes. Bit 0 of the
// corner is set at the upper plane of the first of them, bit 1 at that of the second.
HEAPWOOD_INLINE unsigned edges_between(unsigned planes) {
  unsigned edges = 0;
  HEAPWOOD_UNROLLED
  for (unsigned axis = 0; axis < 3; ++axis) {
    const unsigned i = axis == 0 ? 1 : 0, j = axis == 2 ? 1 : 2;
    const unsigned u = (planes >> i & 1) | (planes >> (i + 2) & 2);
    edges |= (((planes >> j & 1) != 0 ? u : 0) | ((planes >> (j + 3) & 1) != 0 ? u << 2 : 0))
             << 4 * axis;
  }
  return edges;
}

// Bounds of the triangle's part inside the box, padded by 4 ulps of the triangle's coordinates (the
// error of a point on an edge). If rounding finds no part, the overlap of the two boxes.
//
// The part is bounded by the parts of the triangle's edges inside the box, and by the points where
// box edges pass through the triangle. For these, corners of the triangle must lie outside both
// planes that the box edge is on: a triangle that crosses one plane of the box needs none of them.
//
// Planes that the triangle does not cross have no influence on the result: it is the same, to the
// bit, in a part of the box that contains the triangle's part.
//
// Not inlined: with one copy of this code, the rest of a builder stays in the instruction cache.
// The parameters are values, because references would place them in memory.
HEAPWOOD_OUTLINE Box clip_bounds(Corners t, Box box) {
  unsigned outside_p = outside_planes(t.a, box), outside_q = outside_planes(t.b, box),
           outside_r = outside_planes(t.c, box);
  const unsigned crossed = outside_p | outside_q | outside_r;
  const Box full = bounds(t);
  if (crossed == 0) return full;
  const Box whole = clamp_box(full, box);
  if ((outside_p & outside_q & outside_r) != 0) return whole;
  // Add the parts of the triangle's sides inside the box.
  Box part;
  Vec3 p = t.a, q = t.b, r = t.c;
  HEAPWOOD_ROLLED
  for (unsigned side = 0; side < 3; ++side) {
    add_segment(p, q, outside_p, outside_q, box, part);
    const Vec3 first = p;
    const unsigned outside_first = outside_p;
    p = q, q = r, r = first;
    outside_p = outside_q, outside_q = outside_r, outside_r = outside_first;
  }
  // Add the points in which box edges pass through the triangle.
  unsigned edges = edges_between(crossed);
  if (edges != 0) {
    const float scale = scale_of(full), unscale = 1.0f / scale;
    const RoundedNormal normal = RoundedNormal::of((t.b - t.a) * scale, (t.c - t.a) * scale);
    HEAPWOOD_ROLLED
    for (; edges != 0; edges &= edges - 1) {
      const unsigned edge = simt::lowest_bit(edges), axis = edge >> 2;
      const unsigned i = axis == 0 ? 1 : 0, j = axis == 2 ? 1 : 2;
      const float u = ((edge & 1) != 0 ? box.hi : box.lo)[i],
                  v = ((edge & 2) != 0 ? box.hi : box.lo)[j];
      add_box_edge(t, normal, scale, unscale, axis, u, v, whole, part);
    }
  }
  if (part.empty()) return whole;
  const Vec3 pad = max(max(full.lo, -full.lo), max(full.hi, -full.hi)) * edge_error;
  return clamp_box(Box{part.lo - pad, part.hi + pad}, whole);
}

}  // namespace heapwood::kdtree
