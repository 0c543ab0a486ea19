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
HEAPWOOD_INLINE bool shows_numbers(Mode mode) {
  return mode == Mode::depth || mode == Mode::heatmap || mode == Mode::leaves;
}
// The number of a pixel: the mean over the samples that have one.
HEAPWOOD_INLINE double number_of(const Pixel& p) { return p.a > 0 ? p.r / p.a : 0; }

// How many pixels of a film have which luminance or, in modes that show numbers, which number:
// counts per bin (CountPixels in develop.hpp), made on the host or on the device of the film.
// Values are rounded down to ten significant bits.
struct FilmCounts {
  std::vector<std::uint32_t> bins;
  std::uint64_t all = 0;
  double largest = 0;

  explicit FilmCounts(std::vector<std::uint32_t> counts);
  FilmCounts(const Film& film, Mode mode);
  double value_at(std::uint64_t rank) const;  // rank 0 is the smallest value
};
// The exposure if none is given. `has_unlit` as in Film.
double exposure_for(const FilmCounts& counts, Mode mode, bool has_unlit);
Range range_of(const FilmCounts& counts, const Development& how);

// Converts linear light from 0 to 1 to an sRGB byte (IEC 61966-2-1).
std::uint8_t srgb(float linear);

}  // namespace heapwood::render
