// SPDX-License-Identifier: MIT
#include "render/occlusion_rays.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "simt/lanes.hpp"

namespace heapwood::render {
namespace {

using simt::Floats8;
constexpr unsigned lanes = 8;

[[gnu::always_inline]] inline void load(Floats8& to, const float* from) {
  std::memcpy(&to, from, sizeof to);
}

// sin(2 pi x) for |x| <= 1/4, to within 1e-7.
[[gnu::always_inline]] inline void sine(const Floats8& x, Floats8& to) {
  const Floats8 a = 6.28318530718f * x, b = a * a;
  to = a * (1 + b * (-1.0f / 6 +
                     b * (1.0f / 120 +
                          b * (-1.0f / 5040 + b * (1.0f / 362880 + b * (-1.0f / 39916800))))));
}

}  // namespace

HEAPWOOD_CLONED
void make_occlusion_rays(const Surface& at, const PixelRandom& random, std::uint32_t sample,
                         std::uint32_t count, float reach, kdtree::Ray* rays) {
  const Vec3 start = start_above(at), n = at.normal;
  Vec3 s, t;
  basis(n, s, t);
  for (std::uint32_t first = 0; first < count; first += lanes) {
    const std::uint32_t used = std::min(lanes, count - first);
    // Polar coordinates on the disc below the hemisphere: angle in turns less half a turn, radius,
    // height above the disc.
    alignas(32) float turns[lanes] = {}, radius[lanes] = {}, height[lanes] = {};
    for (std::uint32_t i = 0; i < used; ++i) {
      const std::uint32_t k = sample * count + first + i;
      const Point2 u = random.even_point(k, dimension::occlusion);
      turns[i] = u.y - 0.5f;
      radius[i] = std::sqrt(u.x);
      height[i] = std::sqrt(1 - u.x);
      rays[first + i].tmax = reach * (0.05f + 0.95f * random.even_value(k, dimension::reach));
    }
    Floats8 x, r, h, sin, cos;
    load(x, turns);
    load(r, radius);
    load(h, height);
    const Floats8 size = x < 0 ? -x : x, rest = (x < 0 ? -0.5f - x : 0.5f - x);
    sine(size > 0.25f ? rest : x, sin);
    sine(0.25f - size, cos);
    // Half a turn changes both signs.
    const Floats8 p = -r * cos, q = -r * sin;
    const Floats8 dx = s.x * p + t.x * q + n.x * h, dy = s.y * p + t.y * q + n.y * h,
                  dz = s.z * p + t.z * q + n.z * h;
    for (std::uint32_t i = 0; i < used; ++i) {
      kdtree::Ray& ray = rays[first + i];
      ray.origin = start;
      ray.tmin = 0;
      ray.direction = {dx[i], dy[i], dz[i]};
    }
  }
}

}  // namespace heapwood::render
