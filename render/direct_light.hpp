// SPDX-License-Identifier: MIT
// Light that arrives at a surface directly: from the key light, the surroundings, emitting
// triangles or an environment. Each function traces the rays that determine what is in shadow.
#pragma once

#include <cmath>
#include <cstdint>

#include "render/surface.hpp"

namespace heapwood::render {

// Light that arrives at a surface from the key light, with shadows.
template <class View>
HEAPWOOD_INLINE Vec3 key_light(const View& scene, const Frame& frame, const PixelRandom& random,
                               std::uint32_t sample, std::uint32_t salt, const Surface& surface,
                               Point2 u) {
  if constexpr (View::coloured) {
    if (frame.lighting.key_colour == Vec3{}) return {};
  }
  const LightSample light = sample_key(frame.lighting, surface.position, disc(u));
  const float cosine = dot(surface.normal, light.direction);
  if (!(cosine > 0)) return {};
  const kdtree::Ray shadow{start_above(surface), 0, light.direction, light.distance};
  return is_blocked(scene, shadow, random, sample, salt) ? Vec3{} : light.colour * cosine;
}

// The k-th occlusion ray of a pixel. The reach varies randomly between rays, so that occlusion
// fades with distance instead of ending abruptly.
HEAPWOOD_INLINE kdtree::Ray occlusion_ray(const PixelRandom& random, const Surface& surface,
                                          std::uint32_t k, float reach) {
  return {start_above(surface), 0,
          cosine_direction(surface.normal, random.even_point(k, dimension::occlusion)),
          reach * (0.05f + 0.95f * random.even_value(k, dimension::reach))};
}

// Mean light of the surroundings over the hemisphere. An occluder within reach replaces the light
// of its direction by a small fixed share of it. With 0 rays nothing occludes.
template <class View>
HEAPWOOD_INLINE Vec3 ambient_light(const View& scene, const Frame& frame, const PixelRandom& random,
                                   const Surface& surface, std::uint32_t sample,
                                   std::uint32_t rays) {
  if (rays == 0) return surroundings(frame.lighting, surface.normal);
  Vec3 sum;
  for (std::uint32_t i = 0; i < rays; ++i) {
    const kdtree::Ray ray =
        occlusion_ray(random, surface, sample * rays + i, frame.lighting.ambient_reach);
    const Vec3 light = surroundings(frame.lighting, ray.direction);
    sum =
        sum + (is_blocked(scene, ray, random, sample, i) ? light * frame.lighting.occluded : light);
  }
  return sum * (1.0f / static_cast<float>(rays));
}

// Finds where a camera ray that missed the model meets the invisible floor, and sets `surface`.
// Returns false if it does not meet the floor.
HEAPWOOD_INLINE bool floor_at(const Lighting& lighting, const kdtree::Ray& ray, Surface& surface) {
  const Vec3 up = axis_vector(lighting.up);
  const float down = dot(ray.direction, up);
  if (!lighting.floor || !(down < 0)) return false;
  const float t = (lighting.floor_height - dot(ray.origin, up)) / down;
  if (!(t > 0)) return false;
  const Vec3 position = ray.origin + ray.direction * t;
  surface = {position, up, surface_offset({position, position, position}, t)};
  return true;
}

// Brightness of a point of the floor divided by that of an empty floor. It is exactly 1 where
// nothing occludes, so that only the shadow shows on the background, and the floor has no edge.
template <class View>
HEAPWOOD_INLINE float floor_share(const View& scene, const Frame& frame, const PixelRandom& random,
                                  const Surface& surface, std::uint32_t sample, std::uint32_t rays,
                                  float reach) {
  const LightSample light = sample_key(frame.lighting, surface.position,
                                       disc(random.even_point(sample, dimension::light)));
  float open = light.colour.y * simt::max(0.0f, dot(surface.normal, light.direction)), got = open;
  if (open > 0 && is_blocked(scene, {start_above(surface), 0, light.direction, light.distance},
                             random, sample, rays)) {
    got = 0;
  }
  if (rays == 0) {
    const float ambient = surroundings(frame.lighting, surface.normal).y;
    open += ambient;
    got += ambient;
  }
  for (std::uint32_t i = 0; i < rays; ++i) {
    const kdtree::Ray ray = occlusion_ray(random, surface, sample * rays + i, reach);
    const float part = surroundings(frame.lighting, ray.direction).y / static_cast<float>(rays);
    open += part;
    got += is_blocked(scene, ray, random, sample, i) ? part * frame.lighting.occluded : part;
  }
  return open > 0 ? got / open : 1;
}

// Limits the light of an emitter that the camera sees, or that a bounce has hit, to a few times the
// brightest colour of a picture. Otherwise edges of much brighter pixels would look jagged, and
// rare bright paths would leave single bright pixels.
HEAPWOOD_INLINE Vec3 limited(Vec3 light) {
  constexpr float max_light = 3;
  const float largest = simt::max(light.x, simt::max(light.y, light.z));
  return largest > max_light ? light * (max_light / largest) : light;
}

// The density, over solid angle, with which emitter_light() chooses the direction to a point.
HEAPWOOD_INLINE float emitter_density(const MaterialView& materials, std::uint32_t triangle,
                                      float distance, float cosine) {
  const float per_area =
      luminance(material_of(materials, triangle).emission) / materials.emitters.power;
  return per_area * distance * distance / simt::max(cosine, 1e-6f);
}

// The weight of an emitter's light that a bounce has hit, by the balance heuristic.
template <class View>
HEAPWOOD_INLINE float bounce_weight(const View& scene, const kdtree::Ray& ray,
                                    const kdtree::Hit& hit, const Surface& surface, float cosine) {
  if (scene.materials.emitters.count == 0) return 1;
  const float of_bounce = cosine * 0.318309886f;
  const float of_emitter =
      emitter_density(scene.materials, hit.triangle, hit.t, -dot(surface.normal, ray.direction));
  return of_bounce / (of_bounce + of_emitter);
}

// Light that arrives from a random point of a random emitter.
template <class View>
HEAPWOOD_INLINE Vec3 emitter_light(const View& scene, const Frame& frame, const PixelRandom& random,
                                   std::uint32_t sample, std::uint32_t bounce,
                                   const Surface& surface) {
  const Emitters& emitters = scene.materials.emitters;
  if (emitters.count == 0) return {};
  const std::uint32_t first = dimension::emitter + 3 * bounce;
  const Point2 u = bounce == 0 ? random.even_point(sample, first) : random.point(sample, first);
  const float choice =
      bounce == 0 ? random.even_value(sample, first + 2) : random.value(sample, first + 2);
  kdtree::Hit point;
  point.triangle = emitters.triangles[cell_at(emitters.cumulative, emitters.count, choice)];
  const float root = std::sqrt(u.x);
  point.u = root * (1 - u.y);
  point.v = root * u.y;
  const Corners t = corners_of(scene, point.triangle);
  const Vec3 start = start_above(surface);
  const Vec3 to = t.a * (1 - point.u - point.v) + t.b * point.u + t.c * point.v - start;
  const float distance = length(to);
  if (!(distance > 0)) return {};
  const Vec3 direction = to * (1 / distance);
  const float cosine = dot(surface.normal, direction);
  if (!(cosine > 0)) return {};
  const float emitter_cosine = std::fabs(dot(geometric_normal(t), direction));
  const float density = emitter_density(scene.materials, point.triangle, distance, emitter_cosine);
  const kdtree::Ray shadow{start, 0, direction,
                           distance - simt::max(1e-4f * distance, surface_offset(t, distance))};
  const std::uint32_t salt = 128 + bounce;
  if (is_hole(scene.materials, scene.triangles, point,
              coverage_random(random, sample, point.triangle, salt)) ||
      is_blocked(scene, shadow, random, sample, salt)) {
    return {};
  }
  const Vec3 emission =
      emission_at(scene.materials, scene.triangles, point) * frame.lighting.emission;
  // The estimate is emission * of_bounce / density, and the balance heuristic's weight is
  // density / (density + of_bounce): the density cancels.
  const float of_bounce = cosine * 0.318309886f;
  return emission * (of_bounce / (density + of_bounce));
}

// Light of the environment for a ray without a hit. `cosine`: at the surface where the ray started.
template <class View>
HEAPWOOD_INLINE Vec3 environment_found(const View& scene, const kdtree::Ray& ray,
                                       std::uint32_t bounce, float cosine) {
  const EnvironmentLight found = environment_towards(scene.environment, ray.direction);
  if (bounce == 0) return limited(found.radiance);
  const float of_bounce = cosine * 0.318309886f;
  return limited(found.radiance * (of_bounce / (of_bounce + found.density)));
}

// Light that arrives from a direction sampled by the environment's luminance.
template <class View>
HEAPWOOD_INLINE Vec3 environment_light(const View& scene, const PixelRandom& random,
                                       std::uint32_t sample, std::uint32_t bounce,
                                       const Surface& surface) {
  const Point2 u = bounce == 0 ? random.even_point(sample, dimension::light)
                               : random.point(sample, dimension::bounce + 6 * bounce);
  const EnvironmentLight light = sample_environment(scene.environment, u);
  const float cosine = dot(surface.normal, light.direction);
  if (!(cosine > 0)) return {};
  if (is_blocked(scene, {start_above(surface), 0, light.direction, far_away}, random, sample,
                 64 + bounce)) {
    return {};
  }
  // Weighted by the balance heuristic, as in emitter_light().
  const float of_bounce = cosine * 0.318309886f;
  const Vec3 found = light.radiance * (of_bounce / (light.density + of_bounce));
  return bounce == 0 ? found : limited(found);
}

}  // namespace heapwood::render
