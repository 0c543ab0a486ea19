// SPDX-License-Identifier: MIT
// Bounds of the part of a triangle on one side of a plane or inside a box, in single precision and
// identical on every device. The bounds decide splits. They are accurate to a few ulps and never
// lose a ref: a ref that a caller has counted keeps valid bounds inside its node.
#pragma once

#include "geometry/triangle.hpp"

namespace heapwood::kdtree {

struct Sides {
  Box left, right;
};

// Clamps the interval [lo, hi] to [min, max]; an inverted interval becomes one point in it.
SIMT_INLINE void clamp_interval(float& lo, float& hi, float min, float max) {
  lo = simt::max(lo, min);
  hi = simt::min(hi, max);
  if (lo > hi) lo = hi = simt::min(simt::max(lo, min), max);
}
// Clamps `part` to `within`; the result is never empty.
SIMT_INLINE Box clamp_box(Box part, const Box& within) {
  clamp_interval(part.lo.x, part.hi.x, within.lo.x, within.hi.x);
  clamp_interval(part.lo.y, part.hi.y, within.lo.y, within.hi.y);
  clamp_interval(part.lo.z, part.hi.z, within.lo.z, within.hi.z);
  return part;
}

// The point where the edge a-b meets the plane; a lies at distance `da` from it, b at `db`, with
// opposite signs.
SIMT_INLINE Vec3 crossing(Vec3 a, Vec3 b, float da, float db) {
  const float t = da / (da - db);
  const Vec3 q = a + (b - a) * t;
  // rounding must not move the point out of the edge's box
  return max(min(a, b), min(max(a, b), q));
}

// Grows both sides by the edge's crossing point, if it crosses the plane.
SIMT_INLINE void add_crossing(Vec3 a, Vec3 b, float da, float db, Box& left, Box& right) {
  if ((da < 0.0f && db > 0.0f) || (da > 0.0f && db < 0.0f)) {
    const Vec3 q = crossing(a, b, da, db);
    left.grow(q);
    right.grow(q);
  }
}

// Bounds of the triangle's parts on both sides of `axis` = p. Each lies inside `box`, the bounds
// known so far, which the plane cuts.
SIMT_INLINE Sides split_bounds(const Corners& t, const Box& box, unsigned axis, float p) {
  Vec3 a = t.a, b = t.b, c = t.c;
  float da = a[axis] - p, db = b[axis] - p, dc = c[axis] - p;
  Box left, right;
  // Corner a and edge a-b, three times with rotated corners. The loop is rolled so that the
  // builder's code fits the instruction cache.
  SIMT_ROLLED
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

// Clips the segment a-b to the box (Liang & Barsky 1984) and grows `part` by the ends of the
// remaining segment.
SIMT_INLINE void add_segment(Vec3 a, Vec3 b, const Box& box, Box& part) {
  float t0 = 0.0f, t1 = 1.0f;
  const Vec3 d = b - a;
  bool inside = true;
  SIMT_UNROLLED
  for (unsigned axis = 0; axis < 3; ++axis) {
    const float da = d[axis], lo = box.lo[axis] - a[axis], hi = box.hi[axis] - a[axis];
    if (da == 0.0f) {
      inside = inside && lo <= 0.0f && hi >= 0.0f;
    } else {
      const float u = lo / da, v = hi / da;
      t0 = simt::max(t0, simt::min(u, v));
      t1 = simt::min(t1, simt::max(u, v));
    }
  }
  if (!inside || t0 > t1) return;
  const Vec3 lowest = min(a, b), highest = max(a, b);
  part.grow(max(lowest, min(highest, a + d * t0)));
  part.grow(max(lowest, min(highest, a + d * t1)));
}

// The normal of a triangle and the rounding error of each component, which is large relative to the
// normal if the triangle is a needle.
struct RoundedNormal {
  Vec3 value, error;

  static SIMT_INLINE RoundedNormal of(Vec3 e, Vec3 f) {
    const Vec3 p{e.y * f.z, e.z * f.x, e.x * f.y}, q{e.z * f.y, e.x * f.z, e.y * f.x};
    // 4 * 2^-24: two differences, the product, the subtraction
    return {p - q, (max(p, -p) + max(q, -q)) * 2.4e-7f};
  }
};

// Grows `part` by the point where a box edge, parallel to `axis` through (u, v) on the two other
// axes, passes through the triangle, within rounding errors. If the triangle is nearly parallel to
// the edge, that may be the whole edge. Distances are multiplied by `scale`, and the normal is that
// of the scaled triangle.
SIMT_INLINE void add_box_edge(const Corners& t, const RoundedNormal& rounded, float scale,
                              float unscale, unsigned axis, float u, float v, const Box& box,
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
  float lo = box.lo[axis], hi = box.hi[axis];
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

// 2^-exponent of the box's largest extent: scales areas to near 1 without rounding, in any unit of
// length.
SIMT_INLINE float scale_of(const Box& box) {
  const Vec3 e = box.extent();
  const std::uint32_t exponent = simt::bits(simt::max(e.x, simt::max(e.y, e.z))) >> 23;
  return exponent < 1 || exponent > 253 ? 1.0f : simt::from_bits((254 - exponent) << 23);
}

// Bounds of the triangle's part inside the box, padded by 4 ulps of the triangle's coordinates (the
// error of a point on an edge). If rounding finds no part, the overlap of the two boxes.
SIMT_INLINE Box clip_bounds(const Corners& t, const Box& box) {
  const Box full = bounds(t);
  const Box whole = clamp_box(full, box);
  if (full.lo == whole.lo && full.hi == whole.hi) return whole;
  Box part;
  add_segment(t.a, t.b, box, part);
  add_segment(t.b, t.c, box, part);
  add_segment(t.c, t.a, box, part);
  const float scale = scale_of(full), unscale = 1.0f / scale;
  const RoundedNormal normal = RoundedNormal::of((t.b - t.a) * scale, (t.c - t.a) * scale);
  SIMT_ROLLED
  for (unsigned axis = 0; axis < 3; ++axis) {
    const unsigned i = axis == 0 ? 1 : 0, j = axis == 2 ? 1 : 2;
    SIMT_ROLLED
    for (unsigned corner = 0; corner < 4; ++corner) {
      const float u = (corner & 1) ? box.hi[i] : box.lo[i],
                  v = (corner & 2) ? box.hi[j] : box.lo[j];
      add_box_edge(t, normal, scale, unscale, axis, u, v, box, part);
    }
  }
  if (part.empty()) return whole;
  const Vec3 pad = max(max(full.lo, -full.lo), max(full.hi, -full.hi)) * 4.8e-7f;
  return clamp_box(Box{part.lo - pad, part.hi + pad}, whole);
}

}  // namespace heapwood::kdtree
