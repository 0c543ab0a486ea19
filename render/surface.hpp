// SPDX-License-Identifier: MIT
// The surfaces that rays hit: those of the mesh, without the holes of their materials.
#pragma once

#include <cstdint>

#include "kdtree/split/clip.hpp"
#include "kdtree/traverse/traverse.hpp"
#include "render/frame.hpp"
#include "render/random.hpp"

namespace heapwood::render {

inline constexpr float far_away = 1e30f;

// Dimensions of PixelRandom, one per purpose.
namespace dimension {
inline constexpr std::uint32_t filter = 0, light = 2, occlusion = 4, reach = 6,
                               bounce = 8,  // 6 per bounce
    emitter = 1u << 16,                     // 3 per bounce
    coverage = 1u << 20;                    // per triangle
}

struct Surface {
  Vec3 position, normal;  // the normal is on the side of the ray's origin
  float offset;           // distance along the normal at which rays from here start
};

// The offset for rays that start at a hit, large enough that rounding cannot put their start behind
// the triangle: about 16 ulps of the corners and of the distance from which the hit was computed.
// Independent of the scene's size, so that a small model on a large plain keeps its shadows.
HEAPWOOD_INLINE float surface_offset(const Corners& t, float distance) {
  const Vec3 corner = max(max(max(t.a, -t.a), max(t.b, -t.b)), max(t.c, -t.c));
  return 2e-6f * (simt::max(corner.x, simt::max(corner.y, corner.z)) + distance);
}
HEAPWOOD_INLINE Vec3 start_above(const Surface& surface) {
  return surface.position + surface.normal * surface.offset;
}

HEAPWOOD_INLINE Vec3 geometric_normal(const Corners& t) {
  // Edges are scaled so that the squares of tiny and huge ones stay in range. The factors are
  // powers of two, so nothing is rounded: a component that is zero stays zero, and rounding noise
  // does not decide which of the two bases the normal gets (basis()).
  const auto scaled = [](Vec3 v) { return v * kdtree::scale_of({{}, max(v, -v)}); };
  return normalize(cross(scaled(t.b - t.a), scaled(t.c - t.a)));
}

template <class View>
HEAPWOOD_INLINE Corners corners_of(const View& scene, std::uint32_t triangle) {
  const Triangle t = scene.triangles[triangle];
  return {scene.vertices[t.v[0]], scene.vertices[t.v[1]], scene.vertices[t.v[2]]};
}

template <class View>
HEAPWOOD_INLINE Surface surface_at(const View& scene, const kdtree::Ray& ray,
                                   const kdtree::Hit& hit) {
  const Corners corners = corners_of(scene, hit.triangle);
  const Vec3 n = geometric_normal(corners);
  return {ray.origin + ray.direction * hit.t, dot(n, ray.direction) > 0 ? -n : n,
          surface_offset(corners, hit.t)};
}

// The random number that decides whether a blended surface is hit.
HEAPWOOD_INLINE float coverage_random(const PixelRandom& random, std::uint32_t sample,
                                      std::uint32_t triangle, std::uint32_t salt) {
  return random.value(sample, (dimension::coverage + triangle) ^ pcg(salt));
}

// The intersection test of a view with materials: rejects hits in holes, so that the search
// continues behind them. Blended surfaces are hit at random; a ray must meet the same holes in
// every leaf, and `salt` makes the holes differ between the rays of one sample.
template <class View>
class SurfaceTest : public View::Intersection {
 public:
  using Base = typename View::Intersection;
  using Record = typename Base::Record;

  HEAPWOOD_INLINE SurfaceTest(const View& scene, const kdtree::Ray& ray, const PixelRandom& random,
                              std::uint32_t sample, std::uint32_t salt)
      : Base(ray, scene.tree.slack), scene_(scene), random_(random), sample_(sample), salt_(salt) {}

  HEAPWOOD_INLINE bool test(const Record* record, const kdtree::Ray& ray, float lower, float upper,
                            float& t) const {
    float h;
    if (!Base::test(record, ray, lower, upper, h) || !accepts(record, ray, h)) return false;
    t = h;
    return true;
  }
  HEAPWOOD_INLINE bool accepts(const Record* record, const kdtree::Ray& ray, float t) const {
    return !(scene_.materials.has_holes && is_hole_at(record, ray, t));
  }

 private:
  HEAPWOOD_INLINE bool is_hole_at(const Record* record, const kdtree::Ray& ray, float t) const {
    kdtree::Hit hit{.t = t, .triangle = scene_.tree.ids[record - scene_.tree.records]};
    Base::coordinates(record, ray, t, hit.u, hit.v);
    return is_hole(scene_.materials, scene_.triangles, hit,
                   coverage_random(random_, sample_, hit.triangle, salt_));
  }

  const View& scene_;
  const PixelRandom& random_;
  std::uint32_t sample_, salt_;
};

// The closest hit that is not a hole.
template <class View>
HEAPWOOD_INLINE kdtree::Hit closest_surface(const View& scene, const kdtree::Ray& ray,
                                            const PixelRandom& random, std::uint32_t sample,
                                            std::uint32_t salt) {
  if constexpr (!View::coloured) {
    return kdtree::closest_hit(scene.tree, ray);
  } else {
    kdtree::NoCounters none;
    return kdtree::closest_hit(scene.tree, SurfaceTest<View>(scene, ray, random, sample, salt), ray,
                               none);
  }
}

// Whether a surface that is not a hole lies in the ray's interval.
template <class View>
HEAPWOOD_INLINE bool is_blocked(const View& scene, const kdtree::Ray& ray,
                                const PixelRandom& random, std::uint32_t sample,
                                std::uint32_t salt) {
  if constexpr (!View::coloured) {
    return kdtree::any_hit(scene.tree, ray);
  } else {
    return kdtree::any_hit(scene.tree, SurfaceTest<View>(scene, ray, random, sample, salt), ray);
  }
}

template <class View>
HEAPWOOD_INLINE bool is_unlit(const View& scene, const kdtree::Hit& hit) {
  if constexpr (View::coloured) {
    return material_of(scene.materials, hit.triangle).unlit;
  } else {
    return false;
  }
}

// The fraction of each colour that a surface reflects.
template <class View>
HEAPWOOD_INLINE Vec3 albedo_at(const View& scene, const Frame& frame, const kdtree::Hit& hit) {
  if constexpr (View::coloured) {
    return colour_at(scene.materials, scene.triangles, hit).colour;
  } else {
    return frame.lighting.albedo;
  }
}

}  // namespace heapwood::render
