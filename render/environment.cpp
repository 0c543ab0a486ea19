// SPDX-License-Identifier: MIT
#include "render/environment.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "render/material_view.hpp"
#include "simt/error.hpp"

namespace heapwood::render {
namespace {

constexpr unsigned max_columns = 512, max_rows = 256;
// The mean radiance over all directions, by luminance, to which an environment is scaled: about
// that of Lighting's defaults.
constexpr double mean_radiance = 0.45;
constexpr float max_radiance = 1e6f;
// This fraction of the mean radiance is added to each cell, so that every direction can be sampled.
constexpr double min_share = 0.05;

Vec3 cleaned(Vec3 c) {
  const auto component = [](float x) { return x > 0 ? std::min(x, max_radiance) : 0.0f; };
  return {component(c.x), component(c.y), component(c.z)};
}

double sine_of_row(double row, double rows) { return std::sin(std::numbers::pi * row / rows); }

// The mean luminance over each texel's area under bilinear interpolation.
std::vector<double> interpolated_luminance(const RadianceMap& map,
                                           const std::vector<Vec3>& texels) {
  constexpr double weights[3] = {0.125, 0.75, 0.125};
  std::vector<double> across(texels.size()), both(texels.size());
  const unsigned width = map.width, height = map.height;
  for (unsigned y = 0; y < height; ++y) {
    for (unsigned x = 0; x < width; ++x) {
      const Vec3* const row = texels.data() + std::size_t{y} * width;
      for (unsigned i = 0; i < 3; ++i)
        across[std::size_t{y} * width + x] +=
            weights[i] * luminance(row[(x + width + i - 1) % width]);
    }
  }
  for (unsigned y = 0; y < height; ++y) {
    for (unsigned i = 0; i < 3; ++i) {
      const unsigned from = std::clamp(y + i, 1u, height) - 1;
      for (unsigned x = 0; x < width; ++x)
        both[std::size_t{y} * width + x] += weights[i] * across[std::size_t{from} * width + x];
    }
  }
  return both;
}

// Writes the cumulative distribution of the masses, scaled to end at 1. Returns their sum.
double accumulate(const std::vector<double>& masses, float* cumulative) {
  double sum = 0;
  for (const double mass : masses) sum += mass;
  double up_to = 0;
  for (std::size_t i = 0; i < masses.size(); ++i) {
    up_to += masses[i];
    cumulative[i] = static_cast<float>(up_to / sum);
  }
  cumulative[masses.size() - 1] = 1;
  return sum;
}

}  // namespace

Environment::Environment(const simt::DeviceId& device, const RadianceMap& map, unsigned up) {
  std::vector<Vec3> texels;
  texels.reserve(map.texels.size());
  for (const Vec3& texel : map.texels) texels.push_back(cleaned(texel));
  double sum = 0, weights = 0;
  for (unsigned y = 0; y < map.height; ++y) {
    const double weight = sine_of_row(y + 0.5, map.height);
    for (unsigned x = 0; x < map.width; ++x)
      sum += weight * luminance(texels[std::size_t{y} * map.width + x]);
    weights += weight * map.width;
  }
  const double mean = sum / weights;
  const auto scale = static_cast<float>(mean > 0 ? mean_radiance / mean : 1);
  for (Vec3& texel : texels) texel = texel * scale;

  const unsigned columns = std::min(map.width, max_columns), rows = std::min(map.height, max_rows);
  std::vector<double> cells(std::size_t{columns} * rows), counts(cells.size()), row_masses(rows);
  const std::vector<double> light = interpolated_luminance(map, texels);
  for (unsigned y = 0; y < map.height; ++y) {
    for (unsigned x = 0; x < map.width; ++x) {
      const std::size_t cell =
          std::size_t{y} * rows / map.height * columns + std::size_t{x} * columns / map.width;
      cells[cell] += light[std::size_t{y} * map.width + x];
      counts[cell] += 1;
    }
  }
  std::vector<float> cumulative_rows(rows), cumulative_cells(cells.size());
  for (unsigned row = 0; row < rows; ++row) {
    std::vector<double> masses(columns);
    for (unsigned column = 0; column < columns; ++column) {
      const std::size_t i = std::size_t{row} * columns + column;
      masses[column] = cells[i] / counts[i] + min_share * mean_radiance;
    }
    row_masses[row] = accumulate(masses, cumulative_cells.data() + std::size_t{row} * columns) *
                      sine_of_row(row + 0.5, rows);
  }
  accumulate(row_masses, cumulative_rows.data());
  texels_ = {device, texels};
  rows_ = {device, cumulative_rows};
  cells_ = {device, cumulative_cells};
  view_ = {texels_.data(), map.width, map.height, rows_.data(), cells_.data(), columns, rows, up};
}

RadianceMap parse_environment(const std::string& file, const std::string& source) {
  // The decoder also reads formats of 8 bits, which do not contain radiance, so they are refused.
  if (!file.starts_with("#?RADIANCE") && !file.starts_with("#?RGBE"))
    throw Error(Exit::scene, source + ": it is not a Radiance picture (.hdr)");
  RadianceMap map;
  std::string reason;
  if (!decode_radiance(std::as_bytes(std::span(file)), map, reason))
    throw Error(Exit::scene, source + ": " + reason);
  return map;
}

RadianceMap make_sky(Vec3 sun, unsigned up) {
  constexpr double lowest = 12 * std::numbers::pi / 180, radius = 1.3 * std::numbers::pi / 180;
  Vec3 s = to_environment(sun, up);
  const double level = std::hypot(s.x, s.z);
  if (s.y < std::sin(lowest)) {
    const double flat = level > 0 ? std::cos(lowest) / level : 0;
    s = {static_cast<float>(s.x * flat), static_cast<float>(std::sin(lowest)),
         static_cast<float>(level > 0 ? s.z * flat : std::cos(lowest))};
  }
  const double sun_zenith = std::acos(std::min(1.0, static_cast<double>(s.y)));
  const auto scattered = [](double angle) {
    return 0.91 + 10 * std::exp(-3 * angle) + 0.45 * std::cos(angle) * std::cos(angle);
  };
  // Radiance is relative to that of the zenith.
  const double of_zenith = scattered(sun_zenith) * (1 - std::exp(-0.32));
  constexpr double sun_share = 2.5;  // irradiance of the sun / that of the sky, which is about pi
  const double sun_radiance = sun_share / (2 * (1 - std::cos(radius)));
  constexpr Vec3 blue{0.46f, 0.96f, 2.6f}, pale{0.92f, 1.0f, 1.14f}, warm{1.16f, 0.98f, 0.72f};
  RadianceMap sky{1024, 512, std::vector<Vec3>(std::size_t{1024} * 512)};
  for (unsigned y = 0; y < sky.height; ++y) {
    for (unsigned x = 0; x < sky.width; ++x) {
      const Vec3 d = environment_direction(
          {(static_cast<float>(x) + 0.5f) / 1024, (static_cast<float>(y) + 0.5f) / 512});
      Vec3& texel = sky.texels[std::size_t{y} * sky.width + x];
      const double height = d.y, angle = std::acos(std::clamp<double>(dot(d, s), -1, 1));
      const double light =
          scattered(angle) * (1 - std::exp(-0.32 / std::max(height, 0.01))) / of_zenith;
      // The sky is pale at the horizon and around the sun.
      const auto haze = static_cast<float>(
          std::min(1.0, std::pow(1 - std::max(height, 0.0), 4) + 0.7 * std::exp(-4 * angle)));
      texel = (blue * (1 - haze) + pale * haze) * static_cast<float>(light);
      if (angle < radius) texel = texel + warm * static_cast<float>(sun_radiance);
      // The ground begins a little below the horizon.
      const auto ground = static_cast<float>(std::clamp(-height * 60, 0.0, 1.0));
      texel = texel * (1 - ground) + Vec3{0.74f, 0.68f, 0.60f} * ground;
    }
  }
  return sky;
}

Lighting lit_by_environment(Lighting lighting) {
  lighting.key_colour = lighting.sky = lighting.ground = {};
  lighting.background_top = lighting.background_bottom = {};
  lighting.floor = false;
  return lighting;
}

}  // namespace heapwood::render
