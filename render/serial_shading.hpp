// SPDX-License-Identifier: MIT
// Mode shaded on CPU threads. Computes the same picture as RenderKernel with Shaded, but a few
// tiles at a time, step by step for all their samples, so that rays of each kind are traced in
// packets (kdtree/traverse/simd_rays.hpp). Limit: scenes without holes, because rays do not
// continue behind a hit.
#pragma once

#include <algorithm>
#include <vector>

#include "kdtree/traverse/simd_rays.hpp"
#include "render/kernel.hpp"

namespace heapwood::render {

template <class View>
struct SerialShadedKernel {
  struct Scratch {};
  // Enough rays to fill packets of each sign, few enough that they stay in the cache.
  static constexpr std::size_t rays_per_batch = 4096;

  View scene;
  Frame frame;
  Pixel* film;
  std::uint32_t* ticket;

  template <class Warp>
  void operator()(Warp& warp, Scratch&) const {
    Batch batch;
    const std::size_t samples = std::max<std::size_t>(frame.samples, 1),
                      rays_per_tile = tile_width * tile_height * samples *
                                      std::max<std::size_t>(frame.occlusion_rays, 1);
    const auto tiles =
        static_cast<std::uint32_t>(std::clamp<std::size_t>(rays_per_batch / rays_per_tile, 1, 16));
    for (;;) {
      const std::uint32_t first =
          simt::atomic_ref<std::uint32_t>(*ticket).fetch_add(tiles, simt::relaxed);
      if (first >= frame.end_tile || warp.aborted()) return;
      const std::uint32_t end = std::min(first + tiles, frame.end_tile);
      // The samples of a tile, if there are many, are divided into several batches.
      const auto step = static_cast<std::uint32_t>(std::clamp<std::size_t>(
          rays_per_batch * samples / (rays_per_tile * (end - first)), 1, samples));
      for (std::uint32_t done = 0; done < frame.samples && !warp.aborted(); done += step)
        render(batch, first, end, frame.first_sample + done, std::min(step, frame.samples - done));
    }
  }

 private:
  // A sample of a pixel. It has secondary rays only if its camera ray meets the model or the floor.
  struct Sample {
    std::uint32_t x, y, sample;
    bool is_floor = false, has_surface = false, has_shadow = false;
    Surface surface;
    Vec3 key;    // light of the key light, if it is not blocked
    float open;  // brightness of the floor by the key light, if that is not blocked
  };
  struct Batch {
    std::vector<Sample> samples;
    std::vector<kdtree::Ray> camera, shadow, occlusion;
    std::vector<kdtree::Hit> hits;
    std::vector<std::uint8_t> shadowed, occluded;
  };

  void render(Batch& batch, std::uint32_t first_tile, std::uint32_t end_tile,
              std::uint32_t first_sample, std::uint32_t samples) const {
    add_camera_rays(batch, first_tile, end_tile, first_sample, samples);
    batch.hits.resize(batch.camera.size());
    kdtree::closest_hits(scene.tree, batch.camera.data(), batch.hits.data(), batch.camera.size());
    batch.shadow.clear();
    batch.occlusion.clear();
    for (std::size_t i = 0; i < batch.samples.size(); ++i)
      add_secondary_rays(batch, batch.samples[i], batch.camera[i], batch.hits[i]);
    batch.shadowed.resize(batch.shadow.size());
    kdtree::any_hits(scene.tree, batch.shadow.data(), batch.shadowed.data(), batch.shadow.size());
    batch.occluded.resize(batch.occlusion.size());
    kdtree::any_hits(scene.tree, batch.occlusion.data(), batch.occluded.data(),
                     batch.occlusion.size());
    std::size_t shadow = 0, occlusion = 0;
    for (std::size_t i = 0; i < batch.samples.size(); ++i) {
      const Sample& sample = batch.samples[i];
      const bool blocked = sample.has_shadow && batch.shadowed[shadow++] != 0;
      const std::uint32_t rays = sample.has_surface ? frame.occlusion_rays : 0;
      const Vec3 colour =
          colour_of(sample, batch.camera[i], batch.hits[i], blocked,
                    batch.occlusion.data() + occlusion, batch.occluded.data() + occlusion, rays);
      occlusion += rays;
      Pixel& sum = film[sample.y * frame.width + sample.x];
      add_colour(sum, colour);
      if (batch.hits[i].found()) sum.a += 1;
    }
  }

  PixelRandom random_of(const Sample& sample) const {
    return PixelRandom(frame.seed, sample.y * frame.width + sample.x);
  }

  void add_camera_rays(Batch& batch, std::uint32_t first_tile, std::uint32_t end_tile,
                       std::uint32_t first_sample, std::uint32_t samples) const {
    batch.samples.clear();
    batch.camera.clear();
    const std::uint32_t columns = (frame.width + tile_width - 1) / tile_width;
    for (std::uint32_t tile = first_tile; tile < end_tile; ++tile) {
      for (std::uint32_t i = 0; i < tile_width * tile_height; ++i) {
        const std::uint32_t x = tile % columns * tile_width + i % tile_width;
        const std::uint32_t y = tile / columns * tile_height + i / tile_width;
        if (x >= frame.width || y >= frame.height) continue;
        const PixelRandom random(frame.seed, y * frame.width + x);
        for (std::uint32_t k = 0; k < samples; ++k) {
          Sample& sample = batch.samples.emplace_back();
          sample.x = x;
          sample.y = y;
          sample.sample = first_sample + k;
          batch.camera.push_back(camera_ray(frame, random, x, y, sample.sample));
        }
      }
    }
  }

  void add_secondary_rays(Batch& batch, Sample& sample, const kdtree::Ray& ray,
                          const kdtree::Hit& hit) const {
    if (hit.found()) {
      if (is_unlit(scene, hit)) return;
      sample.surface = surface_at(scene, ray, hit);
    } else if (floor_at(frame.lighting, ray, sample.surface)) {
      sample.is_floor = true;
    } else {
      return;
    }
    sample.has_surface = true;
    const PixelRandom random = random_of(sample);
    const Surface& surface = sample.surface;
    const LightSample light = sample_key(frame.lighting, surface.position,
                                         disc(random.even_point(sample.sample, dimension::light)));
    const float cosine = dot(surface.normal, light.direction);
    sample.open = light.colour.y * simt::max(0.0f, cosine);
    sample.has_shadow =
        sample.is_floor ? sample.open > 0 : cosine > 0 && !(frame.lighting.key_colour == Vec3{});
    if (sample.has_shadow) {
      sample.key = light.colour * cosine;
      batch.shadow.push_back({start_above(surface), 0, light.direction, light.distance});
    }
    for (std::uint32_t i = 0; i < frame.occlusion_rays; ++i) {
      batch.occlusion.push_back(occlusion_ray(
          random, surface, sample.sample * frame.occlusion_rays + i, frame.lighting.ambient_reach));
    }
  }

  // The results of ambient_light() and floor_share(), computed from traced rays.
  Vec3 colour_of(const Sample& sample, const kdtree::Ray& ray, const kdtree::Hit& hit, bool blocked,
                 const kdtree::Ray* rays, const std::uint8_t* occluded, std::uint32_t count) const {
    const Lighting& lighting = frame.lighting;
    if (!hit.found()) {
      const float row = (static_cast<float>(sample.y) + 0.5f) * frame.camera.inverse_height;
      return background(lighting, row) *
             (sample.is_floor ? floor_share_of(sample, blocked, rays, occluded, count) : 1);
    }
    if (is_unlit(scene, hit)) return albedo_at(scene, frame, hit);
    Vec3 ambient;
    for (std::uint32_t i = 0; i < count; ++i) {
      const Vec3 light = surroundings(lighting, rays[i].direction);
      ambient = ambient + (occluded[i] != 0 ? light * lighting.occluded : light);
    }
    ambient = count > 0 ? ambient * (1.0f / static_cast<float>(count))
                        : surroundings(lighting, sample.surface.normal);
    const float headlight = lighting.headlight * -dot(sample.surface.normal, ray.direction);
    const Vec3 key = sample.has_shadow && !blocked ? sample.key : Vec3{};
    Vec3 colour =
        albedo_at(scene, frame, hit) * (key + ambient + Vec3{headlight, headlight, headlight});
    if constexpr (View::coloured)
      colour = colour + limited(emission_at(scene.materials, scene.triangles, hit));
    return colour;
  }

  float floor_share_of(const Sample& sample, bool blocked, const kdtree::Ray* rays,
                       const std::uint8_t* occluded, std::uint32_t count) const {
    const Lighting& lighting = frame.lighting;
    float open = sample.open, got = blocked ? 0 : open;
    if (count == 0) {
      const float ambient = surroundings(lighting, sample.surface.normal).y;
      open += ambient;
      got += ambient;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      const float part = surroundings(lighting, rays[i].direction).y / static_cast<float>(count);
      open += part;
      got += occluded[i] != 0 ? part * lighting.occluded : part;
    }
    return open > 0 ? got / open : 1;
  }
};

}  // namespace heapwood::render
