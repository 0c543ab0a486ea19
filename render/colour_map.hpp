// SPDX-License-Identifier: MIT
// A colour ramp for numbers: from near black through purple, red and orange to pale yellow.
// Lightness is linear in OKLab (Ottosson 2020, "A perceptual color space for image processing"), so
// equal differences look equal, also in greyscale and to colour-blind readers.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "geometry/vec.hpp"

namespace heapwood::render {

// Linear RGB of an OKLab colour, clamped to the gamut of sRGB.
HEAPWOOD_FN inline Vec3 from_oklab(double lightness, double a, double b) {
  const auto cube = [](double x) { return x * x * x; };
  const double l = cube(lightness + 0.3963377774 * a + 0.2158037573 * b);
  const double m = cube(lightness - 0.1055613458 * a - 0.0638541728 * b);
  const double s = cube(lightness - 0.0894841775 * a - 1.2914855480 * b);
  const auto cut = [](double x) { return static_cast<float>(std::clamp(x, 0.0, 1.0)); };
  return {cut(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          cut(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          cut(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

// The colour of x in [0, 1]; x is clamped, NaN is 0.
HEAPWOOD_FN inline Vec3 colour_ramp(double x) {
  x = x > 0 ? std::min(x, 1.0) : 0.0;
  const double lightness = 0.12 + 0.84 * x;
  // Chroma is near 0 at both ends, where sRGB has no saturated colours. Hue goes from 285 degrees
  // through red to 105.
  const double chroma = 0.34 * std::pow(x, 0.75) * (1 - x) + 0.07 * x + 0.02;
  const double hue = (285 + 180 * x) * std::numbers::pi / 180;
  return from_oklab(lightness, chroma * std::cos(hue), chroma * std::sin(hue));
}

}  // namespace heapwood::render
