// SPDX-License-Identifier: MIT

#include <algorithm>
#include <cmath>

#include "render/auto_camera.hpp"
#include "render/environment.hpp"
#include "render/surface.hpp"

namespace heapwood::render {
namespace {

constexpr unsigned seen_columns = 40, seen_rows = 24;

// Samples, on a coarse grid, of the surfaces that the camera sees.
struct Seen {
  std::vector<Surface> surfaces;
  std::vector<float> distances;  // sorted
  bool outside = false;          // whether the camera is outside the box
};

Seen look(const Scene& scene, const Camera& camera, const Box& box) {
  const CameraFrame frame = make_frame(camera, seen_columns, seen_rows);
  std::vector<kdtree::Ray> rays;
  for (unsigned y = 0; y < seen_rows; ++y) {
    for (unsigned x = 0; x < seen_columns; ++x) {
      rays.push_back(
          frame.ray(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f, far_away));
    }
  }
  const std::vector<kdtree::Hit> hits = scene.closest(rays);
  Seen seen;
  for (std::size_t i = 0; i < rays.size(); ++i) {
    if (!hits[i].found()) continue;
    seen.surfaces.push_back(
        {rays[i].origin + rays[i].direction * hits[i].t, scene.normal(hits[i].triangle, rays[i]),
         surface_offset(kdtree::corners(scene.mesh(), hits[i].triangle), hits[i].t)});
    seen.distances.push_back(hits[i].t);
  }
  std::sort(seen.distances.begin(), seen.distances.end());
  seen.outside = !box.contains(camera.eye);
  return seen;
}

// Mean brightness (0..1) of the visible surfaces under a key light, and the share that it lights.
struct Reach {
  double brightness = 0, share = 0;
};
Reach reach(const Scene& scene, const Seen& seen, const Lighting& lighting) {
  std::vector<kdtree::Ray> rays;
  std::vector<double> strength;
  for (const Surface& s : seen.surfaces) {
    const LightSample light = sample_key(lighting, s.position, {0, 0});
    const float cosine = dot(s.normal, light.direction);
    if (!(cosine > 0.02f)) continue;
    rays.push_back({start_above(s), 0, light.direction, light.distance});
    strength.push_back(cosine * light.colour.y);
  }
  const std::vector<kdtree::Hit> hits = scene.occluded(rays);
  Reach result;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    if (hits[i].found()) continue;
    result.brightness += strength[i];
    result.share += 1;
  }
  const double count = std::max<std::size_t>(seen.surfaces.size(), 1);
  return {result.brightness / count, result.share / count};
}

// Mean luminance of the light that white surfaces would reflect from the scene's emitters. Uses one
// shadow ray per surface and round.
double emitter_brightness(const Scene& scene, const Seen& seen) {
  const DeviceMaterials& materials = scene.materials();
  const std::vector<float>& cumulative = materials.cumulative();
  if (cumulative.empty() || seen.surfaces.empty()) return 0;
  constexpr unsigned rounds = 4;
  const PixelRandom random(1, 0);
  std::vector<kdtree::Ray> rays;
  std::vector<double> strength;
  for (unsigned k = 0; k < rounds * seen.surfaces.size(); ++k) {
    const Surface& s = seen.surfaces[k % seen.surfaces.size()];
    const auto found =
        std::upper_bound(cumulative.begin(), cumulative.end(), random.even_value(k, 2));
    const auto i = std::min<std::size_t>(static_cast<std::size_t>(found - cumulative.begin()),
                                         cumulative.size() - 1);
    const DeviceMaterials::Emitter& emitter = materials.emitters()[i];
    const Corners t = kdtree::corners(scene.mesh(), emitter.triangle);
    const Point2 u = random.even_point(k, 0);
    const float root = std::sqrt(u.x);
    const Vec3 start = start_above(s);
    const Vec3 to = t.a * (1 - root) + t.b * (root * (1 - u.y)) + t.c * (root * u.y) - start;
    const float distance = length(to);
    const Vec3 d = to * (1 / distance);
    const double cosines =
        static_cast<double>(dot(s.normal, d)) * std::fabs(dot(geometric_normal(t), d));
    if (!(distance > 0 && cosines > 0)) continue;
    rays.push_back({start, 0, d, distance * (1 - 1e-4f)});
    // Limited, because otherwise one ray near an emitter would outweigh all others.
    strength.push_back(emitter.share * std::min(materials.view().emitters.power * cosines /
                                                    (3.14159265 * distance * distance),
                                                static_cast<double>(luminance(emitter.emission))));
  }
  const std::vector<kdtree::Hit> hits = scene.occluded(rays);
  double sum = 0;
  for (std::size_t i = 0; i < hits.size(); ++i) sum += hits[i].found() ? 0 : strength[i];
  return sum / (static_cast<double>(rounds) * static_cast<double>(seen.surfaces.size()));
}

// Lights the scene only by its emitters: scales their light from `brightness` to the brightness for
// which pictures are developed.
Lighting lit_by_emitters(Lighting lighting, double brightness) {
  constexpr double wanted = 0.6;
  lighting.emission = static_cast<float>(wanted / brightness);
  return lit_by_environment(lighting);
}

}  // namespace

Lighting choose_lighting(const Scene& scene, const Camera& camera, bool emitters) {
  Lighting lighting;
  lighting.up = camera.up;
  const Box box = main_part(scene.mesh(), scene.bounds());
  if (box.empty()) return lighting;
  const float diagonal = length(box.extent());
  const Seen seen = look(scene, camera, box);
  lighting.ambient_reach = (seen.outside ? 0.35f : 0.12f) * diagonal;
  lighting.floor = seen.outside && camera.eye[camera.up] > box.lo[camera.up];
  lighting.floor_height = box.lo[camera.up];
  if (seen.surfaces.empty()) return lighting;
  // Above these brightnesses, emitters are the only light: `enough` in any scene, where they
  // compete with the sky; `enough_inside` in an interior that no distant light reaches.
  constexpr double enough = 0.1, enough_inside = 0.002;
  const double brightness = emitters ? emitter_brightness(scene, seen) : 0;
  if (brightness > enough) return lit_by_emitters(lighting, brightness);

  // Candidate directions to the light, as (towards the viewer, right, up). If the first component
  // is negative, the light is behind the scene.
  const CameraFrame frame = make_frame(camera, 1, 1);
  const Vec3 up = axis_vector(camera.up);
  const Vec3 right = normalize(frame.right);
  const Vec3 back = cross(right, up);
  constexpr Vec3 candidates[] = {{0.55f, -0.6f, 0.9f}, {0.55f, 0.6f, 0.9f},  {0.2f, -0.5f, 1.2f},
                                 {0.2f, 0.5f, 1.2f},   {-0.4f, -0.5f, 1.3f}, {-0.4f, 0.5f, 1.3f},
                                 {0.0f, 0.1f, 2.0f}};
  Lighting best = lighting;
  double best_share = 0;
  for (const Vec3& c : candidates) {
    lighting.key = normalize(back * c.x + right * c.y + up * c.z);
    const Reach got = reach(scene, seen, lighting);
    if (got.share > best_share) {
      best = lighting;
      best_share = got.share;
    }
    // Takes the first candidate that is good enough: earlier ones show shapes better.
    if (got.share > 0.45) return lighting;
  }
  if (best_share > 0.22) return best;
  if (brightness > enough_inside) return lit_by_emitters(lighting, brightness);

  // An interior: tries lamps between camera and surfaces, above the eye and below the ceiling.
  lighting.lamp = true;
  const float median = seen.distances[seen.distances.size() / 2];
  double best_brightness = -1;
  for (const float along : {0.25f, 0.5f, 0.75f}) {
    for (const float aside : {-0.25f, 0.0f, 0.25f}) {
      const Vec3 level = normalize(frame.forward - up * dot(frame.forward, up));
      const Vec3 base = camera.eye + level * (along * median) + right * (aside * median);
      const std::vector<kdtree::Ray> rays{{base, 0, up, far_away}};
      const kdtree::Hit ceiling = scene.closest(rays).front();
      const float headroom = ceiling.found() ? ceiling.t : 0.5f * median;
      lighting.key = base + up * (0.6f * simt::min(headroom, 0.6f * median));
      lighting.key_radius = 0.03f * median;
      lighting.lamp_reach = 1.2f * median;
      lighting.key_colour = Vec3{0.95f, 0.84f, 0.70f};
      const Reach got = reach(scene, seen, lighting);
      if (got.brightness > best_brightness) {
        best_brightness = got.brightness;
        best = lighting;
      }
    }
  }
  return best;
}

}  // namespace heapwood::render
