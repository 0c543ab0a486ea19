// SPDX-License-Identifier: MIT
// Colours, holes and emitting triangles in pictures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "render/auto_camera.hpp"
#include "tests/render/pictures.hpp"
#include "tests/render/trees.hpp"

namespace heapwood::render {
namespace {

// Adds a square parallel to the plane of x and y.
void add_square(Soup& soup, float low, float high, float z) {
  add_quad(soup, {low, low, z}, {high, low, z}, {high, high, z}, {low, high, z});
}
// The unit square at z = 0, corner (0, 0) of its texture at the upper left.
Soup square() {
  Soup soup;
  add_square(soup, 0, 1, 0);
  return soup;
}
const std::vector<Uv> square_uvs{{0, 1}, {1, 1}, {1, 0}, {0, 1}, {1, 0}, {0, 0}};

// White light from everywhere and nothing else: the colour of a pixel is the albedo.
Lighting even_light() {
  Lighting light;
  light.key_colour = {};
  light.sky = light.ground = {1, 1, 1};
  light.headlight = 0;
  light.background_top = light.background_bottom = {};
  return light;
}

// Looks at the square from the front, so that it fills the picture.
RenderJob square_job(Mode mode, unsigned side, unsigned spp = 1) {
  RenderJob job;
  job.mode = mode;
  job.width = job.height = side;
  job.spp = spp;
  job.camera = {{0.5f, 0.5f, 2}, {0.5f, 0.5f, 0}, 2 * std::atan(0.25f) * 57.29578f, 1};
  job.lighting = even_light();
  job.bounces = 0;
  return job;
}

Film film_of(const Soup& soup, const Appearance& look, const RenderJob& job) {
  return film_of(job, scene_of(soup, false, &look));
}

Vec3 colour_of(const Film& film, unsigned x, unsigned y) {
  const Pixel& p = film.sums[std::size_t{y} * film.width + x];
  const float share = 1.0f / static_cast<float>(film.samples);
  return {p.r * share, p.g * share, p.b * share};
}

// A material of clay's colour gives the picture of clay: both paths trace the same rays.
TEST(Materials, ClayColouredMaterialGivesThePictureOfClay) {
  const Soup soup = closed_surface(4, 0.5f);
  Appearance look;
  look.materials.push_back({.name = "clay", .colour = Lighting{}.albedo});
  const Scene coloured = scene_of(soup, false, &look), plain = scene_of(soup);
  look.materials[0].colour = {1, 0, 0};
  const Scene red = scene_of(soup, false, &look);
  RenderJob job{.width = 40, .height = 30, .spp = 2, .camera = {{3, 2, 4}, {0, 0, 0}, 40, 1}};
  for (const Mode mode : {Mode::shaded, Mode::path, Mode::normals}) {
    job.mode = mode;
    job.clay = false;
    const Image expected = render(job, plain);
    EXPECT_EQ(render(job, coloured), expected) << name(mode);
    EXPECT_EQ(render(job, red) == expected, mode == Mode::normals) << name(mode);
    job.clay = true;
    EXPECT_EQ(render(job, red), expected) << name(mode);
  }
}

TEST(Materials, TexturesAreUprightAndInterpolated) {
  const Soup soup = square();
  Appearance look;
  look.materials.push_back({.name = "picture", .texture = 0});
  look.uvs = square_uvs;
  look.uv_triangles = {{{0, 1, 2}}, {{3, 4, 5}}};
  // Upper row red and green, lower row blue and white.
  look.textures.push_back({.width = 2,
                           .height = 2,
                           .texels = {0xff0000ff, 0xff00ff00, 0xffff0000, 0xffffffff},
                           .wrap_u = Wrap::clamp,
                           .wrap_v = Wrap::clamp,
                           .nearest = true});
  for (const Mode mode : {Mode::shaded, Mode::path}) {
    RenderJob job = square_job(mode, 4);
    job.bounces = 1;
    const Film film = film_of(soup, look, job);
    expect_near(colour_of(film, 0, 0), {1, 0, 0}, 0.01f);
    expect_near(colour_of(film, 3, 0), {0, 1, 0}, 0.01f);
    expect_near(colour_of(film, 0, 3), {0, 0, 1}, 0.01f);
    expect_near(colour_of(film, 3, 3), {1, 1, 1}, 0.01f);
  }
  look.textures[0].nearest = false;
  const Film smooth = film_of(soup, look, square_job(Mode::shaded, 4));
  // A quarter of the way from the first texel's centre in both directions.
  expect_near(colour_of(smooth, 1, 1), {0.5625f + 0.0625f, 0.1875f + 0.0625f, 0.1875f + 0.0625f},
              0.01f);
  expect_near(colour_of(smooth, 0, 0), {1, 0, 0}, 0.01f);
  // The texture repeats three times; the picture shows the middle one.
  look.textures[0].nearest = true;
  for (const auto& [wrap, corner] :
       {std::pair{Wrap::repeat, Vec3{1, 0, 0}}, {Wrap::mirror, Vec3{1, 1, 1}}}) {
    look.textures[0].wrap_u = look.textures[0].wrap_v = wrap;
    for (Uv& uv : look.uvs) uv = {uv.u - 3, uv.v + 5};
    expect_near(colour_of(film_of(soup, look, square_job(Mode::shaded, 4)), 0, 0), corner, 0.01f);
    for (Uv& uv : look.uvs) uv = {uv.u + 3, uv.v - 5};
  }
}

TEST(Materials, VertexColoursAreInterpolated) {
  const Soup soup = square();
  Appearance look;
  look.materials.push_back({.name = "colours", .colour = {1, 0.5f, 1}});
  look.vertex_colours = {0xff000000, 0xff000000, 0xffffffff, 0xff000000, 0xffffffff, 0xffffffff};
  const Film film = film_of(soup, look, square_job(Mode::shaded, 4));
  // The upper edge of the upper left triangle is white, its lower corner black.
  expect_near(colour_of(film, 0, 0), {0.875f, 0.4375f, 0.875f}, 0.01f);
  expect_near(colour_of(film, 0, 3), {0.125f, 0.0625f, 0.125f}, 0.01f);
}

TEST(Materials, HolesShowWhatIsBehind) {
  Soup soup = square();
  add_square(soup, 0, 1, -0.01f);
  Appearance look;
  look.materials.push_back(
      {.name = "leaf", .colour = {0, 1, 0}, .coverage = Coverage::cutout, .texture = 0});
  look.materials.push_back({.name = "wall", .colour = {1, 0, 0}});
  look.triangle_materials = {0, 0, 1, 1};
  look.uvs = square_uvs;
  look.uv_triangles = {{{0, 1, 2}}, {{3, 4, 5}}, {{0, 1, 2}}, {{3, 4, 5}}};
  look.textures.push_back(
      {.width = 2, .height = 1, .texels = {0xffffffff, 0x40ffffff}, .nearest = true});
  for (const Mode mode : {Mode::shaded, Mode::path}) {
    RenderJob job = square_job(mode, 4);
    job.lighting->occluded = 1;  // the leaf and the wall are close to each other
    job.lighting->headlight = mode == Mode::shaded ? 1.0f : 0.0f;
    job.bounces = 3;
    const Film film = film_of(soup, look, job);
    EXPECT_GT(colour_of(film, 0, 1).y, 0.5f) << name(mode);
    EXPECT_EQ(colour_of(film, 0, 1).x, 0) << name(mode);
    EXPECT_EQ(colour_of(film, 3, 1).y, 0) << name(mode);
  }
  // A distant light from the front reaches the wall through the holes alone.
  RenderJob job = square_job(Mode::shaded, 4);
  job.lighting->sky = job.lighting->ground = {};
  job.lighting->key_colour = {1, 1, 1};
  job.lighting->key = {0, 0, 1};
  job.lighting->key_radius = 0;
  expect_near(colour_of(film_of(soup, look, job), 3, 1), {1, 0, 0}, 0.01f);
  // In a blended material a quarter of the rays hit.
  look.materials[0] = {
      .name = "glass", .colour = {0, 1, 0}, .alpha = 0.25f, .coverage = Coverage::blended};
  job = square_job(Mode::shaded, 4, 256);
  job.lighting->occluded = 1;
  const Film film = film_of(soup, look, job);
  EXPECT_NEAR(colour_of(film, 1, 1).y, 0.25, 0.06);
  EXPECT_NEAR(colour_of(film, 1, 1).x, 0.75, 0.06);
}

// The square in front is one hole. Behind it in the same plane, or within rounding distance, and in
// either order of triangles, is a wall; and however many holes a ray passes, it meets the wall.
TEST(Materials, SurfacesInThePlaneOfAHoleAndBehindManyAreHit) {
  Appearance look;
  look.materials.push_back({.name = "wall", .colour = {1, 0, 0}});
  look.materials.push_back({.name = "hole", .alpha = 0, .coverage = Coverage::cutout});
  const auto check = [&](float depth, unsigned layers, bool is_wall_first, Mode mode,
                         bool is_watertight) {
    Soup soup;
    look.triangle_materials.clear();
    const auto add = [&](float z, std::uint32_t material) {
      add_square(soup, 0, 1, z);
      look.triangle_materials.insert(look.triangle_materials.end(), 2, material);
    };
    if (is_wall_first) add(-depth, 0);
    for (unsigned i = 0; i < layers; ++i) add(depth * static_cast<float>(i), 1);
    if (!is_wall_first) add(-depth, 0);
    RenderJob job = square_job(mode, 8);
    job.bounces = 1;
    job.lighting->sky = job.lighting->ground = {};
    job.lighting->key_colour = {1, 1, 1};  // reaches the wall through the holes
    job.lighting->key = {0, 0, 1};
    job.lighting->key_radius = 0;
    const Film film = film_of(job, scene_of(soup, is_watertight, &look));
    for (unsigned i = 0; i < 64; ++i)
      ASSERT_NEAR(colour_of(film, i % 8, i / 8).x, 1, 0.01)
          << "pixel " << i << ", depth " << depth << ", " << layers << " layers, wall "
          << (is_wall_first ? "first, " : "last, ") << name(mode);
  };
  for (const Mode mode : {Mode::shaded, Mode::path}) {
    for (const bool is_watertight : {false, true}) {
      for (const bool is_wall_first : {false, true}) {
        for (const float depth : {0.0f, 1e-7f, 1e-6f})
          check(depth, 3, is_wall_first, mode, is_watertight);
      }
      check(1e-3f, 200, false, mode, is_watertight);
    }
  }
}

// A white floor at z = 0 and half a unit above it a square lamp.
std::pair<Soup, Appearance> floor_below_lamp(float half_side) {
  Soup soup;
  add_square(soup, -20, 20, 0);
  add_square(soup, -half_side, half_side, 0.5f);
  Appearance look;
  look.materials.push_back({.name = "floor"});
  look.materials.push_back({.name = "lamp", .colour = {0, 0, 0}, .emission = {1, 0.5f, 0}});
  look.triangle_materials = {0, 0, 1, 1};
  return {soup, look};
}

// Looks at the floor below the centre of the lamp, which is the only light.
RenderJob floor_job() {
  RenderJob job = square_job(Mode::path, 4, 1024);
  job.camera = {{0, -3, 0.25f}, {0, 0, 0}, 0.2f, 2};
  job.lighting->sky = job.lighting->ground = {};
  job.bounces = 1;
  return job;
}

double mean_red(const Film& film) {
  double sum = 0;
  for (const Pixel& pixel : film.sums) sum += pixel.r;
  return sum / static_cast<double>(film.sums.size()) / film.samples;
}

// The radiance of a white plane below the centre of a square emitter, by the form factor of a point
// and a parallel rectangle (Howell, catalogue of configuration factors, B-4).
TEST(Materials, EmittersLightASurfaceAsComputed) {
  for (const float half : {0.05f, 0.5f}) {
    const auto [soup, look] = floor_below_lamp(half);
    RenderJob job = floor_job();
    const Film film = film_of(soup, look, job);
    const double x = half / 0.5, root = std::sqrt(1 + x * x);
    const double factor = 4 / (2 * 3.14159265) * 2 * (x / root * std::atan(x / root));
    EXPECT_NEAR(mean_red(film) / factor, 1, 0.02) << half;
    EXPECT_NEAR(colour_of(film, 1, 1).y / colour_of(film, 1, 1).x, 0.5, 1e-4);
    // The lamp itself, from below.
    job.camera = {{0, 0.01f, 0.1f}, {0, 0, 0.5f}, 1, 1};
    expect_near(colour_of(film_of(soup, look, job), 1, 1), {1, 0.5f, 0}, 0.01f);
  }
}

// A lamp of which half is a hole, or that half of all rays pass through, gives half of its light,
// whether a ray is sent to it or meets it by chance.
TEST(Materials, HolesOfALampEmitNothing) {
  auto [soup, look] = floor_below_lamp(0.5f);
  look.uvs = square_uvs;
  look.uv_triangles = {{{0, 1, 2}}, {{3, 4, 5}}, {{0, 1, 2}}, {{3, 4, 5}}};
  // A texture of which two opposite quarters are holes.
  look.textures.push_back(
      {.width = 2, .height = 2, .texels = {0xffffffff, 0, 0, 0xffffffff}, .nearest = true});
  const auto light = [&] { return mean_red(film_of(soup, look, floor_job())); };
  const double whole = light();
  Material& lamp = look.materials[1];
  lamp.texture = 0;
  lamp.coverage = Coverage::cutout;
  EXPECT_NEAR(light() / whole, 0.5, 0.02);
  lamp.texture = no_texture;
  lamp.alpha = 0.5f;
  lamp.coverage = Coverage::blended;
  EXPECT_NEAR(light() / whole, 0.5, 0.02);
}

// The last triangle is the lamp.
std::pair<Soup, Appearance> room_with_lamp() {
  Soup soup = closed_surface(4, 0);
  soup.add({-0.3f, 0.99f, -0.3f}, {0.3f, 0.99f, -0.3f}, {0, 0.99f, 0.4f});
  Appearance look;
  look.materials.push_back({.name = "wall", .colour = {0.5f, 0.5f, 0.5f}});
  look.materials.push_back({.name = "lamp", .emission = {1, 1, 1}});
  look.triangle_materials.assign(soup.triangles.size(), 0);
  look.triangle_materials.back() = 1;
  return {soup, look};
}

// A room that its lamp lights gets no other light; the picture does not depend on the lamp's power.
TEST(Materials, ARoomIsLitByItsLampAlone) {
  auto [soup, look] = room_with_lamp();
  const RenderJob job{.mode = Mode::path,
                      .width = 32,
                      .height = 24,
                      .spp = 4,
                      .camera = {{0, 0, 0.9f}, {0, 0, -1}, 70, 1}};
  std::vector<Image> images;
  for (const float power : {1.0f, 100.0f}) {
    look.materials[1].emission = {power, power, power};
    images.push_back(render(job, scene_of(soup, false, &look)));
  }
  EXPECT_LE(compare(images[0], images[1], 2).mean, 0.1);
  // The lower half is lit, not black.
  EXPECT_GT(images[0].at(16, 20).g, 40);
}

// What a lamp's texture and alpha leave of its light counts, not its factor: a dark lamp changes no
// lighting, and one with less light is developed brighter.
TEST(Materials, LampsCountWithTheirTextureAndAlpha) {
  auto [soup, look] = room_with_lamp();
  look.uvs = {{}, {0.05f, 0}, {0.45f, 0}, {0.45f, 0}};
  look.uv_triangles.assign(soup.triangles.size(), {{0, 0, 0}});
  look.uv_triangles.back() = {{1, 2, 3}};
  // Eight columns; the lamp covers the left half.
  look.textures.push_back({.width = 8, .height = 1, .texels = std::vector(8, 0xffffffffu)});
  const Camera camera{{0, 0, 0.9f}, {0, 0, -1}, 70, 1};
  const auto lighting = [&] { return choose_lighting(scene_of(soup, false, &look), camera, true); };
  const Lighting lit = lighting();
  ASSERT_EQ(lit.key_colour, Vec3{});
  Material& lamp = look.materials[1];
  lamp.emission_texture = 0;
  EXPECT_FLOAT_EQ(lighting().emission, lit.emission);
  // Two of the four columns that the lamp shows are dark: 5/8 of its area.
  std::vector<std::uint32_t>& texels = look.textures[0].texels;
  texels[1] = texels[2] = 0xff000000;
  EXPECT_NEAR(lighting().emission / lit.emission, 8 / 3.0, 0.25);
  std::fill_n(texels.begin(), 6, 0xff000000);
  const Lighting unlit = lighting();
  EXPECT_NE(unlit.key_colour, Vec3{});
  EXPECT_EQ(unlit.emission, 1);
  texels.assign(8, 0xff000000);
  EXPECT_NE(lighting().key_colour, Vec3{});
  // A texture that is dark in the colour of the lamp.
  texels.assign(8, 0xffff0000);
  lamp.emission = {1, 1, 0};
  EXPECT_NE(lighting().key_colour, Vec3{});
  texels.assign(8, 0xffffffff);
  EXPECT_EQ(lighting().key_colour, Vec3{});
  lamp.alpha = 0;
  EXPECT_EQ(lighting().key_colour, Vec3{});  // of an opaque material, alpha is ignored
  lamp.coverage = Coverage::blended;
  EXPECT_NE(lighting().key_colour, Vec3{});
}

// Dark colours are exact, of textures and of vertices.
TEST(Materials, AlbedoOfATexelIsItsColour) {
  const Soup soup = square();
  const auto shown = [&](const Appearance& look) {
    const RenderJob job = square_job(Mode::albedo, 2);
    return develop(job, film_of(soup, look, job)).at(1, 1);
  };
  Appearance look;
  look.materials.push_back({.name = "picture", .texture = 0});
  look.uvs = square_uvs;
  look.uv_triangles = {{{0, 1, 2}}, {{3, 4, 5}}};
  look.textures.push_back({.width = 1, .height = 1, .texels = {0xff1e140a}});
  EXPECT_EQ(shown(look), (Rgb8{10, 20, 30}));
  look.textures[0].texels = {0xffffffff};
  EXPECT_EQ(shown(look), (Rgb8{255, 255, 255}));
  look = {};
  look.materials.push_back({.name = "vertex colours"});
  look.vertex_colours.assign(soup.vertices.size(), 0xff030201);
  EXPECT_EQ(shown(look), (Rgb8{1, 2, 3}));
}

// The material's own colour in every light, in pictures developed without a given exposure.
TEST(Materials, UnlitSurfacesShowTheirColour) {
  const Soup soup = square();
  Appearance look;
  look.materials.push_back({.name = "sign", .colour = {0.2158605f, 0.5f, 0.0f}, .unlit = true});
  for (const Mode mode : {Mode::shaded, Mode::path}) {
    for (const unsigned spp : {1u, 3u}) {
      RenderJob job = square_job(mode, 8, spp);
      job.lighting->sky = {0.1f, 0.2f, 0.9f};
      job.bounces = 3;
      EXPECT_EQ(develop(job, film_of(soup, look, job)).at(4, 4), (Rgb8{128, 188, 0})) << name(mode);
      job.clay = true;
      EXPECT_NE(develop(job, film_of(soup, look, job)).at(4, 4), (Rgb8{128, 188, 0})) << name(mode);
    }
  }
}

}  // namespace
}  // namespace heapwood::render
