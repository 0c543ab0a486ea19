// SPDX-License-Identifier: MIT
#include "render/denoise.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "simt/cpu.hpp"

namespace heapwood::render {
namespace {

constexpr unsigned min_guide_samples = 16, max_guide_samples = 64, passes = 5;
constexpr float kernel[3] = {0.375f, 0.25f, 0.0625f};  // of a cubic B-spline, by distance

struct Texel {
  Vec3 light;  // colour without albedo
  float variance = 0;
  Vec3 albedo{1, 1, 1}, normal;
  float depth = 0, hit = 0;
};

struct Grid {
  int width = 0, height = 0;
  std::vector<Texel> texels;

  const Texel& at(int x, int y) const {
    return texels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                  static_cast<std::size_t>(x)];
  }
  bool has(int x, int y) const { return x >= 0 && y >= 0 && x < width && y < height; }
};

Vec3 mean(const Pixel& p, double samples) {
  const double share = 1 / samples;
  return {static_cast<float>(p.r * share), static_cast<float>(p.g * share),
          static_cast<float>(p.b * share)};
}

// How much two pixels show the same surface, from 0 to 1.
float likeness(const Texel& a, const Texel& b) {
  const Vec3 n = a.normal - b.normal, c = a.albedo - b.albedo;
  const float d = (a.depth - b.depth) / (0.02f * (a.depth + b.depth) + 1e-20f);
  const float h = a.hit - b.hit;
  return std::exp(-(24 * dot(n, n) + 30 * dot(c, c) + std::min(d * d, 80.0f) * 0.05f + 8 * h * h));
}

// Limits each pixel to the brightness of its brightest neighbour: a single brighter pixel comes
// from one rare path.
void limit_outliers(Grid& grid) {
  const std::vector<Texel> before = grid.texels;
  for (int y = 0; y < grid.height; ++y) {
    for (int x = 0; x < grid.width; ++x) {
      float brightest = 0;
      for (int j = -1; j <= 1; ++j) {
        for (int i = -1; i <= 1; ++i) {
          if ((i == 0 && j == 0) || !grid.has(x + i, y + j)) continue;
          const std::size_t index =
              static_cast<std::size_t>(y + j) * static_cast<std::size_t>(grid.width) +
              static_cast<std::size_t>(x + i);
          brightest = std::max(brightest, luminance(before[index].light));
        }
      }
      Vec3& light = grid.texels[static_cast<std::size_t>(y) * static_cast<std::size_t>(grid.width) +
                                static_cast<std::size_t>(x)]
                        .light;
      const float own = luminance(light);
      if (own > brightest && brightest > 0) light = light * (brightest / own);
    }
  }
}

// Variance of brightness among similar pixels nearby.
float local_variance(const Grid& grid, int x, int y) {
  const Texel& centre = grid.at(x, y);
  float weights = 0, sum = 0, squares = 0;
  for (int j = -3; j <= 3; ++j) {
    for (int i = -3; i <= 3; ++i) {
      if (!grid.has(x + i, y + j)) continue;
      const Texel& other = grid.at(x + i, y + j);
      const float weight = likeness(centre, other), l = luminance(other.light);
      weights += weight;
      sum += weight * l;
      squares += weight * l * l;
    }
  }
  const float average = sum / weights;
  return std::max(0.0f, squares / weights - average * average);
}

Texel filtered(const Grid& grid, int x, int y, int step) {
  const Texel& centre = grid.at(x, y);
  const float own = luminance(centre.light);
  const float tolerance = 4 * std::sqrt(centre.variance) + 1e-4f;
  float weights = 0, variance = 0;
  Vec3 light;
  for (int j = -2; j <= 2; ++j) {
    for (int i = -2; i <= 2; ++i) {
      const int u = x + i * step, v = y + j * step;
      if (!grid.has(u, v)) continue;
      const Texel& other = grid.at(u, v);
      const float difference = std::fabs(luminance(other.light) - own) / tolerance;
      const float weight = kernel[std::abs(i)] * kernel[std::abs(j)] * likeness(centre, other) *
                           std::exp(-difference);
      weights += weight;
      light = light + other.light * weight;
      variance += weight * weight * other.variance;
    }
  }
  Texel result = centre;
  result.light = light * (1 / weights);
  result.variance = variance / (weights * weights);
  return result;
}

}  // namespace

Guides render_guides(const RenderJob& job, const Scene& scene) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const auto film = [&](Mode mode) {
    RenderJob guide = job;
    guide.mode = mode;
    guide.spp = std::clamp(job.spp, min_guide_samples, max_guide_samples);
    guide.lighting = Lighting{};
    Progressive picture(scene, guide);
    const double used = std::chrono::duration<double>(Clock::now() - start).count();
    picture.add(guide.spp, job.seconds - used);
    return picture.film();
  };
  return {film(Mode::albedo), film(Mode::normals), film(Mode::depth)};
}

Film denoise(const Film& noisy, const Guides& guides, int threads) {
  Grid grid;
  grid.width = static_cast<int>(noisy.width);
  grid.height = static_cast<int>(noisy.height);
  grid.texels.resize(noisy.sums.size());
  for (std::size_t i = 0; i < noisy.sums.size(); ++i) {
    Texel& texel = grid.texels[i];
    const Pixel& albedo = guides.albedo.sums[i];
    const Pixel& normal = guides.normals.sums[i];
    const Pixel& depth = guides.depth.sums[i];
    texel.hit = albedo.a / static_cast<float>(guides.albedo.samples);
    // The part of the pixel that shows background has albedo 1; black surfaces are not divided out.
    texel.albedo = mean(albedo, guides.albedo.samples) + Vec3{1, 1, 1} * (1 - texel.hit);
    texel.albedo = max(texel.albedo, {0.02f, 0.02f, 0.02f});
    texel.normal = normal.a > 0 ? mean(normal, normal.a) * 2 - Vec3{1, 1, 1} : Vec3{};
    texel.depth = depth.a > 0 ? depth.r / depth.a : 0;
    const Vec3 colour = mean(noisy.sums[i], noisy.samples);
    texel.light = {colour.x / texel.albedo.x, colour.y / texel.albedo.y, colour.z / texel.albedo.z};
  }
  limit_outliers(grid);
  const simt::Cpu cpu({.threads = threads});
  const auto each_row = [&](auto f) {
    std::vector<Texel> result(grid.texels.size());
    const auto filter_row = [&](std::size_t row) {
      const int y = static_cast<int>(row);
      for (int x = 0; x < grid.width; ++x)
        result[row * noisy.width + static_cast<std::size_t>(x)] = f(x, y);
    };
    cpu.for_each(noisy.height, filter_row, 2);
    grid.texels = std::move(result);
  };
  each_row([&](int x, int y) {
    Texel texel = grid.at(x, y);
    texel.variance = local_variance(grid, x, y);
    return texel;
  });
  for (unsigned pass = 0; pass < passes; ++pass)
    each_row([&](int x, int y) { return filtered(grid, x, y, 1 << pass); });

  Film result{noisy.width, noisy.height, 1, std::vector<Pixel>(noisy.sums.size())};
  for (std::size_t i = 0; i < result.sums.size(); ++i) {
    const Vec3 colour = grid.texels[i].light * grid.texels[i].albedo;
    result.sums[i] = {colour.x, colour.y, colour.z,
                      noisy.sums[i].a / static_cast<float>(noisy.samples)};
  }
  return result;
}

}  // namespace heapwood::render
