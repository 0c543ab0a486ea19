// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scenes/exact_math.hpp"
#include "scenes/scene.hpp"
#include "scenes/shapes.hpp"
#include "tests/scenes/support.hpp"

namespace heapwood::scenes {
namespace {

using namespace testing;

const std::string families[] = {"atrium", "statue", "stadium", "pipes"};

Mesh make(const std::string& text, unsigned threads = 0) {
  return generate(parse_scene_name(text).value(), threads);
}

void expect_sound(const Mesh& mesh, const std::string& name) {
  EXPECT_NO_THROW(check(mesh, name));
  Mesh copy = mesh;
  EXPECT_EQ(drop_degenerate(copy), 0u) << name;
}

class Family : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, Family, ::testing::ValuesIn(families),
                         [](const auto& info) { return info.param; });

#if defined(HEAPWOOD_LONG_TESTS)
constexpr unsigned seeds = 2;
#else
constexpr unsigned seeds = 1;
#endif

TEST_P(Family, HasTheTrianglesAskedFor) {
  // Steps of 13% reach every threshold at which a family adds detail.
  for (double n = 1000; n < 150'000; n *= 1.13) {
    for (unsigned seed = 1; seed <= seeds; ++seed) {
      const auto wanted = static_cast<std::uint64_t>(n);
      const std::string name =
          GetParam() + ":" + std::to_string(wanted) + ":" + std::to_string(seed);
      const Mesh mesh = make(name);
      const double off = std::fabs(static_cast<double>(mesh.triangles.size()) / n - 1);
      EXPECT_LE(off, n < 10'000 ? 0.1 : 0.02) << name << " has " << mesh.triangles.size();
      expect_sound(mesh, name);
    }
  }
}

#if defined(HEAPWOOD_LONG_TESTS)
TEST_P(Family, ReachesAMillion) {
  const Mesh mesh = make(GetParam() + ":1.2m");
  EXPECT_NEAR(static_cast<double>(mesh.triangles.size()), 1.2e6, 0.02 * 1.2e6);
  expect_sound(mesh, GetParam());
}
#endif

TEST_P(Family, IsTheSameForAnyNumberOfThreads) {
  const Mesh one = make(GetParam() + ":70k:3", 1);
  for (const unsigned threads : {2u, 3u, 8u}) {
    const Mesh other = make(GetParam() + ":70k:3", threads);
    EXPECT_TRUE(one.vertices == other.vertices && one.triangles == other.triangles) << threads;
  }
}

TEST_P(Family, UsesEveryVertexAndKnowsACamera) {
  const Mesh mesh = make(GetParam());
  EXPECT_EQ(mesh.name, GetParam());
  EXPECT_EQ(mesh.up, 1u);
  ASSERT_TRUE(mesh.camera.has_value());
  EXPECT_GT(length(mesh.camera->target - mesh.camera->eye), 0.1f);
  EXPECT_GT(mesh.camera->fov, 20);
  EXPECT_LT(mesh.camera->fov, 90);
  std::vector<bool> used(mesh.vertices.size());
  for (const Triangle& t : mesh.triangles) {
    for (const std::uint32_t v : t.v) used[v] = true;
  }
  // Only dropped zero-area triangles may leave vertices unused.
  EXPECT_LE(std::ranges::count(used, false), 10);
}

// The steps of a stadium's stands share their vertices: with other numbers of vertices, adjacent
// strips would leave gaps and cut into each other.
TEST(Families, StandsOfAStadiumMeetVertexToVertex) {
  const Mesh mesh = generate(parse_scene_name("stadium:30k").value());
  using Point = std::array<float, 3>;
  std::map<std::pair<Point, Point>, int> edges;
  for (const Triangle& t : mesh.triangles) {
    for (unsigned k = 0; k < 3; ++k) {
      const Vec3 a = mesh.vertices[t.v[k]], b = mesh.vertices[t.v[(k + 1) % 3]];
      if (std::min(std::abs(a.x), std::abs(b.x)) < 60 || std::min(a.y, b.y) < 1) continue;
      Point from{a.x, a.y, a.z}, to{b.x, b.y, b.z};
      if (to < from) std::swap(from, to);
      ++edges[{from, to}];
    }
  }
  std::size_t open = 0;
  for (const auto& [edge, triangles] : edges) open += triangles == 1;
  EXPECT_GT(edges.size(), 100u);
  EXPECT_LT(open, edges.size() / 10) << edges.size();  // the edges of the outer rings
}

// Procedural scenes are identical to the bit on every machine and with every compiler and C
// library. If a digest differs, something in scenes/ depends on one of them, or a scene was changed
// on purpose. Update the constant only for a change on purpose.
TEST(ProceduralDigest, IsTheSameEverywhere) {
  const struct {
    const char* name;
    std::uint64_t digest;
  } scenes[] = {
      {"atrium:5k", 0x72aa1f8b3fd5a43b},  {"atrium:70k:3", 0xdb69d22c4a3dc6cb},
      {"statue:5k", 0xce901ea6c29c4c7f},  {"statue:70k:3", 0x1a1a5ce09b2a04f2},
      {"stadium:5k", 0x8265d8a4fa03adb0}, {"stadium:70k:3", 0x9a702b881f72cd2f},
      {"pipes:5k", 0x10df14449edbe137},   {"pipes:70k:3", 0x39b3f7860bb97525},
      {"single", 0x0a3bf1ae7a1d29f6},     {"identical:100", 0xe171826dc77771a5},
      {"flat:100", 0xd442e1f139c4fa6f},   {"flat:3k:2", 0x0eb7512f059dd8ed},
      {"points:100", 0xb3c03679ae2c9250}, {"points:3k:2", 0x7c5da92693673afa},
      {"tiny:100", 0x3b34c10e5b98ee93},   {"tiny:3k:2", 0xd34d3aa0e93764e0},
      {"huge:100", 0x094f3ba2bf495f1f},   {"huge:3k:2", 0x1736859b3f4d261e},
  };
  for (const auto& scene : scenes) {
    const Mesh mesh = make(scene.name);
    EXPECT_EQ(digest_of(mesh), scene.digest) << scene.name << std::hex << ": 0x" << digest_of(mesh);
  }
}

// The procedural scenes' geometry does not depend on their colours.
TEST(ProceduralColours, LeaveTheGeometryAsItIs) {
  for (const char* name : {"atrium:70k", "statue:5k", "stadium:60k", "pipes:40k"}) {
    const Mesh coloured = load(name, Content::materials), plain = load(name);
    expect_same(coloured, plain);
    EXPECT_TRUE(plain.appearance.empty());
    EXPECT_GE(coloured.appearance.materials.size(), 2u) << name;
    EXPECT_EQ(coloured.appearance.triangle_materials.size(), coloured.triangles.size());
    for (std::uint32_t m = 0; m < coloured.appearance.materials.size(); ++m) {
      EXPECT_NE(std::ranges::count(coloured.appearance.triangle_materials, m), 0)
          << name << " " << coloured.appearance.materials[m].name;
    }
  }
}

TEST(SceneName, ReadsCountsAndSeeds) {
  const auto count = [](const char* text) { return parse_scene_name(text).value().triangles; };
  EXPECT_EQ(count("atrium"), 100'000u);
  EXPECT_EQ(count("atrium:1500"), 1500u);
  EXPECT_EQ(count("atrium:20k"), 20'000u);
  EXPECT_EQ(count("Atrium:1M"), 1'000'000u);
  EXPECT_EQ(count("ATRIUM:7.5m"), 7'500'000u);
  EXPECT_EQ(count("atrium:1.0015k"), 1002u);
  EXPECT_EQ(parse_scene_name("pipes:12m:77").value().seed, 77u);
  EXPECT_EQ(parse_scene_name("pipes:12m").value().seed, 1u);
  EXPECT_EQ(std::string(parse_scene_name("pipes:12m").value().scene->name), "pipes");
  for (const char* other : {"", ":", "atrium.ply", "atrium:2k.obj", "pipes:1m:2.GLB", "./atrium",
                            "atriums:1k", ":1k", "dir/atrium:1k"}) {
    EXPECT_FALSE(parse_scene_name(other).has_value()) << other;
  }
}

TEST(SceneName, RefusesWhatItCannotMake) {
  for (const char* bad :
       {"atrium:", "atrium::1", "atrium:x", "atrium:-5", "atrium:1g", "atrium:k", "atrium:1500.5",
        "atrium:1e4", "atrium:nan", "atrium:99999999999999999999", "atrium: 5k"}) {
    expect_error(Exit::usage,
                 {"scene `atrium:", "is not a number of triangles; write 1500, 20k or 7.5m"},
                 [&] { parse_scene_name(bad); });
  }
  for (const char* bad : {"atrium:5k:", "atrium:5k:x", "atrium:5k:-1", "atrium:5k:1:2",
                          "atrium:5k:99999999999999999999"}) {
    expect_error(Exit::usage, {"is not a seed"}, [&] { parse_scene_name(bad); });
  }
  expect_error(Exit::usage, {"it can have 1000 to 100000000 triangles"},
               [] { parse_scene_name("statue:999"); });
  expect_error(Exit::usage, {"it can have 1000 to 100000000 triangles"},
               [] { parse_scene_name("statue:101m"); });
  expect_error(Exit::usage, {"it always has 1 triangle:"}, [] { parse_scene_name("single:2"); });
}

TEST(Patches, CloseAroundAnAxisAndMeetAtPoles) {
  Model model;
  ball(model, {}, 1, 32);
  const Mesh mesh = model.tessellate(2000);
  // Euler's formula for a closed surface without holes.
  EXPECT_EQ(mesh.vertices.size() + mesh.triangles.size() - 3 * mesh.triangles.size() / 2, 2u);
  for (const Vec3& p : mesh.vertices) EXPECT_NEAR(length(p), 1, 1e-5f);
  for (const Triangle& t : mesh.triangles) {  // all triangles face outwards
    const Vec3 a = mesh.vertices[t.v[0]], b = mesh.vertices[t.v[1]], c = mesh.vertices[t.v[2]];
    EXPECT_GT(dot(cross(b - a, c - a), a + b + c), 0);
  }
}

TEST(Patches, CountNeverFallsBelowTheLeast) {
  Model model;
  box(model, {}, {0, 0, 0}, {1, 1, 1});
  EXPECT_EQ(model.count(0), 12u);
  EXPECT_EQ(model.tessellate(5).triangles.size(), 12u);
  EXPECT_EQ(model.tessellate(5000).triangles.size(), 12u);  // its shapes cannot be divided
  EXPECT_TRUE(Model().tessellate(10).triangles.empty());
}

// scenes/exact_math.hpp against the C library in higher precision and against fixed bits.

// Evenly spaced values from low to high, including both ends.
std::vector<float> samples(float low, float high, unsigned n = 20'000) {
  std::vector<float> all;
  for (unsigned i = 0; i <= n; ++i) {
    all.push_back(static_cast<float>(low + (static_cast<double>(high) - low) * i / n));
  }
  return all;
}

// Expects the nearest float, or in at most `max_not_nearest` cases one adjacent to it.
template <class Ours, class Theirs>
void expect_close(const char* name, const std::vector<float>& arguments, Ours ours, Theirs theirs,
                  unsigned max_not_nearest = 1) {
  unsigned not_nearest = 0;
  for (const float x : arguments) {
    const float got = ours(x), wanted = static_cast<float>(theirs(static_cast<long double>(x)));
    if (got == wanted) continue;
    ++not_nearest;
    EXPECT_EQ(std::nextafter(wanted, got), got) << name << " of " << x;
  }
  EXPECT_LE(not_nearest, max_not_nearest) << name;
}

TEST(ExactMath, IsAsGoodAsALibrary) {
  for (const float bound : {1.0f, 100.0f, 1e5f}) {
    const std::vector<float> arguments = samples(-bound, bound);
    expect_close("sin", arguments, exact::sin, [](long double x) { return std::sin(x); });
    expect_close("cos", arguments, exact::cos, [](long double x) { return std::cos(x); });
    expect_close("tan", arguments, exact::tan, [](long double x) { return std::tan(x); });
  }
  expect_close("exp", samples(-86, 88), exact::exp, [](long double x) { return std::exp(x); });
  for (const float y : {0.7f, 2.3f, -1.6f}) {
    expect_close(
        "pow", samples(1e-4f, 50), [y](float x) { return exact::pow(x, y); },
        [y](long double x) { return std::pow(x, static_cast<long double>(y)); });
  }
  expect_close("cbrt", samples(-1e6f, 1e6f), exact::cbrt,
               [](long double x) { return std::cbrt(x); });
  expect_close(
      "hypot", samples(-10, 10), [](float x) { return exact::hypot(x, 0.3f); },
      [](long double x) { return std::sqrt(x * x + static_cast<long double>(0.3f) * 0.3f); });
}

}  // namespace
}  // namespace heapwood::scenes
