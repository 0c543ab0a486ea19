// SPDX-License-Identifier: MIT
// Integrators: add one sample to a pixel, for every mode of picture. Templates over the
// intersection test, shared by CPU and GPU.
//
//   Features      normals, depth, albedo, heat map of traversal steps, size of the leaf that was
//                 hit: one camera ray
//   Shaded        key light with soft shadows, sky and ground light with ambient occlusion
//   Occlusion     ambient occlusion alone
//   PathTraced    diffuse bounces lit by the same lights and by emitting triangles (Kajiya 1986,
//                 "The rendering equation", with direct light sampled; emitters also by bounces,
//                 combined as in Veach 1997, section 9.2), or by an environment instead of the
//                 lights
//
// Everything is diffuse. Camera rays go through pixel centres; with more than one sample per pixel
// a tent filter two pixels wide spreads them.
#pragma once

#include <cmath>
#include <cstdint>

#include "render/direct_light.hpp"

namespace heapwood::render {

HEAPWOOD_INLINE float tent(float u) {
  return u < 0.5f ? std::sqrt(2 * u) - 1 : 1 - std::sqrt(simt::max(0.0f, 2 - 2 * u));
}

HEAPWOOD_INLINE kdtree::Ray camera_ray(const Frame& frame, const PixelRandom& random,
                                       std::uint32_t x, std::uint32_t y, std::uint32_t sample) {
  float px = static_cast<float>(x) + 0.5f, py = static_cast<float>(y) + 0.5f;
  if (frame.total_samples > 1) {
    const Point2 u = random.even_point(sample, dimension::filter);
    px += tent(u.x);
    py += tent(u.y);
  }
  return frame.camera.ray(px, py, far_away);
}

HEAPWOOD_INLINE void add_colour(Pixel& sum, Vec3 colour) {
  sum.r += colour.x;
  sum.g += colour.y;
  sum.b += colour.z;
}

struct Features {
  template <class View>
  static HEAPWOOD_INLINE void add(const View& scene, const Frame& frame, const PixelRandom& random,
                                  std::uint32_t x, std::uint32_t y, std::uint32_t sample,
                                  Pixel& sum) {
    const kdtree::Ray ray = camera_ray(frame, random, x, y, sample);
    kdtree::Counters count;
    kdtree::Hit hit;
    if constexpr (View::coloured) {
      hit = closest_surface(scene, ray, random, sample, 0xffff);
    } else {
      hit = kdtree::closest_hit(scene.tree, ray, count);
    }
    if (frame.mode == Mode::heatmap) {
      // Misses count too, because they cost steps.
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
    } else if (frame.mode == Mode::albedo) {
      add_colour(sum, albedo_at(scene, frame, hit));
    } else {
      add_colour(sum, Vec3{0.5f, 0.5f, 0.5f} + 0.5f * surface_at(scene, ray, hit).normal);
    }
  }
};

struct Shaded {
  template <class View>
  static HEAPWOOD_INLINE void add(const View& scene, const Frame& frame, const PixelRandom& random,
                                  std::uint32_t x, std::uint32_t y, std::uint32_t sample,
                                  Pixel& sum) {
    const kdtree::Ray ray = camera_ray(frame, random, x, y, sample);
    const kdtree::Hit hit = closest_surface(scene, ray, random, sample, 0xffff);
    const float row = (static_cast<float>(y) + 0.5f) * frame.camera.inverse_height;
    Surface surface;
    if (!hit.found()) {
      float share = 1;
      if (floor_at(frame.lighting, ray, surface)) {
        share = floor_share(scene, frame, random, surface, sample, frame.occlusion_rays,
                            frame.lighting.ambient_reach);
      }
      return add_colour(sum, background(frame.lighting, row) * share);
    }
    sum.a += 1;
    if (is_unlit(scene, hit)) return add_colour(sum, albedo_at(scene, frame, hit));
    surface = surface_at(scene, ray, hit);
    const Vec3 key = key_light(scene, frame, random, sample, 0xfffe, surface,
                               random.even_point(sample, dimension::light));
    const Vec3 ambient = ambient_light(scene, frame, random, surface, sample, frame.occlusion_rays);
    // A weak light at the camera shows shape where the key light does not reach.
    const float headlight = frame.lighting.headlight * -dot(surface.normal, ray.direction);
    Vec3 colour =
        albedo_at(scene, frame, hit) * (key + ambient + Vec3{headlight, headlight, headlight});
    if constexpr (View::coloured)
      colour = colour + limited(emission_at(scene.materials, scene.triangles, hit));
    add_colour(sum, colour);
  }
};

struct Occlusion {
  template <class View>
  static HEAPWOOD_INLINE void add(const View& scene, const Frame& frame, const PixelRandom& random,
                                  std::uint32_t x, std::uint32_t y, std::uint32_t sample,
                                  Pixel& sum) {
    const kdtree::Ray ray = camera_ray(frame, random, x, y, sample);
    const kdtree::Hit hit = kdtree::closest_hit(scene.tree, ray);
    float open = 1;
    if (hit.found()) {
      sum.a += 1;
      const Surface surface = surface_at(scene, ray, hit);
      std::uint32_t free = 0;
      for (std::uint32_t i = 0; i < frame.occlusion_rays; ++i) {
        const kdtree::Ray occlusion = occlusion_ray(
            random, surface, sample * frame.occlusion_rays + i, frame.lighting.ambient_reach);
        free += kdtree::any_hit(scene.tree, occlusion) ? 0 : 1;
      }
      open = static_cast<float>(free) / static_cast<float>(frame.occlusion_rays);
    }
    add_colour(sum, {open, open, open});
  }
};

struct PathTraced {
  template <class View>
  static HEAPWOOD_INLINE void add(const View& scene, const Frame& frame, const PixelRandom& random,
                                  std::uint32_t x, std::uint32_t y, std::uint32_t sample,
                                  Pixel& sum) {
    kdtree::Ray ray = camera_ray(frame, random, x, y, sample);
    Vec3 throughput{1, 1, 1}, light;
    float cosine = 0;  // cosine at the surface where the ray started
    for (std::uint32_t bounce = 0; bounce <= frame.bounces; ++bounce) {
      const kdtree::Hit hit = closest_surface(scene, ray, random, sample, bounce);
      if (!hit.found()) {
        Vec3 seen;
        if constexpr (Surrounded<View>) {
          seen = environment_found(scene, ray, bounce, cosine);
        } else if (bounce == 0) {
          seen = background(frame.lighting,
                            (static_cast<float>(y) + 0.5f) * frame.camera.inverse_height);
          Surface surface;
          if (floor_at(frame.lighting, ray, surface)) {
            seen = seen * floor_share(scene, frame, random, surface, sample, 1, far_away);
          }
        } else {
          seen = surroundings(frame.lighting, ray.direction);
        }
        light = light + throughput * seen;
        break;
      }
      if (bounce == 0) sum.a += 1;
      if (is_unlit(scene, hit)) {
        light = light + throughput * albedo_at(scene, frame, hit);
        break;
      }
      const Surface surface = surface_at(scene, ray, hit);
      if constexpr (View::coloured) {
        Vec3 emitted = emission_at(scene.materials, scene.triangles, hit) * frame.lighting.emission;
        if (bounce > 0 && !(emitted == Vec3{}))
          emitted = emitted * bounce_weight(scene, ray, hit, surface, cosine);
        light = light + throughput * limited(emitted);
      }
      throughput = throughput * albedo_at(scene, frame, hit);
      const std::uint32_t first = dimension::bounce + 6 * bounce;
      if constexpr (Surrounded<View>) {
        light = light + throughput * environment_light(scene, random, sample, bounce, surface);
      } else {
        light = light + throughput * key_light(scene, frame, random, sample, 64 + bounce, surface,
                                               random.point(sample, first));
      }
      if constexpr (View::coloured) {
        const Vec3 direct = emitter_light(scene, frame, random, sample, bounce, surface);
        light = light + throughput * (bounce == 0 ? direct : limited(direct));
      }
      const Vec3 d = cosine_direction(surface.normal, random.point(sample, first + 2));
      cosine = dot(surface.normal, d);
      ray = {start_above(surface), 0, d, far_away};
    }
    add_colour(sum, light);
  }
};

}  // namespace heapwood::render
