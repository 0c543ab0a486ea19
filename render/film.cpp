// SPDX-License-Identifier: MIT
#include "render/film.hpp"

#include <stb/stb_easy_font.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <numbers>

namespace heapwood::render {
namespace {

constexpr unsigned glyph_height = 9;  // font pixels

std::uint8_t code_of(double linear) {
  const double coded =
      linear <= 0.0031308 ? 12.92 * linear : 1.055 * std::pow(linear, 1 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(coded * 255));
}

// A table that computes code_of() without std::pow, which would take most of a picture's time. It
// has the smallest linear value of each code, and the code at the lower end of each bucket; a
// bucket is narrower than a code.
struct SrgbTable {
  static constexpr unsigned buckets = 4096;  // a power of two: x * buckets is exact
  std::array<float, 257> min_linear;
  std::array<std::uint8_t, buckets + 1> first;

  SrgbTable() {
    min_linear[256] = 2;  // never reached
    // Bisects over bits, because positive floats are ordered like their bits.
    for (unsigned code = 1; code < 256; ++code) {
      // Invariant: code_of(low) < code.
      std::uint32_t low = 0, high = std::bit_cast<std::uint32_t>(1.0f);
      while (high - low > 1) {
        const std::uint32_t middle = low + (high - low) / 2;
        (code_of(std::bit_cast<float>(middle)) < code ? low : high) = middle;
      }
      min_linear[code] = std::bit_cast<float>(high);
    }
    for (unsigned i = 0; i <= buckets; ++i) first[i] = code_of(static_cast<double>(i) / buckets);
  }
};

Rgb8 encode(Vec3 c) { return {srgb(c.x), srgb(c.y), srgb(c.z)}; }

Vec3 ramp(Mode mode, const Range& range, double v) {
  const double fraction = range.high > range.low ? (v - range.low) / (range.high - range.low) : 0;
  return colour_ramp(mode == Mode::depth ? 1 - fraction : fraction);  // near is bright
}

// The colour of a pixel whose sums are over `samples` samples.
Rgb8 develop(const Pixel& p, unsigned samples, const Development& how, const Range& range) {
  const double share = samples > 0 ? 1.0 / samples : 0;
  if (shows_numbers(how.mode)) {
    const auto hit = static_cast<float>(p.a * share), missed = static_cast<float>(1 - p.a * share);
    const Vec3 blank{0.90f, 0.91f, 0.93f};  // colour of pixels without a number
    return encode(blank * missed + ramp(how.mode, range, number_of(p)) * hit);
  }
  if (how.mode == Mode::normals) {
    // Normals are not light, so they are stored without sRGB encoding and tone curve.
    const double back = 0.12 * (1 - p.a * share);
    const auto plain = [&](double sum) {
      return static_cast<std::uint8_t>(std::lround(255 * std::min(1.0, sum * share + back)));
    };
    return {plain(p.r), plain(p.g), plain(p.b)};
  }
  const auto light = [&](double sum) {
    const double x = sum * share * how.exposure;
    if (how.mode == Mode::albedo) return static_cast<float>(x);  // a share of light, not light
    return static_cast<float>(how.tone == Tone::filmic ? filmic_curve(x) : tone_curve(x));
  };
  return encode({light(p.r), light(p.g), light(p.b)});
}

// Blends a colour into a rectangle, clipped to the picture.
void shade_rectangle(Image& image, int x, int y, unsigned width, unsigned height, Rgb8 colour,
                     double opacity) {
  const auto mix = [&](std::uint8_t& to, std::uint8_t from) {
    to = static_cast<std::uint8_t>(std::lround(to + (from - to) * opacity));
  };
  const int x1 = std::min(x + static_cast<int>(width), static_cast<int>(image.width));
  const int y1 = std::min(y + static_cast<int>(height), static_cast<int>(image.height));
  for (int j = std::max(y, 0); j < y1; ++j) {
    for (int i = std::max(x, 0); i < x1; ++i) {
      Rgb8& pixel = image.at(static_cast<unsigned>(i), static_cast<unsigned>(j));
      mix(pixel.r, colour.r);
      mix(pixel.g, colour.g);
      mix(pixel.b, colour.b);
    }
  }
}

unsigned text_width(std::string text) {
  return static_cast<unsigned>(stb_easy_font_width(text.data()));
}

// Draws text with its top left corner at (x, y), `scale` pixels per font pixel.
void draw_text(Image& image, int x, int y, std::string text, Rgb8 colour, unsigned scale) {
  struct Corner {
    float x, y, z;
    unsigned char colour[4];
  };
  std::vector<Corner> corners(32 * text.size());  // at least 270 bytes per character
  const int quads = stb_easy_font_print(0, 0, text.data(), nullptr, corners.data(),
                                        static_cast<int>(corners.size() * sizeof(Corner)));
  for (int i = 0; i < quads; ++i) {
    const Corner &low = corners[4 * i], &high = corners[4 * i + 2];
    const auto scaled = [&](float c) { return static_cast<int>(c) * static_cast<int>(scale); };
    shade_rectangle(image, x + scaled(low.x), y + scaled(low.y),
                    static_cast<unsigned>(scaled(high.x - low.x)),
                    static_cast<unsigned>(scaled(high.y - low.y)), colour, 1);
  }
}

// The smallest round number >= x: one of the steps below times a power of ten.
double round_up(double x) {
  if (!(x > 0)) return 1;
  const double power = std::pow(10, std::floor(std::log10(x)));
  for (const double step : {1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0}) {
    if (x <= step * power * (1 + 1e-9)) return step * power;
  }
  return 10 * power;
}

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", v);
  return text;
}

// The legend's texts and width: a title, the colour ramp, and the numbers at its ends and middle.
struct Legend {
  std::string title;
  std::array<std::string, 3> labels;  // below the ramp: left end, middle, right end
  unsigned width = 0;                 // of the ramp in font pixels, enough for title and labels

  Legend(const Film& film, Mode mode, const Range& range) {
    double largest = 0;
    for (const Pixel& p : film.sums) largest = std::max(largest, number_of(p));
    title = mode == Mode::heatmap  ? "steps per ray (max " + number(largest) + ")"
            : mode == Mode::leaves ? "triangles in the leaf (max " + number(largest) + ")"
                                   : "distance";
    for (unsigned tick = 0; tick < 3; ++tick)
      labels[tick] = number(range.low + (range.high - range.low) * tick / 2);
    const unsigned end = std::max(text_width(labels[0]), text_width(labels[2])), gap = 6;
    width = std::max({160u, text_width(title), text_width(labels[1]) + 2 * (end + gap)});
  }
};

// Draws the legend in the lower left corner, scaled with the picture's height. It is smaller if it
// would be too wide, and omitted if it does not fit.
void draw_legend(Image& image, const Film& film, Mode mode, const Range& range) {
  const Legend legend(film, mode, range);
  for (unsigned scale = std::max(1u, image.height / 360); scale > 0; --scale) {
    const unsigned width = legend.width * scale, bar = 8 * scale, gap = 4 * scale;
    const unsigned text = glyph_height * scale;
    const unsigned panel_width = width + 6 * gap, panel_height = 2 * text + bar + 4 * gap;
    if (panel_width + 2 * gap > image.width || panel_height + 2 * gap > image.height / 2) continue;
    const Rgb8 ink{240, 240, 240};
    const int left = static_cast<int>(2 * gap);
    const int top = static_cast<int>(image.height - panel_height - 2 * gap);
    shade_rectangle(image, left, top, panel_width, panel_height, {16, 16, 20}, 0.72);
    const int x = left + static_cast<int>(3 * gap);
    int y = top + static_cast<int>(gap);
    draw_text(image, x, y, legend.title, ink, scale);
    y += static_cast<int>(text + gap);
    for (unsigned i = 0; i < width; ++i) {
      const double v = range.low + (range.high - range.low) * (i + 0.5) / width;
      shade_rectangle(image, x + static_cast<int>(i), y, 1, bar, encode(ramp(mode, range, v)), 1);
    }
    y += static_cast<int>(bar + gap);
    for (unsigned tick = 0; tick <= 2; ++tick) {
      shade_rectangle(image, x + static_cast<int>(width * tick / 2) - (tick == 2),
                      y - static_cast<int>(gap), 1, gap / 2, ink, 1);
      // The three labels are aligned left, centred and aligned right.
      const unsigned space = width - scale * text_width(legend.labels[tick]);
      draw_text(image, x + static_cast<int>(space * tick / 2), y, legend.labels[tick], ink, scale);
    }
    return;
  }
}

}  // namespace

double tone_curve(double x) {
  constexpr double knee = 2.0 / 3;
  if (!(x > 0)) return 0;
  return x <= knee ? x : 1 - (1 - knee) * std::exp(-(x - knee) / (1 - knee));
}

double filmic_curve(double x) {
  if (!(x > 0)) return 0;
  return std::min(1.0, x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14));
}

std::uint8_t srgb(float linear) {
  static const SrgbTable table;
  if (!(linear > 0)) return 0;
  const float x = std::min(linear, 1.0f);
  unsigned code = table.first[static_cast<unsigned>(x * SrgbTable::buckets)];
  while (x >= table.min_linear[code + 1]) ++code;  // at most once
  return static_cast<std::uint8_t>(code);
}

Vec3 colour_ramp(double x) {
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

Range range_of(const Film& film, const Development& how) {
  std::vector<double> all;
  for (const Pixel& p : film.sums) {
    if (p.a > 0) all.push_back(number_of(p));
  }
  if (all.empty()) return {};
  std::sort(all.begin(), all.end());
  const auto rank = [&](double share) {
    return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
  };
  if (how.mode == Mode::depth) return {rank(0.002), rank(0.998)};
  return {0, how.largest > 0 ? how.largest : round_up(rank(0.998))};
}

Image develop(const Film& film, const Development& how) {
  Image image(film.width, film.height);
  const bool numbers = shows_numbers(how.mode);
  const Range range = numbers ? range_of(film, how) : Range{};
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = develop(film.sums[i], film.samples, how, range);
  }
  if (numbers && how.legend) draw_legend(image, film, how.mode, range);
  return image;
}

}  // namespace heapwood::render
