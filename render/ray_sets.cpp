// SPDX-License-Identifier: MIT
#include "render/ray_sets.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "render/kernel.hpp"
#include "render/random.hpp"
#include "simt/cpu.hpp"
#include "simt/error.hpp"

namespace heapwood::render {
namespace {

// Computes the pixel of the i-th primary ray.
struct PixelOf {
  std::uint32_t columns;
  std::uint32_t x(std::size_t i) const {
    return static_cast<std::uint32_t>(i / (tile_width * tile_height) % columns * tile_width +
                                      i % tile_width);
  }
  std::uint32_t y(std::size_t i) const {
    return static_cast<std::uint32_t>(i / (tile_width * tile_height) / columns * tile_height +
                                      i / tile_width % tile_height);
  }
};

}  // namespace

std::vector<kdtree::Ray> primary_rays(const Camera& camera, unsigned width, unsigned height) {
  if (width % tile_width != 0 || height % tile_height != 0 || width == 0 || height == 0) {
    throw Error(Exit::usage, "picture size " + std::to_string(width) + "x" +
                                 std::to_string(height) +
                                 ": width must be a multiple of 8 and height of 4 (rays are "
                                 "generated in tiles of 8x4 pixels)");
  }
  const CameraFrame frame = make_frame(camera, width, height);
  const PixelOf pixel{width / tile_width};
  std::vector<kdtree::Ray> rays(std::size_t{width} * height);
  simt::Cpu(simt::DeviceId{}).for_each(rays.size(), [&](std::size_t i) {
    rays[i] = frame.ray(static_cast<float>(pixel.x(i)) + 0.5f,
                        static_cast<float>(pixel.y(i)) + 0.5f, far_away);
  });
  return rays;
}

std::vector<kdtree::Ray> diffuse_rays(const Scene& scene, std::span<const kdtree::Ray> primary,
                                      std::span<const kdtree::Hit> hits, unsigned width) {
  const PixelOf pixel{width / tile_width};
  std::vector<std::uint32_t> sources;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    if (hits[i].found()) sources.push_back(static_cast<std::uint32_t>(i));
  }
  const float offset = 1e-4f * length(scene.bounds().extent());
  std::vector<kdtree::Ray> rays(sources.size());
  simt::Cpu(simt::DeviceId{}).for_each(rays.size(), [&](std::size_t k) {
    const std::uint32_t i = sources[k];
    const kdtree::Ray& ray = primary[i];
    const Vec3 normal = scene.normal(hits[i].triangle, ray);
    const std::uint32_t h1 = pcg(pixel.y(i) * width + pixel.x(i)), h2 = pcg(h1);
    const float u = unit_interval(h1), r = std::sqrt(u),
                phi = 2 * std::numbers::pi_v<float> * unit_interval(h2);
    Vec3 s, t;
    basis(normal, s, t);
    const Vec3 direction =
        s * (r * std::cos(phi)) + t * (r * std::sin(phi)) + normal * std::sqrt(1 - u);
    rays[k] = {ray.origin + ray.direction * hits[i].t + normal * offset, 0, direction, far_away};
  });
  return rays;
}

RayMeasurement measure_rays(const Scene& scene, std::span<const kdtree::Ray> rays, int runs,
                            double seconds) {
  RayMeasurement result;
  result.rays = rays.size();
  if (rays.empty()) return result;
  const simt::DeviceId& device = scene.device();
  const Backend& on = backend(device);
  const simt::LaunchLimits limits{.seconds = seconds, .what = "tracing rays"};
  const simt::Buffer<kdtree::Ray> in(device, rays);
  const simt::Buffer<kdtree::Hit> out(device, rays.size());
  for (int run = 0; run <= runs; ++run) {
    const double ms =
        on.trace(device, scene.data(), false, in.data(), out.data(), rays.size(), limits);
    if (run > 0) result.runs_ms.push_back(ms);
  }
  result.found = out.download();
  result.hits = static_cast<std::size_t>(std::ranges::count_if(result.found, &kdtree::Hit::found));
  simt::Buffer<StepSums> sums(device, std::vector<StepSums>(1));
  on.count_steps(device, scene.data(), in.data(), rays.size(), sums.data(), limits);
  result.steps = sums.download().front();
  return result;
}

}  // namespace heapwood::render
