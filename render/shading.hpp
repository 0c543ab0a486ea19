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
// Everything is diffuse. A SceneView shows the mesh in clay; a ColouredView in its materials'
// colours, with holes where they are not opaque. Camera rays go through pixel centres; with more
// than one sample per pixel a tent filter two pixels wide spreads them.
#pragma once

#include <cstdint>

#include "kdtree/split/clip.hpp"
#include "kdtree/traverse/traverse.hpp"
#include "render/camera.hpp"
#include "render/environment_view.hpp"
#include "render/lighting.hpp"
#include "render/material_view.hpp"
#include "render/random.hpp"

namespace heapwood::render {

enum class Mode : std::uint8_t { shaded, path, ao, normals, depth, heatmap, leaves, albedo };

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
  bool clay;  // without the scene's colours
};

template <class Test>
struct SceneView {
  using Intersection = Test;
  static constexpr bool coloured = false;
  kdtree::TreeView<Intersection> tree;
  const Vec3* vertices;
  const Triangle* triangles;
};

template <class Test>
struct ColouredView : SceneView<Test> {
  static constexpr bool coloured = true;
  MaterialView materials;
};

// With an environment, which replaces key light, surroundings, background and floor.
template <class Test>
struct SurroundedView : ColouredView<Test> {
  EnvironmentView environment;
};
template <class View>
concept Surrounded = requires(const View& view) {
  view.environment;
};

inline constexpr float far_away = 1e30f;

// Dimensions of PixelRandom, one per use.
namespace dimension {
inline constexpr std::uint32_t filter = 0, light = 2, occlusion = 4, reach = 6,
                               bounce = 8,  // 6 per bounce
    emitter = 1u << 16,                     // 3 per bounce
    coverage = 1u << 20;                    // of a triangle
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

template <class View>
SIMT_INLINE Corners corners_of(const View& scene, std::uint32_t triangle) {
  const Triangle t = scene.triangles[triangle];
  return {scene.vertices[t.v[0]], scene.vertices[t.v[1]], scene.vertices[t.v[2]]};
}

template <class View>
SIMT_INLINE Surface surface_at(const View& scene, const kdtree::Ray& ray, const kdtree::Hit& hit) {
  const Corners corners = corners_of(scene, hit.triangle);
  const Vec3 n = geometric_normal(corners);
  return {ray.origin + ray.direction * hit.t, dot(n, ray.direction) > 0 ? -n : n,
          surface_offset(corners, hit.t)};
}

// Decides whether a blended surface is hit.
SIMT_INLINE float coverage_random(const PixelRandom& random, std::uint32_t sample,
                                  std::uint32_t triangle, std::uint32_t salt) {
  return random.value(sample, (dimension::coverage + triangle) ^ pcg(salt));
}

// The intersection test of a view with materials: rejects hits in holes, so that the search
// continues behind them. `salt` tells apart the rays of one sample: blended surfaces are hit at
// random, and the same ray meets the same holes in every leaf.
template <class View>
class SurfaceTest : public View::Intersection {
 public:
  using Base = typename View::Intersection;
  using Record = typename Base::Record;

  SIMT_INLINE SurfaceTest(const View& scene, const kdtree::Ray& ray, const PixelRandom& random,
                          std::uint32_t sample, std::uint32_t salt)
      : Base(ray, scene.tree.slack), scene_(scene), random_(random), sample_(sample), salt_(salt) {}

  SIMT_INLINE bool test(const Record* record, const kdtree::Ray& ray, float lower, float upper,
                        float& t) const {
    float h;
    if (!Base::test(record, ray, lower, upper, h)) return false;
    if (scene_.materials.has_holes && is_hole_at(record, ray, h)) return false;
    t = h;
    return true;
  }

 private:
  SIMT_INLINE bool is_hole_at(const Record* record, const kdtree::Ray& ray, float t) const {
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
SIMT_INLINE kdtree::Hit closest_surface(const View& scene, const kdtree::Ray& ray,
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

// Whether a surface, not a hole, lies in the ray's interval.
template <class View>
SIMT_INLINE bool is_blocked(const View& scene, const kdtree::Ray& ray, const PixelRandom& random,
                            std::uint32_t sample, std::uint32_t salt) {
  if constexpr (!View::coloured) {
    return kdtree::any_hit(scene.tree, ray);
  } else {
    return kdtree::any_hit(scene.tree, SurfaceTest<View>(scene, ray, random, sample, salt), ray);
  }
}

// The share of each colour that a surface reflects.
template <class View>
SIMT_INLINE Vec3 albedo_at(const View& scene, const Frame& frame, const kdtree::Hit& hit) {
  if constexpr (View::coloured) {
    return colour_at(scene.materials, scene.triangles, hit).colour;
  } else {
    return frame.lighting.albedo;
  }
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
template <class View>
SIMT_INLINE Vec3 key_light(const View& scene, const Frame& frame, const PixelRandom& random,
                           std::uint32_t sample, std::uint32_t salt, const Surface& at, Point2 u) {
  if constexpr (View::coloured) {
    if (frame.lighting.key_colour == Vec3{}) return {};
  }
  const LightSample light = sample_key(frame.lighting, at.position, disc(u));
  const float cosine = dot(at.normal, light.direction);
  if (!(cosine > 0)) return {};
  const kdtree::Ray shadow{start_above(at), 0, light.direction, light.distance};
  return is_blocked(scene, shadow, random, sample, salt) ? Vec3{} : light.colour * cosine;
}

// Mean light of the surroundings over the hemisphere. An occluder within reach replaces the light
// of its direction by a fixed small share of it. The reach varies from ray to ray, so that
// occlusion fades with distance instead of ending abruptly. Without rays nothing occludes.
template <class View>
SIMT_INLINE Vec3 ambient_light(const View& scene, const Frame& frame, const PixelRandom& random,
                               const Surface& at, std::uint32_t sample, std::uint32_t rays) {
  if (rays == 0) return surroundings(frame.lighting, at.normal);
  Vec3 sum;
  for (std::uint32_t i = 0; i < rays; ++i) {
    const std::uint32_t k = sample * rays + i;
    const Vec3 d = cosine_direction(at.normal, random.even_point(k, dimension::occlusion));
    const float reach =
        frame.lighting.ambient_reach * (0.05f + 0.95f * random.even_value(k, dimension::reach));
    const kdtree::Ray ray{start_above(at), 0, d, reach};
    const Vec3 light = surroundings(frame.lighting, d);
    sum =
        sum + (is_blocked(scene, ray, random, sample, i) ? light * frame.lighting.occluded : light);
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
template <class View>
SIMT_INLINE float floor_share(const View& scene, const Frame& frame, const PixelRandom& random,
                              const Surface& at, std::uint32_t sample, std::uint32_t rays,
                              float reach) {
  const LightSample light =
      sample_key(frame.lighting, at.position, disc(random.even_point(sample, dimension::light)));
  const Vec3 start = start_above(at);
  float open = light.colour.y * simt::max(0.0f, dot(at.normal, light.direction)), got = open;
  if (open > 0 &&
      is_blocked(scene, {start, 0, light.direction, light.distance}, random, sample, rays)) {
    got = 0;
  }
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
    got += is_blocked(scene, {start, 0, d, end}, random, sample, i) ? part * frame.lighting.occluded
                                                                    : part;
  }
  return open > 0 ? got / open : 1;
}

// Light of an emitter that the camera sees or that arrives by a bounce: limited to a few times the
// brightest colour of a picture. Edges of much brighter pixels would look jagged, and rare bright
// paths would leave single bright pixels.
SIMT_INLINE Vec3 limited(Vec3 light) {
  constexpr float max_light = 3;
  const float largest = simt::max(light.x, simt::max(light.y, light.z));
  return largest > max_light ? light * (max_light / largest) : light;
}

// The probability density, over solid angle, with which emitter_light() chooses the direction to a
// point of an emitter.
SIMT_INLINE float emitter_density(const MaterialView& materials, std::uint32_t triangle,
                                  float distance, float cosine) {
  const float per_area =
      luminance(material_of(materials, triangle).emission) / materials.emitters.power;
  return per_area * distance * distance / simt::max(cosine, 1e-6f);
}

// The weight, by the balance heuristic, of an emitter's light that a bounce has hit.
template <class View>
SIMT_INLINE float bounce_weight(const View& scene, const kdtree::Ray& ray, const kdtree::Hit& hit,
                                const Surface& at, float cosine) {
  if (scene.materials.emitters.count == 0) return 1;
  const float of_bounce = cosine * 0.318309886f;
  const float of_emitter =
      emitter_density(scene.materials, hit.triangle, hit.t, -dot(at.normal, ray.direction));
  return of_bounce / (of_bounce + of_emitter);
}

// Light that arrives from a random point of a random emitter.
template <class View>
SIMT_INLINE Vec3 emitter_light(const View& scene, const Frame& frame, const PixelRandom& random,
                               std::uint32_t sample, std::uint32_t bounce, const Surface& at) {
  const Emitters& emitters = scene.materials.emitters;
  if (emitters.count == 0) return {};
  const std::uint32_t first = dimension::emitter + 3 * bounce;
  const Point2 u = bounce == 0 ? random.even_point(sample, first) : random.point(sample, first);
  const float choice =
      bounce == 0 ? random.even_value(sample, first + 2) : random.value(sample, first + 2);
  std::uint32_t low = 0, high = emitters.count - 1;
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    if (choice < emitters.cumulative[middle]) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  kdtree::Hit point;
  point.triangle = emitters.triangles[low];
  const float root = std::sqrt(u.x);
  point.u = root * (1 - u.y);
  point.v = root * u.y;
  const Corners t = corners_of(scene, point.triangle);
  const Vec3 start = start_above(at);
  const Vec3 to = t.a * (1 - point.u - point.v) + t.b * point.u + t.c * point.v - start;
  const float distance = length(to);
  if (!(distance > 0)) return {};
  const Vec3 direction = to * (1 / distance);
  const float cosine = dot(at.normal, direction);
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

// Light of the environment for a ray that hits nothing. `cosine`: at the surface that the ray left.
template <class View>
SIMT_INLINE Vec3 environment_found(const View& scene, const kdtree::Ray& ray, std::uint32_t bounce,
                                   float cosine) {
  const EnvironmentLight found = environment_towards(scene.environment, ray.direction);
  if (bounce == 0) return limited(found.radiance);
  const float of_bounce = cosine * 0.318309886f;
  return limited(found.radiance * (of_bounce / (of_bounce + found.density)));
}

// Light that arrives from a direction sampled by the environment's luminance.
template <class View>
SIMT_INLINE Vec3 environment_light(const View& scene, const PixelRandom& random,
                                   std::uint32_t sample, std::uint32_t bounce, const Surface& at) {
  const Point2 u = bounce == 0 ? random.even_point(sample, dimension::light)
                               : random.point(sample, dimension::bounce + 6 * bounce);
  const EnvironmentLight light = sample_environment(scene.environment, u);
  const float cosine = dot(at.normal, light.direction);
  if (!(cosine > 0)) return {};
  if (is_blocked(scene, {start_above(at), 0, light.direction, far_away}, random, sample,
                 64 + bounce)) {
    return {};
  }
  // Combined with bounces as in emitter_light().
  const float of_bounce = cosine * 0.318309886f;
  const Vec3 found = light.radiance * (of_bounce / (light.density + of_bounce));
  return bounce == 0 ? found : limited(found);
}

struct Features {
  template <class View>
  static SIMT_INLINE void add(const View& scene, const Frame& frame, const PixelRandom& random,
                              std::uint32_t x, std::uint32_t y, std::uint32_t sample, Pixel& sum) {
    const kdtree::Ray ray = camera_ray(frame, random, x, y, sample);
    kdtree::Counters count;
    kdtree::Hit hit;
    if constexpr (View::coloured) {
      hit = closest_surface(scene, ray, random, sample, 0xffff);
    } else {
      hit = kdtree::closest_hit(scene.tree, ray, count);
    }
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
    } else if (frame.mode == Mode::albedo) {
      const Vec3 albedo = albedo_at(scene, frame, hit);
      sum.r += albedo.x;
      sum.g += albedo.y;
      sum.b += albedo.z;
    } else {
      const Vec3 n = surface_at(scene, ray, hit).normal;
      sum.r += 0.5f + 0.5f * n.x;
      sum.g += 0.5f + 0.5f * n.y;
      sum.b += 0.5f + 0.5f * n.z;
    }
  }
};

struct Shaded {
  template <class View>
  static SIMT_INLINE void add(const View& scene, const Frame& frame, const PixelRandom& random,
                              std::uint32_t x, std::uint32_t y, std::uint32_t sample, Pixel& sum) {
    const kdtree::Ray ray = camera_ray(frame, random, x, y, sample);
    const kdtree::Hit hit = closest_surface(scene, ray, random, sample, 0xffff);
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
    const Vec3 key = key_light(scene, frame, random, sample, 0xfffe, at,
                               random.even_point(sample, dimension::light));
    const Vec3 ambient = ambient_light(scene, frame, random, at, sample, frame.occlusion_rays);
    // A weak light at the camera shows shape where the key light does not reach.
    const float headlight = frame.lighting.headlight * -dot(at.normal, ray.direction);
    Vec3 colour =
        albedo_at(scene, frame, hit) * (key + ambient + Vec3{headlight, headlight, headlight});
    if constexpr (View::coloured)
      colour = colour + limited(emission_at(scene.materials, scene.triangles, hit));
    add_colour(sum, colour);
  }

 private:
  static SIMT_INLINE void add_colour(Pixel& sum, Vec3 colour) {
    sum.r += colour.x;
    sum.g += colour.y;
    sum.b += colour.z;
  }
};

struct Occlusion {
  template <class View>
  static SIMT_INLINE void add(const View& scene, const Frame& frame, const PixelRandom& random,
                              std::uint32_t x, std::uint32_t y, std::uint32_t sample, Pixel& sum) {
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
  template <class View>
  static SIMT_INLINE void add(const View& scene, const Frame& frame, const PixelRandom& random,
                              std::uint32_t x, std::uint32_t y, std::uint32_t sample, Pixel& sum) {
    kdtree::Ray ray = camera_ray(frame, random, x, y, sample);
    Vec3 throughput{1, 1, 1}, light;
    float cosine = 0;  // at the surface that the ray left
    for (std::uint32_t bounce = 0; bounce <= frame.bounces; ++bounce) {
      const kdtree::Hit hit = closest_surface(scene, ray, random, sample, bounce);
      if (!hit.found()) {
        Vec3 seen;
        if constexpr (Surrounded<View>) {
          seen = environment_found(scene, ray, bounce, cosine);
        } else if (bounce == 0) {
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
      if constexpr (View::coloured) {
        Vec3 emitted = emission_at(scene.materials, scene.triangles, hit) * frame.lighting.emission;
        if (bounce > 0 && !(emitted == Vec3{}))
          emitted = emitted * bounce_weight(scene, ray, hit, at, cosine);
        light = light + throughput * limited(emitted);
      }
      throughput = throughput * albedo_at(scene, frame, hit);
      const std::uint32_t first = dimension::bounce + 6 * bounce;
      if constexpr (Surrounded<View>) {
        light = light + throughput * environment_light(scene, random, sample, bounce, at);
      } else {
        light = light + throughput * key_light(scene, frame, random, sample, 64 + bounce, at,
                                               random.point(sample, first));
      }
      if constexpr (View::coloured) {
        const Vec3 direct = emitter_light(scene, frame, random, sample, bounce, at);
        light = light + throughput * (bounce == 0 ? direct : limited(direct));
      }
      const Vec3 d = cosine_direction(at.normal, random.point(sample, first + 2));
      cosine = dot(at.normal, d);
      ray = {start_above(at), 0, d, far_away};
    }
    sum.r += light.x;
    sum.g += light.y;
    sum.b += light.z;
  }
};

}  // namespace heapwood::render
