// SPDX-License-Identifier: MIT
// Converts the sum of a pixel's samples to a displayed colour: exposure, tone curve and sRGB, or a
// colour ramp in modes that show numbers. Computed in double, so that host and device give the same
// picture.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "render/colour_map.hpp"
#include "render/frame.hpp"
#include "render/image.hpp"

namespace heapwood::render {

enum class Tone : std::uint8_t { standard, filmic };

struct Development {
  Mode mode = Mode::shaded;
  double exposure = 1;  // factor on linear light
  double largest = 0;   // end of the colour ramp of heatmap and leaves; 0 = 99.8th percentile
  bool legend = true;   // draw a legend in modes that show numbers
  Tone tone = Tone::standard;
};

// The range of numbers that a colour ramp covers; fraction_of(v) is v's position in it, 0 to 1.
struct Range {
  double low = 0, high = 1;
  HEAPWOOD_FN double fraction_of(double v) const {
    return high > low ? (v - low) / (high - low) : 0;
  }
};
HEAPWOOD_FN inline bool shows_numbers(Mode mode) {
  return mode == Mode::depth || mode == Mode::heatmap || mode == Mode::leaves;
}

// Linear up to 2/3, then smoothly towards 1, which is never reached: highlights keep their
// contrast.
HEAPWOOD_FN inline double tone_curve(double x) {
  constexpr double knee = 2.0 / 3;
  if (!(x > 0)) return 0;
  return x <= knee ? x : 1 - (1 - knee) * std::exp(-(x - knee) / (1 - knee));
}

// Contrast in the shadows and soft highlights, as of film (Narkowicz 2015, "ACES filmic tone
// mapping curve").
HEAPWOOD_FN inline double filmic_curve(double x) {
  if (!(x > 0)) return 0;
  return std::min(1.0, x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14));
}

// 0..1 linear light to 0..255 sRGB (IEC 61966-2-1).
HEAPWOOD_FN inline unsigned char srgb(double linear) {
  const double x = linear > 0 ? std::min(linear, 1.0) : 0.0;
  const double coded = x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055;
  return static_cast<unsigned char>(std::lround(coded * 255));
}

HEAPWOOD_FN inline Rgb8 encode(Vec3 c) { return {srgb(c.x), srgb(c.y), srgb(c.z)}; }

// The number of a pixel: the mean over the samples that have one.
HEAPWOOD_FN inline double number_of(const Pixel& p) { return p.a > 0 ? p.r / p.a : 0; }

HEAPWOOD_FN inline Vec3 ramp(Mode mode, const Range& range, double v) {
  // Depth is inverted: near is bright.
  return colour_ramp(mode == Mode::depth ? 1 - range.fraction_of(v) : range.fraction_of(v));
}

// The colour of a pixel whose sums are over `samples` samples.
HEAPWOOD_FN inline Rgb8 develop(const Pixel& p, unsigned samples, const Development& how,
                                const Range& range) {
  const double share = samples > 0 ? 1.0 / samples : 0;
  if (shows_numbers(how.mode)) {
    const auto hit = static_cast<float>(p.a * share), missed = static_cast<float>(1 - p.a * share);
    const Vec3 blank{0.90f, 0.91f, 0.93f};  // colour of pixels without a number
    return encode(blank * missed + ramp(how.mode, range, number_of(p)) * hit);
  }
  if (how.mode == Mode::normals) {
    // Normals are stored without sRGB encoding and tone curve: they are not light.
    const double back = 0.12 * (1 - p.a * share);
    const auto plain = [&](double sum) {
      return static_cast<std::uint8_t>(std::lround(255 * std::min(1.0, sum * share + back)));
    };
    return {plain(p.r), plain(p.g), plain(p.b)};
  }
  const auto light = [&](double sum) {
    const double x = sum * share * how.exposure;
    return static_cast<float>(how.tone == Tone::filmic ? filmic_curve(x) : tone_curve(x));
  };
  return encode({light(p.r), light(p.g), light(p.b)});
}

// Develops pixel i of a film in device memory to RGBA: red in the lowest byte, then green, blue,
// 255.
struct DevelopPixels {
  const Pixel* sums;
  std::uint32_t* rgba;
  unsigned samples;
  Development how;
  Range range;
  HEAPWOOD_FN void operator()(std::size_t i) const {
    const Rgb8 c = develop(sums[i], samples, how, range);
    rgba[i] = c.r | std::uint32_t{c.g} << 8 | std::uint32_t{c.b} << 16 | 0xff000000u;
  }
};

}  // namespace heapwood::render
