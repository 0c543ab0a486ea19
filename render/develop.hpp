// SPDX-License-Identifier: MIT
// From the sum of a pixel's samples to what the screen shows: exposure, tone curve, sRGB; a colour ramp in modes that show
// numbers. In double, on the host and where the film lies, so that both give the same picture.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "render/colour_map.hpp"
#include "render/image.hpp"
#include "render/shading.hpp"

namespace heapwood::render {

struct Development {
  Mode mode = Mode::shaded;
  double exposure = 1;  // factor on linear light
  double largest = 0;   // end of the colour ramp of heatmap and leaves; 0 = from the picture (99.8% of pixels)
  bool legend = true;   // draw one in modes that show numbers
};

// Numbers that a colour ramp runs over.
struct Range {
  double low = 0, high = 1;
  SIMT_FN double place(double v) const { return high > low ? (v - low) / (high - low) : 0; }
};
SIMT_FN inline bool shows_numbers(Mode mode) {
  return mode == Mode::depth || mode == Mode::heatmap || mode == Mode::leaves;
}

// Straight up to two thirds, then bent smoothly towards 1, which is never reached: highlights keep their shape.
SIMT_FN inline double tone_curve(double x) {
  constexpr double knee = 2.0 / 3;
  if (!(x > 0)) return 0;
  return x <= knee ? x : 1 - (1 - knee) * std::exp(-(x - knee) / (1 - knee));
}

// 0..1 linear light to 0..255 sRGB (IEC 61966-2-1).
SIMT_FN inline unsigned char srgb(double linear) {
  const double x = linear > 0 ? std::min(linear, 1.0) : 0.0;
  const double coded = x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055;
  return static_cast<unsigned char>(std::lround(coded * 255));
}

SIMT_FN inline Rgb8 encode(Vec3 c) { return {srgb(c.x), srgb(c.y), srgb(c.z)}; }

// The number that a pixel shows: the mean over samples that have one.
SIMT_FN inline double number_of(const Pixel& p) { return p.a > 0 ? p.r / p.a : 0; }

SIMT_FN inline Vec3 ramp(Mode mode, const Range& range, double v) {
  // Near is bright.
  return colour_ramp(mode == Mode::depth ? 1 - range.place(v) : range.place(v));
}

// One pixel of a picture: the sums of `samples` samples.
SIMT_FN inline Rgb8 develop(const Pixel& p, unsigned samples, const Development& how, const Range& range) {
  const double share = samples > 0 ? 1.0 / samples : 0;
  if (shows_numbers(how.mode)) {
    const auto hit = static_cast<float>(p.a * share), missed = static_cast<float>(1 - p.a * share);
    const Vec3 blank{0.90f, 0.91f, 0.93f};  // what pixels without a number are shown as
    return encode(blank * missed + ramp(how.mode, range, number_of(p)) * hit);
  }
  if (how.mode == Mode::normals) {
    // Normals are shown as they are, not as light: encoded values would be bent twice.
    const double back = 0.12 * (1 - p.a * share);
    const auto plain = [&](double sum) {
      return static_cast<std::uint8_t>(std::lround(255 * std::min(1.0, sum * share + back)));
    };
    return {plain(p.r), plain(p.g), plain(p.b)};
  }
  const auto light = [&](double sum) { return static_cast<float>(tone_curve(sum * share * how.exposure)); };
  return encode({light(p.r), light(p.g), light(p.b)});
}

// The same for pixel i of a film, in memory of the device that runs it: red in the lowest byte, then green, blue, 255.
struct DevelopPixels {
  const Pixel* sums;
  std::uint32_t* rgba;
  unsigned samples;
  Development how;
  Range range;
  SIMT_FN void operator()(std::size_t i) const {
    const Rgb8 c = develop(sums[i], samples, how, range);
    rgba[i] = c.r | std::uint32_t{c.g} << 8 | std::uint32_t{c.b} << 16 | 0xff000000u;
  }
};

}  // namespace heapwood::render
