// SPDX-License-Identifier: MIT
// Sums of a picture's samples, and their development into colours: exposure, tone curve and sRGB,
// or a colour ramp with a legend in modes that show numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "render/frame.hpp"
#include "render/image.hpp"

namespace heapwood::render {

struct Film {
  unsigned width = 0, height = 0;
  unsigned samples = 0;     // number of samples per pixel
  std::vector<Pixel> sums;  // rows, from the top down
  bool has_unlit = false;   // whether some materials show their exact colours
};

enum class Tone : std::uint8_t { standard, filmic };

struct Development {
  Mode mode = Mode::shaded;
  double exposure = 1;  // factor on linear light
  double largest = 0;   // end of the colour ramp of heatmap and leaves; 0 = 99.8th percentile
  bool legend = true;   // draw a legend in modes that show numbers
  Tone tone = Tone::standard;
};

Image develop(const Film& film, const Development& how);

// A file in OpenEXR: linear, not developed, 32-bit floating point. It has channels R, G, B in scan
// lines with ZIP compression ("The OpenEXR file layout", version 2). In modes that show numbers all
// three have the number.
std::string to_exr(const Film& film, Mode mode);

// The numbers that the ends of a colour ramp represent.
struct Range {
  double low = 0, high = 1;
};
// The range of the colour ramp, in modes that show numbers.
Range range_of(const Film& film, const Development& how);
inline bool shows_numbers(Mode mode) {
  return mode == Mode::depth || mode == Mode::heatmap || mode == Mode::leaves;
}
// The number of a pixel: the mean over the samples that have one.
inline double number_of(const Pixel& p) { return p.a > 0 ? p.r / p.a : 0; }

// Linear up to 2/3, then smoothly approaching 1, so that highlights keep their contrast.
double tone_curve(double x);
// Contrast in shadows, soft highlights (Narkowicz 2015, "ACES filmic tone mapping curve").
double filmic_curve(double x);
// Converts linear light from 0 to 1 to an sRGB byte (IEC 61966-2-1).
std::uint8_t srgb(float linear);

// The linear colour of x in [0, 1], clamped, NaN as 0: from near black through purple, red and
// orange to pale yellow. Lightness is linear in OKLab (Ottosson 2020, "A perceptual color space for
// image processing"): equal differences look equal, also in greyscale and to colour-blind readers.
Vec3 colour_ramp(double x);

}  // namespace heapwood::render
