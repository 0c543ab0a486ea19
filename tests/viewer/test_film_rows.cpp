// SPDX-License-Identifier: MIT
// The window's colours are those of `heapwood render`.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "viewer/pixels.hpp"

namespace heapwood::viewer {

namespace {

TEST(FilmRows, CodesAreThoseOfTheCurve) {
  for (const float x : {-1.0f, -0.0f, 0.0f, 1e-30f, 1.0f, 1.5f, 1e30f, std::nanf("")})
    EXPECT_EQ(srgb_code(x), render::srgb(static_cast<double>(x))) << x;
  // Every step of the curve, from below and from above, and what lies between.
  std::uint8_t code = 0;
  for (std::uint32_t bits = 0; bits <= std::bit_cast<std::uint32_t>(1.0f); bits += 4093) {
    const auto x = std::bit_cast<float>(bits);
    const std::uint8_t now = srgb_code(x);
    ASSERT_EQ(now, render::srgb(static_cast<double>(x))) << x;
    if (now == code) continue;
    code = now;
    for (std::uint32_t before = bits - 4093; before <= bits; ++before) {
      const auto between = std::bit_cast<float>(before);
      ASSERT_EQ(srgb_code(between), render::srgb(static_cast<double>(between))) << between;
    }
  }
  EXPECT_EQ(code, 255);
}

TEST(FilmRows, AreDevelopedAsPicturesAre) {
  std::vector<render::Pixel> sums;
  for (int i = 0; i < 3000; ++i) {
    const auto f = static_cast<float>(i);
    sums.push_back(
        {f * f * 1e-6f, std::abs(std::sin(f)) * 4, 4 - f * 1e-3f, static_cast<float>(i % 5)});
  }
  for (const render::Mode mode :
       {render::Mode::shaded, render::Mode::path, render::Mode::ao, render::Mode::normals,
        render::Mode::depth, render::Mode::albedo}) {
    for (const render::Tone tone : {render::Tone::standard, render::Tone::filmic}) {
      const render::Development how{mode, 1.7, 0, false, tone};
      const render::Range range{0, 3};
      const std::vector<gl::Rgba8> rows = develop_rows(sums, 4, how, range);
      ASSERT_EQ(rows.size(), sums.size());
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const render::Rgb8 c = render::develop(sums[i], 4, how, range);
        ASSERT_EQ(rows[i], (gl::Rgba8{c.r, c.g, c.b, 255}))
            << static_cast<int>(mode) << ", pixel " << i;
      }
    }
  }
}

}  // namespace

}  // namespace heapwood::viewer
