// SPDX-License-Identifier: MIT
// From sums of samples to a picture: exposure, tone curve, sRGB; colour ramps with a legend for modes that show
// numbers. Everything here runs on the host in double, so that devices differ only in the samples.
#pragma once

#include <span>
#include <vector>

#include "render/image.hpp"
#include "render/shading.hpp"

namespace heapwood::render {

struct Film {
  unsigned width = 0, height = 0;
  unsigned samples = 0;     // a pixel
  std::vector<Pixel> sums;  // rows from the top
};

struct Development {
  Mode mode = Mode::shaded;
  double exposure = 1;  // factor on linear light
  double largest = 0;   // end of the colour ramp of heatmap and leaves; 0 = from the picture (99.8% of pixels)
  bool legend = true;   // draw one in modes that show numbers
};

Image develop(const Film& film, const Development& how);

// Numbers that a colour ramp runs over.
struct Range {
  double low = 0, high = 1;
  double place(double v) const { return high > low ? (v - low) / (high - low) : 0; }
};
inline bool shows_numbers(Mode mode) { return mode == Mode::depth || mode == Mode::heatmap || mode == Mode::leaves; }
// The range that a picture of numbers is shown in.
Range range_of(const Film& film, const Development& how);
// One pixel of a picture: the sums of `samples` samples.
Rgb8 develop(const Pixel& sum, unsigned samples, const Development& how, const Range& range);

// Straight up to two thirds, then bent smoothly towards 1, which is never reached: highlights keep their shape.
double tone_curve(double x);
// 0..1 linear light to 0..255 sRGB (IEC 61966-2-1).
unsigned char srgb(double linear);

}  // namespace heapwood::render
