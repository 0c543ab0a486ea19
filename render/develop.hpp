// SPDX-License-Identifier: MIT
// What is done with each pixel of a film to show it: colours, and the counts from which exposure
// and range are chosen. The functors run on the device of the film, or on the host (film.cpp).
// Colours are computed in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

#include "render/film.hpp"
#include "simt/atomic_ref.hpp"
#include "simt/math.hpp"

namespace heapwood::render {

// The sRGB code of linear light without std::pow, which would take most of a picture's time: the
// smallest linear value of each code, and the code at the lower end of each bucket; a bucket is
// narrower than a code.
struct SrgbTable {
  static constexpr unsigned buckets = 4096;  // a power of two: x * buckets is exact
  float min_linear[257];
  std::uint8_t first[buckets + 1];

  HEAPWOOD_INLINE std::uint8_t code(float linear) const {
    if (!(linear > 0)) return 0;
    const float x = std::min(linear, 1.0f);
    unsigned code = first[static_cast<unsigned>(x * buckets)];
    while (x >= min_linear[code + 1]) ++code;  // at most once
    return static_cast<std::uint8_t>(code);
  }
};
const SrgbTable& srgb_table();  // on the host

// The linear colour of x in [0, 1], clamped, NaN as 0: from near black through purple, red and
// orange to pale yellow. Lightness is linear in OKLab (Ottosson 2020, "A perceptual color space for
// image processing"): equal differences look equal, also in greyscale and to colour-blind readers.
HEAPWOOD_FN inline Vec3 colour_ramp(double x) {
  x = x > 0 ? std::min(x, 1.0) : 0.0;
  // Chroma is near 0 at both ends, where sRGB has only greys. Hue goes from 285 through 0 to 105
  // degrees.
  const double lightness = 0.12 + 0.84 * x, hue = (285 + 180 * x) * std::numbers::pi / 180,
               chroma = 0.34 * std::pow(x, 0.75) * (1 - x) + 0.07 * x + 0.02;
  // From OKLab to linear RGB, clamped to the gamut of sRGB.
  const double a = chroma * std::cos(hue), b = chroma * std::sin(hue);
  const auto cube = [](double c) { return c * c * c; };
  const double l = cube(lightness + 0.3963377774 * a + 0.2158037573 * b);
  const double m = cube(lightness - 0.1055613458 * a - 0.0638541728 * b);
  const double s = cube(lightness - 0.0894841775 * a - 1.2914855480 * b);
  const auto cut = [](double c) { return static_cast<float>(std::clamp(c, 0.0, 1.0)); };
  return {cut(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          cut(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          cut(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

HEAPWOOD_FN inline Vec3 ramp(Mode mode, const Range& range, double v) {
  const double fraction = range.high > range.low ? (v - range.low) / (range.high - range.low) : 0;
  return colour_ramp(mode == Mode::depth ? 1 - fraction : fraction);  // near is bright
}

// Linear up to 2/3, then smoothly approaching 1, so that highlights keep their contrast.
HEAPWOOD_FN inline double tone_curve(double x) {
  constexpr double knee = 2.0 / 3;
  if (!(x > 0)) return 0;
  return x <= knee ? x : 1 - (1 - knee) * std::exp(-(x - knee) / (1 - knee));
}

// Contrast in shadows, soft highlights (Narkowicz 2015, "ACES filmic tone mapping curve").
HEAPWOOD_FN inline double filmic_curve(double x) {
  if (!(x > 0)) return 0;
  return std::min(1.0, x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14));
}

struct DevelopPixels {
  const Pixel* sums;  // over `samples` samples
  const SrgbTable* table;
  Rgba8* colours;
  unsigned samples;
  Development how;
  Range range;

  HEAPWOOD_FN void operator()(std::size_t i) const { colours[i] = colour(sums[i]); }

 private:
  HEAPWOOD_FN Rgba8 encode(Vec3 c) const {
    return {table->code(c.x), table->code(c.y), table->code(c.z), 255};
  }
  HEAPWOOD_FN Rgba8 colour(const Pixel& p) const {
    const double share = samples > 0 ? 1.0 / samples : 0;
    if (shows_numbers(how.mode)) {
      const auto hit = static_cast<float>(p.a * share),
                 missed = static_cast<float>(1 - p.a * share);
      const Vec3 blank{0.90f, 0.91f, 0.93f};  // colour of pixels without a number
      return encode(blank * missed + ramp(how.mode, range, number_of(p)) * hit);
    }
    if (how.mode == Mode::normals) {
      // Normals are not light, so they are stored without sRGB encoding and tone curve.
      const double back = 0.12 * (1 - p.a * share);
      const auto plain = [&](double sum) {
        return static_cast<std::uint8_t>(std::lround(255 * std::min(1.0, sum * share + back)));
      };
      return {plain(p.r), plain(p.g), plain(p.b), 255};
    }
    const auto light = [&](double sum) {
      const double x = sum * share * how.exposure;
      if (how.mode == Mode::albedo) return static_cast<float>(x);  // a share of light, not light
      return static_cast<float>(how.tone == Tone::filmic ? filmic_curve(x) : tone_curve(x));
    };
    return encode({light(p.r), light(p.g), light(p.b)});
  }
};

// Counts pixels for FilmCounts. A bin is the upper bits of a positive float: 512 bins per octave.
struct CountPixels {
  static constexpr unsigned dropped_bits = 14, bin_count = 1u << (31 - dropped_bits);
  const Pixel* sums;
  std::uint32_t* bins;
  double share;  // 1 / samples
  bool numbers;

  HEAPWOOD_FN void operator()(std::size_t i) const {
    const Pixel p = sums[i];
    // A black background does not count.
    if (numbers ? !(p.a > 0) : p.a == 0 && p.r == 0 && p.g == 0 && p.b == 0) return;
    const double value =
        numbers ? number_of(p) : (0.2126 * p.r + 0.7152 * p.g + 0.0722 * p.b) * share;
    const std::uint32_t bin = value > 0 ? simt::bits(static_cast<float>(value)) >> dropped_bits : 0;
    // relaxed: the counts are read after all pixels.
    simt::atomic_ref<std::uint32_t>(bins[bin]).fetch_add(1, simt::relaxed);
  }
};

}  // namespace heapwood::render
