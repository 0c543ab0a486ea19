// SPDX-License-Identifier: MIT
// Integrators: add one sample to a pixel, for every mode of picture. Templates over the
// intersection test, shared by CPU and GPU.
//
//   Features      normals, depth, heat map of traversal steps, size of the leaf that was hit: one
//                 camera ray
//   Shaded        a clay model: key light with soft shadows, sky and ground light with ambient
//                 occlusion
//   Occlusion     ambient occlusion alone
//   PathTraced    diffuse bounces lit by the same lights (Kajiya 1986, "The rendering equation",
//                 with direct light sampled)
//
// Everything is diffuse: meshes have no materials. Camera rays go through pixel centres; with more
// than one sample per pixel a tent filter two pixels wide spreads them.
#pragma once

#include <cstdint>

#include "kdtree/split/clip.hpp"
#include "kdtree/traverse/traverse.hpp"
#include "render/camera.hpp"
#include "render/lighting.hpp"
#include "render/random.hpp"

namespace heapwood::render {

enum class Mode : std::uint8_t { shaded, path, ao, normals, depth, heatmap, leaves };

// Sum over a pixel's samples. `a` counts the samples that hit (in heatmap mode all samples); the
// meaning of r, g, b depends on the mode.
struct alignas(16) Pixel {
  float r = 0, g = 0, b = 0, a = 0;
};

// The kernel's parameters for one pass of a picture.
struct Frame {
  CameraFrame camera;
  Lighting lighting;
  std::uint32_t width, height;
  std::uint32_t first_sample, samples;  // of this pass
  std::uint32_t end_tile;  // tiles from the ticket's start up to this one are rendered (kernel.hpp)
  std::uint32_t total_samples;   // of the picture
  std::uint32_t occlusion_rays;  // per sample, in modes shaded and ao
  std::uint32_t bounces;         // in mode path
  std::uint32_t seed;
  Mode mode;
};

template <class Intersection>
struct SceneView {
  kdtree::TreeView<Intersection> tree;
  const Vec3* vertices;
  const Triangle* triangles;
};

inline constexpr float far_away = 1e30f;

// Dimensions of PixelRandom, one per use.
namespace dimension {
inline constexpr std::uint32_t filter = 0, light = 2, occlusion = 4, reach = 6,
                               bounce = 8;  // 6 per bounce
}

struct Surface {
  Vec3 position, normal;  // the normal is on the side of the ray's origin
  float offset;           // along the normal, for the start of rays from here
};

// The offset for rays that start at a hit, large enough that rounding cannot put their start behind
// the triangle: about 16 ulps of the corners and of the distance that the hit was computed from.
// Independent of the scene's size, so that a small model on a large plain keeps its shadows.
SIMT_INLINE float surface_offset(const Corners& t, float distance) {
  const Vec3 corner = max(max(max(t.a, -t.a), max(t.b, -t.b)), max(t.c, -t.c));
  return 2e-6f * (simt::max(corner.x, simt::max(corner.y, corner.z)) + distance);
}
SIMT_INLINE Vec3 start_above(const Surface& at) { return at.position + at.normal * at.offset; }

SIMT_INLINE Vec3 geometric_normal(const Corners& t) {
  // Edges are scaled so that the squares of tiny and huge ones stay in range. The factors are
  // powers of two, so that nothing is rounded: a component that is zero stays zero, and rounding
  // noise does not decide which of the two bases the normal gets (basis()).
  const auto scaled = [](Vec3 v) { return v * kdtree::scale_of({{}, max(v, -v)}); };
  return normalize(cross(scaled(t.b - t.a), scaled(t.c - t.a)));
}

template <class Intersection>
SIMT_INLINE Surface surface_at(const SceneView<Intersection>& scene, const kdtree::Ray& ray,
                               const kdtree::Hit& hit) {
  const Triangle t = scene.triangles[hit.triangle];
  const Corners corners{scene.vertices[t.v[0]], scene.vertices[t.v[1]], scene.vertices[t.v[2]]};
  const Vec3 n = geometric_normal(corners);
  return {ray.origin + ray.direction * hit.t, dot(n, ray.direction) > 0 ? -n : n,
          surface_offset(corners, hit.t)};
}

SIMT_INLINE float tent(float u) {
  return u < 0.5f ? std::sqrt(2 * u) - 1 : 1 - std::sqrt(simt::max(0.0f, 2 - 2 * u));
}

SIMT_INLINE kdtree::Ray camera_ray(const Frame& frame, const PixelRandom& random, std::uint32_t x,
                                   std::uint32_t y, std::uint32_t sample) {
  float px = static_cast<float>(x) + 0.5f, py = static_cast<float>(y) + 0.5f;
  if (frame.total_samples > 1) {
    const Point2 u = random.even_point(sample, dimension::filter);
    px += tent(u.x);
    py += tent(u.y);
  }
  return frame.camera.ray(px, py, far_away);
}

// Light that arrives at a surface from the key light, with shadows.
template <class Intersection>
SIMT_INLINE Vec3 key_light(const SceneView<Intersection>& scene, const Frame& frame,
                           const Surface& at, Point2 u) {
  const LightSample light = sample_key(frame.lighting, at.position, disc(u));
  const float cosine = dot(at.normal, light.direction);
  if (!(cosine > 0)) return {};
  const kdtree::Ray shadow{start_above(at), 0, light.direction, light.distance};
  return kdtree::any_hit(scene.tree, shadow) ? Vec3{} : light.colour * cosine;
}

// Mean light of the surroundings over the hemisphere. An occluder within reach replaces the light
// of its direction by a fixed small share of it. The reach varies from ray to ray, so that
// occlusion fades with distance instead of ending abruptly. Without rays nothing occludes.
template <class Intersection>
SIMT_INLINE Vec3 ambient_light(const SceneView<Intersection>& scene, const Frame& frame,
                               const PixelRandom& random, const Surface& at, std::uint32_t sample,
                               std::uint32_t rays) {
  if (rays == 0) return surroundings(frame.lighting, at.normal);
  Vec3 sum;
  for (std::uint32_t i = 0; i < rays; ++i) {
    const std::uint32_t k = sample * rays + i;
    const Vec3 d = cosine_direction(at.normal, random.even_point(k, dimension::occlusion));
    const float reach =
        frame.lighting.ambient_reach * (0.05f + 0.95f * random.even_value(k, dimension::reach));
    const kdtree::Ray ray{start_above(at), 0, d, reach};
    const Vec3 light = surroundings(frame.lighting, d);
    sum = sum + (kdtree::any_hit(scene.tree, ray) ? light * frame.lighting.occluded : light);
  }
  return sum * (1.0f / static_cast<float>(rays));
}

// Sets `surface` to where a camera ray that missed the model meets the invisible floor; returns
// false if it does not.
SIMT_INLINE bool floor_at(const Lighting& lighting, const kdtree::Ray& ray, Surface& surface) {
  const Vec3 up = axis_vector(lighting.up);
  const float down = dot(ray.direction, up);
  if (!lighting.floor || !(down < 0)) return false;
  const float t = (lighting.floor_height - dot(ray.origin, up)) / down;
  if (!(t > 0)) return false;
  const Vec3 position = ray.origin + ray.direction * t;
  surface = {position, up, surface_offset({position, position, position}, t)};
  return true;
}

// Brightness of a point of the floor divided by that of an empty floor. Exactly 1 where nothing
// occludes, so that the floor shows only as a shadow on the background and has no edge.
template <class Intersection>
SIMT_INLINE float floor_share(const SceneView<Intersection>& scene, const Frame& frame,
                              const PixelRandom& random, const Surface& at, std::uint32_t sample,
                              std::uint32_t rays, float reach) {
  const LightSample light =
      sample_key(frame.lighting, at.position, disc(random.even_point(sample, dimension::light)));
  const Vec3 start = start_above(at);
  float open = light.colour.y * simt::max(0.0f, dot(at.normal, light.direction)), got = open;
  if (open > 0 && kdtree::any_hit(scene.tree, {start, 0, light.direction, light.distance})) got = 0;
  if (rays == 0) {
    const float ambient = surroundings(frame.lighting, at.normal).y;
    open += ambient;
    got += ambient;
  }
  for (std::uint32_t i = 0; i < rays; ++i) {
    const std::uint32_t k = sample * rays + i;
    const Vec3 d = cosine_direction(at.normal, random.even_point(k, dimension::occlusion));
    const float part = surroundings(frame.lighting, d).y / static_cast<float>(rays);
    const float end = reach * (0.05f + 0.95f * random.even_value(k, dimension::reach));
    open += part;
    got += kdtree::any_hit(scene.tree, {start, 0, d, end}) ? part * frame.lighting.occluded : part;
  }
  return open > 0 ? got / open : 1;
}

struct Features {
  template <class Intersection>
  static SIMT_INLINE void add(const SceneView<Intersection>& scene, const Frame& frame,
                              const PixelRandom& random, std::uint32_t x, std::uint32_t y,
                              std::uint32_t sample, Pixel& sum) {
    const kdtree::Ray ray = camera_ray(frame, random, x, y, sample);
    kdtree::Counters count;
    const kdtree::Hit hit = kdtree::closest_hit(scene.tree, ray, count);
    if (frame.mode == Mode::heatmap) {
      // Counts misses as well: they cost steps, too.
      sum.r += static_cast<float>(count.inner_steps + count.leaves);
      sum.g += static_cast<float>(count.tests);
      sum.a += 1;
      return;
    }
    if (!hit.found()) return;
    sum.a += 1;
    if (frame.mode == Mode::depth) {
      sum.r += hit.t;
    } else if (frame.mode == Mode::leaves) {
      sum.r += static_cast<float>(count.hit_leaf);
    } else {
      const Vec3 n = surface_at(scene, ray, hit).normal;
      sum.r += 0.5f + 0.5f * n.x;
      sum.g += 0.5f + 0.5f * n.y;
      sum.b += 0.5f + 0.5f * n.z;
    }
  }
};

struct Shaded {
  template <class Intersection>
  static SIMT_INLINE void add(const SceneView<Intersection>& scene, const Frame& frame,
                              const PixelRandom& random, std::uint32_t x, std::uint32_t y,
                              std::uint32_t sample, Pixel& sum) {
    const kdtree::Ray ray = camera_ray(frame, random, x, y, sample);
    const kdtree::Hit hit = kdtree::closest_hit(scene.tree, ray);
    const float row = (static_cast<float>(y) + 0.5f) * frame.camera.inverse_height;
    Surface at;
    if (!hit.found()) {
      float share = 1;
      if (floor_at(frame.lighting, ray, at)) {
        share = floor_share(scene, frame, random, at, sample, frame.occlusion_rays,
                            frame.lighting.ambient_reach);
      }
      return add_colour(sum, background(frame.lighting, row) * share);
    }
    sum.a += 1;
    at = surface_at(scene, ray, hit);
    const Vec3 key = key_light(scene, frame, at, random.even_point(sample, dimension::light));
    const Vec3 ambient = ambient_light(scene, frame, random, at, sample, frame.occlusion_rays);
    // A weak light at the camera shows shape where the key light does not reach.
    const float headlight = frame.lighting.headlight * -dot(at.normal, ray.direction);
    add_colour(sum,
               frame.lighting.albedo * (key + ambient + Vec3{headlight, headlight, headlight}));
  }

 private:
  static SIMT_INLINE void add_colour(Pixel& sum, Vec3 colour) {
    sum.r += colour.x;
    sum.g += colour.y;
    sum.b += colour.z;
  }
};

struct Occlusion {
  template <class Intersection>
  static SIMT_INLINE void add(const SceneView<Intersection>& scene, const Frame& frame,
                              const PixelRandom& random, std::uint32_t x, std::uint32_t y,
                              std::uint32_t sample, Pixel& sum) {
    const kdtree::Ray ray = camera_ray(frame, random, x, y, sample);
    const kdtree::Hit hit = kdtree::closest_hit(scene.tree, ray);
    float open = 1;
    if (hit.found()) {
      sum.a += 1;
      const Surface at = surface_at(scene, ray, hit);
      std::uint32_t free = 0;
      for (std::uint32_t i = 0; i < frame.occlusion_rays; ++i) {
        const std::uint32_t k = sample * frame.occlusion_rays + i;
        const Vec3 d = cosine_direction(at.normal, random.even_point(k, dimension::occlusion));
        const float reach =
            frame.lighting.ambient_reach * (0.05f + 0.95f * random.even_value(k, dimension::reach));
        free += kdtree::any_hit(scene.tree, {start_above(at), 0, d, reach}) ? 0 : 1;
      }
      open = static_cast<float>(free) / static_cast<float>(frame.occlusion_rays);
    }
    sum.r += open;
    sum.g += open;
    sum.b += open;
  }
};

struct PathTraced {
  template <class Intersection>
  static SIMT_INLINE void add(const SceneView<Intersection>& scene, const Frame& frame,
                              const PixelRandom& random, std::uint32_t x, std::uint32_t y,
                              std::uint32_t sample, Pixel& sum) {
    kdtree::Ray ray = camera_ray(frame, random, x, y, sample);
    Vec3 throughput{1, 1, 1}, light;
    for (std::uint32_t bounce = 0; bounce <= frame.bounces; ++bounce) {
      const kdtree::Hit hit = kdtree::closest_hit(scene.tree, ray);
      if (!hit.found()) {
        Vec3 seen;
        if (bounce == 0) {
          seen = background(frame.lighting,
                            (static_cast<float>(y) + 0.5f) * frame.camera.inverse_height);
          Surface at;
          if (floor_at(frame.lighting, ray, at)) {
            seen = seen * floor_share(scene, frame, random, at, sample, 1, far_away);
          }
        } else {
          seen = surroundings(frame.lighting, ray.direction);
        }
        light = light + throughput * seen;
        break;
      }
      if (bounce == 0) sum.a += 1;
      const Surface at = surface_at(scene, ray, hit);
      throughput = throughput * frame.lighting.albedo;
      const std::uint32_t first = dimension::bounce + 6 * bounce;
      light = light + throughput * key_light(scene, frame, at, random.point(sample, first));
      const Vec3 d = cosine_direction(at.normal, random.point(sample, first + 2));
      ray = {start_above(at), 0, d, far_away};
    }
    sum.r += light.x;
    sum.g += light.y;
    sum.b += light.z;
  }
};

}  // namespace heapwood::render
