// SPDX-License-Identifier: MIT
#include <stb/stb_easy_font.h>

#include <array>
#include <bit>
#include <cstdio>
#include <utility>

#include "render/develop.hpp"

namespace heapwood::render {
namespace {

constexpr unsigned glyph_height = 9;  // font pixels

std::uint8_t code_of(double linear) {
  const double coded =
      linear <= 0.0031308 ? 12.92 * linear : 1.055 * std::pow(linear, 1 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(coded * 255));
}

SrgbTable make_srgb_table() {
  SrgbTable table;
  table.min_linear[0] = 0;
  table.min_linear[256] = 2;  // never reached
  // Bisects over bits, because positive floats are ordered like their bits.
  for (unsigned code = 1; code < 256; ++code) {
    // Invariant: code_of(low) < code.
    std::uint32_t low = 0, high = std::bit_cast<std::uint32_t>(1.0f);
    while (high - low > 1) {
      const std::uint32_t middle = low + (high - low) / 2;
      (code_of(std::bit_cast<float>(middle)) < code ? low : high) = middle;
    }
    table.min_linear[code] = std::bit_cast<float>(high);
  }
  for (unsigned i = 0; i <= SrgbTable::buckets; ++i)
    table.first[i] = code_of(static_cast<double>(i) / SrgbTable::buckets);
  return table;
}

Rgb8 encode(Vec3 c) { return {srgb(c.x), srgb(c.y), srgb(c.z)}; }

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

const SrgbTable& srgb_table() {
  static const SrgbTable table = make_srgb_table();
  return table;
}

std::uint8_t srgb(float linear) { return srgb_table().code(linear); }

FilmCounts::FilmCounts(std::vector<std::uint32_t> counts) : bins(std::move(counts)) {
  for (const std::uint32_t count : bins) all += count;
  if (all > 0) largest = value_at(all - 1);
}

FilmCounts::FilmCounts(const Film& film, Mode mode)
    : FilmCounts([&] {
        std::vector<std::uint32_t> counts(CountPixels::bin_count);
        const CountPixels count{film.sums.data(), counts.data(), 1.0 / std::max(1u, film.samples),
                                shows_numbers(mode)};
        for (std::size_t i = 0; i < film.sums.size(); ++i) count(i);
        return counts;
      }()) {}

double FilmCounts::value_at(std::uint64_t rank) const {
  std::uint64_t below = 0;
  std::uint32_t bin = 0;
  while (bin + 1 < bins.size() && (below += bins[bin]) <= rank) ++bin;
  return std::bit_cast<float>(bin << CountPixels::dropped_bits);
}

// The exposure at which 90% of the pixels, not counting a black background, have a brightness of at
// most 0.75. In mode shaded it is limited to a narrow range, because the lighting is chosen to need
// no correction. If there are unlit colours, which must be exact, it is 1.
double exposure_for(const FilmCounts& counts, Mode mode, bool has_unlit) {
  if ((mode != Mode::shaded && mode != Mode::path) || has_unlit || counts.all == 0) return 1;
  const double lowest = mode == Mode::path ? 0.25 : 0.8, highest = mode == Mode::path ? 8 : 1.6;
  const double bright = counts.value_at(counts.all * 9 / 10);
  return bright > 0 ? std::clamp(0.75 / bright, lowest, highest) : 1;
}

Range range_of(const FilmCounts& counts, const Development& how) {
  if (counts.all == 0) return {};
  const auto value = [&](double share) {
    return counts.value_at(static_cast<std::uint64_t>(share * static_cast<double>(counts.all - 1)));
  };
  if (how.mode == Mode::depth) return {value(0.002), value(0.998)};
  return {0, how.largest > 0 ? how.largest : round_up(value(0.998))};
}

Image develop(const Film& film, const Development& how) {
  const bool numbers = shows_numbers(how.mode);
  const Range range = numbers ? range_of(FilmCounts(film, how.mode), how) : Range{};
  std::vector<Rgba8> colours(film.sums.size());
  const DevelopPixels pixels{film.sums.data(), &srgb_table(), colours.data(),
                             film.samples,     how,           range};
  Image image(film.width, film.height);
  for (std::size_t i = 0; i < colours.size(); ++i) {
    pixels(i);
    image.pixels[i] = {colours[i].r, colours[i].g, colours[i].b};
  }
  if (numbers && how.legend) draw_legend(image, film, how.mode, range);
  return image;
}

}  // namespace heapwood::render
