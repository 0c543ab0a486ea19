// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

#include "render/develop.hpp"
#include "render/random.hpp"
#include "render/renderer.hpp"
#include "tests/folder.hpp"
#include "tests/render/pictures.hpp"

extern "C" int stbi_zlib_decode_buffer(char* to, int to_size, const char* from, int from_size);

namespace heapwood::render {
namespace {

TEST(ImagePng, ReadsWhatItWrote) {
  const tests::Folder folder;
  Image image(37, 21);
  for (unsigned y = 0; y < image.height; ++y) {
    for (unsigned x = 0; x < image.width; ++x) {
      image.at(x, y) = {static_cast<std::uint8_t>(x * 7), static_cast<std::uint8_t>(y * 12),
                        static_cast<std::uint8_t>(x ^ y)};
    }
  }
  EXPECT_EQ(read_png(folder.write("a.png", to_png(image))), image);
}

TEST(ImagePng, NoPixelsAreNoPicture) { EXPECT_THROW(to_png(Image()), Error); }

TEST(ImagePng, ReadingRefusesWhatIsNoPicture) {
  const tests::Folder folder;
  EXPECT_THROW(read_png(folder / "missing.png"), Error);
  EXPECT_THROW(read_png(folder.write("text.png", "this is not a picture")), Error);
}

TEST(ImageFilm, AppliesSrgbAndToneCurve) {
  EXPECT_EQ(srgb(0), 0);
  EXPECT_EQ(srgb(1), 255);
  EXPECT_EQ(srgb(2), 255);
  EXPECT_EQ(srgb(-1), 0);
  EXPECT_EQ(srgb(0.2158605f), 128);
  EXPECT_EQ(tone_curve(0.5), 0.5);
  double last = -1;
  for (double x = 0; x < 8; x += 0.01) {
    EXPECT_GT(tone_curve(x), last);
    EXPECT_LT(tone_curve(x), 1);
    last = tone_curve(x);
  }
}

TEST(ImageFilm, RampGetsLighterAllAlong) {
  double last = -1;
  for (int i = 0; i <= 100; ++i) {
    const Vec3 c = colour_ramp(i / 100.0);
    const double luminance = 0.2126 * c.x + 0.7152 * c.y + 0.0722 * c.z;
    EXPECT_GT(luminance, last) << i;
    last = luminance;
  }
  EXPECT_EQ(colour_ramp(-1), colour_ramp(0));
  EXPECT_EQ(colour_ramp(2), colour_ramp(1));
  EXPECT_EQ(colour_ramp(std::nan("")), colour_ramp(0));
}

TEST(ImageFilm, LegendOnlyWhereThereIsRoom) {
  for (const unsigned width : {40u, 400u}) {
    Film film{width, width * 3 / 4, 1, {}};
    film.sums.assign(std::size_t{film.width} * film.height, Pixel{5, 0, 0, 1});
    Development how{Mode::heatmap, 1, 10, false};
    const Image plain = develop(film, how);
    how.legend = true;
    EXPECT_EQ(develop(film, how) == plain, width == 40);
  }
}

// The pixels that a legend changes form a rectangle whose border has the panel's colour: no text
// leaves the panel or is cut off.
TEST(ImageFilm, LegendsKeepInsideTheirPanel) {
  for (const auto& [mode, low, high] :
       {std::tuple{Mode::leaves, 5.0f, 123456.0f}, std::tuple{Mode::heatmap, 5.0f, 1234567.0f},
        std::tuple{Mode::depth, 0.1234f, 0.343f}, std::tuple{Mode::depth, 1.23e-20f, 4.03e-20f}}) {
    for (const auto& [width, height] :
         {std::pair{320u, 240u}, {960u, 540u}, {420u, 720u}, {250u, 2000u}}) {
      Film film{width, height, 1, {}};
      film.sums.assign(std::size_t{width} * height, Pixel{low, 0, 0, 1});
      std::fill_n(film.sums.begin(), std::size_t{width} * height / 10, Pixel{high, 0, 0, 1});
      Development how{mode, 1, 0, false};
      const Image plain = develop(film, how);
      how.legend = true;
      const Image image = develop(film, how);
      unsigned left = width, right = 0, top = height, bottom = 0, inked = 0;
      for (unsigned y = 0; y < height; ++y) {
        for (unsigned x = 0; x < width; ++x) {
          if (image.at(x, y) == plain.at(x, y)) continue;
          left = std::min(left, x), right = std::max(right, x), top = std::min(top, y),
          bottom = std::max(bottom, y);
          inked += image.at(x, y) == Rgb8{240, 240, 240};
        }
      }
      const std::string where =
          name(mode) + (" " + std::to_string(width) + "x" + std::to_string(height));
      ASSERT_GT(inked, 100u) << where;
      EXPECT_GT(left, 0u) << where;
      EXPECT_LT(right, width - 1) << where;
      const Rgb8 panel = image.at(left, top);
      for (unsigned x = left; x <= right; ++x) {
        EXPECT_EQ(image.at(x, top), panel) << where;
        EXPECT_EQ(image.at(x, bottom), panel) << where;
      }
      for (unsigned y = top; y <= bottom; ++y) {
        EXPECT_EQ(image.at(left, y), panel) << where;
        EXPECT_EQ(image.at(right, y), panel) << where;
      }
    }
  }
}

TEST(ImageFilm, EmptyFilmsAreDeveloped) {
  for (const Mode mode : {Mode::shaded, Mode::path, Mode::ao, Mode::normals, Mode::depth,
                          Mode::heatmap, Mode::leaves}) {
    const Film film{8, 8, 1, std::vector<Pixel>(64)};
    EXPECT_EQ(develop(film, {mode, 1, 0, true}).pixels.size(), 64u);
    EXPECT_EQ(parse_mode(name(mode)), mode);
  }
  EXPECT_THROW(parse_mode("shiny"), Error);
}

// Every step of the curve, from below and from above, and values between them.
TEST(ImageFilm, SrgbIsThatOfTheStandard) {
  const auto code_of = [](float x) {
    const double coded =
        x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(static_cast<double>(x), 1 / 2.4) - 0.055;
    return std::lround(coded * 255);
  };
  for (const float x : {-0.0f, std::nanf("")}) EXPECT_EQ(srgb(x), 0);
  EXPECT_EQ(srgb(1e30f), 255);
  long last = 0;
  for (std::uint32_t bits = 0; bits <= std::bit_cast<std::uint32_t>(1.0f); bits += 4093) {
    const long code = code_of(std::bit_cast<float>(bits));
    ASSERT_EQ(srgb(std::bit_cast<float>(bits)), code);
    for (std::uint32_t k = bits - 4093; code != last && k < bits; ++k)
      ASSERT_EQ(srgb(std::bit_cast<float>(k)), code_of(std::bit_cast<float>(k)));
    last = code;
  }
  EXPECT_EQ(last, 255);
}

// Albedo is not light: white is white.
TEST(ImageFilm, AlbedoHasNoToneCurve) {
  const Film film{2, 1, 2, {Pixel{2, 2, 2, 2}, Pixel{0.0060704f, 0.0139913f, 0.0259665f, 2}}};
  const Image image = develop(film, {.mode = Mode::albedo});
  EXPECT_EQ(image.at(0, 0), (Rgb8{255, 255, 255}));
  EXPECT_EQ(image.at(1, 0), (Rgb8{10, 20, 30}));
}

// EXR files, read with code of the test.

template <class T>
T word(const std::string& file, std::size_t offset) {
  T value;
  if (offset + sizeof value > file.size()) throw std::out_of_range("the file ends early");
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

// The channels of all pixels: B, G and R of each row.
std::vector<float> read(const std::string& file, unsigned width, unsigned height) {
  const std::size_t header = file.find(std::string("screenWindowWidth\0float\0\4\0\0\0", 28));
  std::size_t offsets = header + 28 + 4 + 1;
  std::vector<float> all;
  std::size_t end = 0;
  for (unsigned y = 0; y < height; y += 16, offsets += 8) {
    const auto offset = static_cast<std::size_t>(word<std::uint64_t>(file, offsets));
    EXPECT_EQ(word<std::int32_t>(file, offset), static_cast<std::int32_t>(y));
    const auto size = static_cast<std::size_t>(word<std::int32_t>(file, offset + 4));
    const std::size_t floats = std::size_t{3} * width * std::min(16u, height - y);
    std::string bytes = file.substr(offset + 8, size);
    end = offset + 8 + size;
    if (size < 4 * floats) {
      std::string split(4 * floats, '\0');
      EXPECT_EQ(stbi_zlib_decode_buffer(split.data(), static_cast<int>(split.size()), bytes.data(),
                                        static_cast<int>(size)),
                static_cast<int>(split.size()));
      for (std::size_t i = 1; i < split.size(); ++i)
        split[i] = static_cast<char>(split[i] + split[i - 1] - 128);
      bytes.resize(split.size());
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = split[i / 2 + i % 2 * 2 * floats];
    }
    all.resize(all.size() + floats);
    std::memcpy(all.data() + all.size() - floats, bytes.data(), 4 * floats);
  }
  EXPECT_EQ(end, file.size());
  return all;
}

Film film_of(unsigned width, unsigned height, bool is_noise) {
  Film film{width, height, 2, std::vector<Pixel>(std::size_t{width} * height)};
  const PixelRandom random(1, 1);
  for (unsigned i = 0; i < film.sums.size(); ++i) {
    film.sums[i] = {is_noise ? random.value(i, 0) : 1.0f, is_noise ? random.value(i, 1) : 250.0f,
                    is_noise ? random.value(i, 2) : 0.5f, 2};
  }
  return film;
}

// Noise does not compress, and is stored as it is.
TEST(Exr, HoldsTheMeanOfTheSamples) {
  for (const bool is_noise : {false, true}) {
    const Film film = film_of(7, 35, is_noise);
    const std::vector<float> read_back = read(to_exr(film, Mode::path), 7, 35);
    ASSERT_EQ(read_back.size(), 3u * 7 * 35);
    for (unsigned i = 0; i < film.sums.size(); ++i) {
      const float* const row = read_back.data() + i / 7 * 21 + i % 7;
      EXPECT_EQ(row[14], film.sums[i].r / 2);
      EXPECT_EQ(row[7], film.sums[i].g / 2);
      EXPECT_EQ(row[0], film.sums[i].b / 2);
    }
  }
}

TEST(Exr, HoldsNumbers) {
  const Film film = film_of(2, 2, false);
  EXPECT_EQ(read(to_exr(film, Mode::depth), 2, 2), std::vector<float>(12, 0.5f));
}

}  // namespace
}  // namespace heapwood::render
