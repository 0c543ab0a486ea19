// SPDX-License-Identifier: MIT
#include "render/film.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "render/colour_map.hpp"
#include "render/text.hpp"

namespace heapwood::render {
namespace {

Rgb8 encode(Vec3 c) { return {srgb(c.x), srgb(c.y), srgb(c.z)}; }

// What pixels without a number are shown as.
constexpr Vec3 blank{0.90f, 0.91f, 0.93f};

Vec3 mix(Vec3 a, Vec3 b, double share) { return a * static_cast<float>(1 - share) + b * static_cast<float>(share); }

// The number a pixel shows: the mean over samples that have one.
double value(const Pixel& p) { return p.a > 0 ? p.r / p.a : 0; }

// Numbers that people like: 1, 2, 2.5 or 5 times a power of ten, not below x.
double round_up(double x) {
  if (!(x > 0)) return 1;
  const double power = std::pow(10, std::floor(std::log10(x)));
  for (const double step : {1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0}) {
    if (x <= step * power * (1 + 1e-9)) return step * power;
  }
  return 10 * power;
}

Vec3 ramp(Mode mode, const Range& range, double v) {
  // Near is bright.
  return colour_ramp(mode == Mode::depth ? 1 - range.place(v) : range.place(v));
}

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", v);
  return text;
}

// A panel in the lower left corner: a title, the ramp, its numbers. Left out of pictures that are too small for it.
void draw_legend(Image& image, const Film& film, Mode mode, const Range& range) {
  const unsigned scale = std::max(1u, image.height / 360);
  const unsigned width = 160 * scale, bar = 8 * scale, gap = 4 * scale;
  const unsigned text = glyph_height * scale;
  const unsigned panel_width = width + 6 * gap, panel_height = 2 * text + bar + 4 * gap;
  if (panel_width + 2 * gap > image.width || panel_height + 2 * gap > image.height / 2) return;
  double largest = 0;
  for (const Pixel& p : film.sums) largest = std::max(largest, value(p));
  const std::string title = mode == Mode::heatmap  ? "steps a ray (max " + number(largest) + ")"
                            : mode == Mode::leaves ? "triangles in the leaf (max " + number(largest) + ")"
                                                   : "distance";
  const Rgb8 ink{240, 240, 240};
  const int left = static_cast<int>(2 * gap);
  const int top = static_cast<int>(image.height - panel_height - 2 * gap);
  shade_rectangle(image, left, top, panel_width, panel_height, {16, 16, 20}, 0.72);
  const int x = left + static_cast<int>(3 * gap);
  int y = top + static_cast<int>(gap);
  draw_text(image, x, y, title, ink, scale);
  y += static_cast<int>(text + gap);
  for (unsigned i = 0; i < width; ++i) {
    const double v = range.low + (range.high - range.low) * (i + 0.5) / width;
    shade_rectangle(image, x + static_cast<int>(i), y, 1, bar, encode(ramp(mode, range, v)), 1);
  }
  y += static_cast<int>(bar + gap);
  for (unsigned tick = 0; tick <= 2; ++tick) {
    const std::string label = number(range.low + (range.high - range.low) * tick / 2);
    const int centre = x + static_cast<int>(width * tick / 2);
    shade_rectangle(image, centre - (tick == 2), y - static_cast<int>(gap), 1, gap / 2, ink, 1);
    draw_text(image, centre - static_cast<int>(text_width(label, scale)) / 2, y, label, ink, scale);
  }
}

}  // namespace

double tone_curve(double x) {
  constexpr double knee = 2.0 / 3;
  if (!(x > 0)) return 0;
  return x <= knee ? x : 1 - (1 - knee) * std::exp(-(x - knee) / (1 - knee));
}

unsigned char srgb(double linear) {
  const double x = linear > 0 ? std::min(linear, 1.0) : 0.0;
  const double coded = x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055;
  return static_cast<unsigned char>(std::lround(coded * 255));
}

Range range_of(const Film& film, const Development& how) {
  std::vector<double> all;
  for (const Pixel& p : film.sums) {
    if (p.a > 0) all.push_back(value(p));
  }
  if (all.empty()) return {};
  std::sort(all.begin(), all.end());
  const auto rank = [&](double share) {
    return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
  };
  if (how.mode == Mode::depth) return {rank(0.002), rank(0.998)};
  return {0, how.largest > 0 ? how.largest : round_up(rank(0.998))};
}

Rgb8 develop(const Pixel& p, unsigned samples, const Development& how, const Range& range) {
  const double share = samples > 0 ? 1.0 / samples : 0;
  if (shows_numbers(how.mode)) return encode(mix(blank, ramp(how.mode, range, value(p)), p.a * share));
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
