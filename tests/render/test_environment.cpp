// SPDX-License-Identifier: MIT
// Pictures that an environment lights, and the sampling of its directions.
#include "render/environment.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "render/image.hpp"
#include "simt/error.hpp"
#include "tests/errors.hpp"
#include "tests/render/pictures.hpp"
#include "tests/render/trees.hpp"

namespace heapwood::render {
namespace {

constexpr double mean_radiance = 0.45;

// A picture that is bright in one texel and dim elsewhere.
RadianceMap spotted(unsigned width, unsigned height, unsigned x, unsigned y) {
  RadianceMap map{width, height,
                  std::vector<Vec3>(std::size_t{width} * height, {0.01f, 0.02f, 0.03f})};
  map.texels[std::size_t{y} * width + x] = {90, 100, 110};
  return map;
}
RadianceMap uniform() { return {8, 4, std::vector<Vec3>(32, {3, 3, 3})}; }

TEST(Environment, TheZenithIsTheUpAxis) {
  for (const unsigned up : {0u, 1u, 2u}) {
    EXPECT_EQ(from_environment({0, 1, 0}, up), axis_vector(up));
    const Vec3 d = normalize(Vec3{0.3f, -0.5f, 0.7f});
    EXPECT_EQ(to_environment(from_environment(d, up), up), d);
    // The change of axes is a rotation, not a reflection.
    const Vec3 x = from_environment({1, 0, 0}, up), y = from_environment({0, 1, 0}, up);
    EXPECT_EQ(cross(x, y), from_environment({0, 0, 1}, up));
  }
}

TEST(Environment, PositionsAndDirectionsAreInverse) {
  for (const Point2 position : {Point2{0.5f, 0.5f}, Point2{0.1f, 0.3f}, Point2{0.9f, 0.95f}}) {
    const Point2 back = environment_position(environment_direction(position));
    EXPECT_NEAR(back.x, position.x, 1e-5);
    EXPECT_NEAR(back.y, position.y, 1e-5);
  }
  expect_near(environment_direction({0.5f, 0.5f}), {0, 0, -1}, 1e-6f);
  expect_near(environment_direction({0.75f, 0.5f}), {1, 0, 0}, 1e-6f);
  expect_near(environment_direction({0.2f, 0}), {0, 1, 0}, 1e-6f);
}

// The mean of 1 / density is the solid angle of all directions, that of light / density the sum of
// the light: densities are those with which directions are chosen.
TEST(Environment, DensitiesAreThoseOfTheChosenDirections) {
  for (const unsigned up : {1u, 2u}) {
    const Environment environment({}, spotted(32, 16, 20, 5), up);
    const EnvironmentView& view = environment.view();
    constexpr unsigned n = 1 << 16;
    const PixelRandom random(1, 2);
    double angle = 0, light = 0;
    unsigned differing = 0;
    for (unsigned i = 0; i < n; ++i) {
      const EnvironmentLight sample = sample_environment(view, random.even_point(i, 0));
      ASSERT_GT(sample.density, 0);
      ASSERT_NEAR(length(sample.direction), 1, 1e-5);
      angle += 1.0 / sample.density / n;
      light += static_cast<double>(sample.radiance.y) / sample.density / n;
      const EnvironmentLight again = environment_towards(view, sample.direction);
      differing += std::fabs(again.density - sample.density) > 0.001f * sample.density ||
                   std::fabs(again.radiance.y - sample.radiance.y) > 0.01f * sample.radiance.y;
    }
    constexpr double sphere = 4 * std::numbers::pi;
    EXPECT_NEAR(angle, sphere, 0.02 * sphere);
    EXPECT_NEAR(light, mean_radiance * sphere, 0.06 * mean_radiance * sphere);
    EXPECT_LT(differing, n / 500);  // they differ by rounding at the cells' edges
  }
}

TEST(Environment, ValuesThatAreNoLightAreBlack) {
  RadianceMap map = uniform();
  map.texels[3] = {NAN, -5, INFINITY};
  map.texels[4] = {-INFINITY, 0, 0};
  const Environment environment({}, map, 1);
  for (unsigned i = 0; i < 100; ++i) {
    const EnvironmentLight light =
        sample_environment(environment.view(), PixelRandom(1, 0).even_point(i, 0));
    EXPECT_TRUE(std::isfinite(light.radiance.x + light.density));
  }
  const Environment black({}, {2, 1, {{}, {}}}, 1);
  EXPECT_EQ(environment_towards(black.view(), {0, 1, 0}).radiance, Vec3{});
}

// A convex body of one colour under even light shows its albedo times the light everywhere.
TEST(Environment, EvenLightOnAConvexBodyShowsItsAlbedo) {
  const Soup ball = closed_surface(12, 1, {}, 1);
  const Environment environment(test_device(), uniform(), 1);
  for (const bool watertight : {false, true}) {
    const RenderJob job{.mode = Mode::path,
                        .width = 8,
                        .height = 8,
                        .spp = 256,
                        .camera = {{0, 0, 4}, {}, 10, 1},
                        .environment = &environment};
    Vec3 sum;
    for (const Pixel& p : film_of(job, scene_of(ball, watertight)).sums) {
      ASSERT_EQ(p.a, 256);
      sum = sum + Vec3{p.r, p.g, p.b} * (1.0f / 256 / 64);
    }
    expect_near(sum, Lighting{}.albedo * float{mean_radiance}, 0.004f);
  }
}

// All light comes from one direction, to which the surface is turned: its irradiance is the light
// of all directions.
TEST(Environment, ASmallBrightSourceIsSampled) {
  Soup square;
  add_quad(square, {-1, -1, 0}, {1, -1, 0}, {1, 1, 0}, {-1, 1, 0});
  RadianceMap map{256, 128, std::vector<Vec3>(256 * 128)};
  // A light in the direction +z: the left and right edge of the picture, in the middle rows.
  for (const unsigned x : {0u, 255u}) {
    for (const unsigned y : {63u, 64u}) map.texels[y * 256 + x] = {500, 500, 500};
  }
  const Environment environment(test_device(), map, 1);
  const RenderJob job{.mode = Mode::path,
                      .width = 4,
                      .height = 4,
                      .spp = 256,
                      .camera = {{0.3f, 0.2f, 4}, {}, 10, 1},
                      .environment = &environment};
  const float expected = static_cast<float>(4 * mean_radiance) * Lighting{}.albedo.y;
  float sum = 0;
  for (const Pixel& p : film_of(job, scene_of(square)).sums) sum += p.g / 256 / 16;
  EXPECT_NEAR(sum, expected, 0.03f * expected);
}

TEST(EnvironmentSky, HasTheSunWhereItIs) {
  for (const unsigned up : {1u, 2u}) {
    const Vec3 sun = from_environment(normalize(Vec3{0.4f, 0.6f, 0.5f}), up);
    const RadianceMap sky = make_sky(sun, up);
    std::size_t brightest = 0;
    for (std::size_t i = 0; i < sky.texels.size(); ++i) {
      const Vec3 t = sky.texels[i];
      ASSERT_TRUE(t.x >= 0 && t.y >= 0 && t.z >= 0 && std::isfinite(t.x + t.y + t.z)) << i;
      if (t.y > sky.texels[brightest].y) brightest = i;
    }
    const Vec3 found = environment_direction(
        {(static_cast<float>(brightest % sky.width) + 0.5f) / static_cast<float>(sky.width),
         (static_cast<float>(brightest / sky.width) + 0.5f) / static_cast<float>(sky.height)});
    EXPECT_GT(dot(from_environment(found, up), sun), 0.999f);
  }
  // The sun is below the horizon.
  for (const Vec3& t : make_sky({0, -1, 0}, 1).texels) ASSERT_TRUE(std::isfinite(t.x + t.y + t.z));
}

TEST(EnvironmentFile, IsReadOrRefused) {
  std::string file = "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 2 +X 4\n";
  for (int i = 0; i < 8; ++i) file += std::string{'\x40', '\x20', '\x10', '\x81'};
  const RadianceMap map = parse_environment(file, "f.hdr");
  EXPECT_EQ(map.width, 4u);
  EXPECT_EQ(map.height, 2u);
  expect_near(map.texels[5], {0.5f, 0.25f, 0.125f}, 0.01f);
  for (const std::string& wrong :
       {std::string(), std::string("#?RADIANCE\n"), to_png(Image(1, 1)),
        std::string("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 9999 +X 9999\n")}) {
    tests::expect_error(Exit::scene, {"f.hdr: "}, [&] { parse_environment(wrong, "f.hdr"); });
  }
}

TEST(Tone, FilmicIsMonotonousFromBlackToWhite) {
  double before = -1;
  for (double x = 0; x < 30; x += 0.01) {
    const double y = filmic_curve(x);
    EXPECT_GE(y, before) << x;
    before = y;
  }
  EXPECT_EQ(filmic_curve(0), 0);
  EXPECT_EQ(filmic_curve(-1), 0);
  EXPECT_EQ(filmic_curve(NAN), 0);
  EXPECT_EQ(before, 1);
  // The filmic curve is darker than the standard one in the shadows.
  EXPECT_LT(filmic_curve(0.02), tone_curve(0.02));
}

}  // namespace
}  // namespace heapwood::render
