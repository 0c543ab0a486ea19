// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "render/auto_camera.hpp"
#include "render/camera_path.hpp"
#include "render/renderer.hpp"
#include "render/surface.hpp"
#include "simt/error.hpp"
#include "tests/errors.hpp"
#include "tests/render/trees.hpp"

namespace heapwood::render {
namespace {

// The formula of the published figures, in double.
TEST(Camera, MakesTheRaysOfThePublishedFigures) {
  const Camera camera{{-65, 10, -2}, {60, 18, 2}, 60, 1};
  const unsigned size = 64;
  const CameraFrame frame = make_frame(camera, size, size);
  const double f[3] = {125, 8, 4};
  const double fl = std::sqrt(125. * 125 + 64 + 16), rl = std::sqrt(4. * 4 + 125. * 125);
  const double fwd[3] = {f[0] / fl, f[1] / fl, f[2] / fl};
  const double right[3] = {-f[2] / rl, 0, f[0] / rl};  // fwd x up
  const double up[3] = {right[1] * fwd[2] - right[2] * fwd[1],
                        right[2] * fwd[0] - right[0] * fwd[2],
                        right[0] * fwd[1] - right[1] * fwd[0]};
  const double th = std::tan(30 * std::numbers::pi / 180);
  for (const unsigned x : {0u, 17u, 63u}) {
    for (const unsigned y : {0u, 40u, 63u}) {
      const double u = ((x + .5) / size * 2 - 1) * th, v = (1 - (y + .5) / size * 2) * th;
      double d[3], length = 0;
      for (int i = 0; i < 3; ++i) {
        d[i] = fwd[i] + u * right[i] + v * up[i];
        length += d[i] * d[i];
      }
      const kdtree::Ray ray =
          frame.ray(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f, 1e30f);
      for (unsigned i = 0; i < 3; ++i)
        EXPECT_NEAR(ray.direction[i], d[i] / std::sqrt(length), 2e-6);
      EXPECT_EQ(ray.origin, camera.eye);
    }
  }
}

TEST(Camera, IsWiderInWidePictures) {
  const Camera camera{{0, 0, 5}, {0, 0, 0}, 90, 1};
  const CameraFrame frame = make_frame(camera, 200, 100);
  const Vec3 edge = frame.ray(200, 50, 1).direction, top = frame.ray(100, 0, 1).direction;
  EXPECT_NEAR(edge.x / -edge.z, 2, 1e-5);
  EXPECT_NEAR(top.y / -top.z, 1, 1e-5);
}

TEST(Camera, LooksAlongTheUpAxisToo) {
  for (unsigned up = 0; up < 3; ++up) {
    const Camera camera{axis_vector(up) * 5, {0, 0, 0}, 40, up};
    const Vec3 d = make_frame(camera, 10, 10).ray(5, 5, 1).direction;
    EXPECT_NEAR(d[up], -1, 1e-6);
  }
}

TEST(Camera, IsReadAndWritten) {
  const Camera camera = parse_camera("1,-2.5,3e2,4,5,6,45", 2);
  EXPECT_EQ(camera.eye, (Vec3{1, -2.5f, 300}));
  EXPECT_EQ(camera.target, (Vec3{4, 5, 6}));
  EXPECT_EQ(camera.fov, 45);
  EXPECT_EQ(camera.up, 2u);
  EXPECT_EQ(to_string(camera), "1,-2.5,300,4,5,6,45");
  for (const char* wrong :
       {"", "1,2,3", "1,2,3,4,5,6,x", "1,2,3,4,5,6,40,", "1,2,3,4,5,6,7,8", "1,2,3,1,2,3,40",
        "1,2,3,4,5,6,0", "1,2,3,4,5,6,180", "nan,2,3,4,5,6,40", "1,2,3,4,5,inf,40"}) {
    SCOPED_TRACE(wrong);
    tests::expect_error(Exit::usage, {}, [&] { parse_camera(wrong, 1); });
  }
  tests::expect_error(Exit::usage, {"camera '" + std::string(120, 'x') + "...': number 1"},
                      [&] { parse_camera(std::string(3000, 'x'), 1); });
}

std::array<std::uint32_t, 7> bits(const Camera& c) {
  return {simt::bits(c.eye.x),    simt::bits(c.eye.y),    simt::bits(c.eye.z),
          simt::bits(c.target.x), simt::bits(c.target.y), simt::bits(c.target.z),
          simt::bits(c.fov)};
}

TEST(Camera, IsWrittenInTheFewestDigits) {
  EXPECT_EQ(to_string({{0.1f, 1e-3f, 100000}, {1.0f / 3, -1.5e-7f, 16777216}, 49.9f}),
            "0.1,0.001,100000,0.33333334,-1.5e-07,16777216,49.9");
  const Vec3d origin{500000, 4600000, 0.25};
  EXPECT_EQ(to_string({{0.125f, 100, 0}, {-1, 0.1f, 0.5f}, 40}, origin),
            "500000.125,4600100,0.25,499999,4600000.1,0.75,40");
  EXPECT_EQ(to_arguments({{1, 2, 3}, {4, 5, 6}, 40, 2}), "1,2,3,4,5,6,40 --up z");
}

TEST(Camera, ReadsBackToTheSameBits) {
  Random random(77);
  const auto number = [&] {
    const float magnitude = std::pow(10.0f, 18 * random.uniform() - 9);
    return (random.uniform() < 0.5f ? -1 : 1) * magnitude * random.uniform();
  };
  std::vector<Vec3d> origins(5);
  for (std::size_t i = 2; i < 20; ++i)
    origins.push_back({number(), 1e3 * number(), 1.0 / number()});
  origins.push_back({5e5, 4.6e6, -1e-3});
  for (const Vec3d& origin : origins) {
    for (int i = 0; i < 200; ++i) {
      Camera camera{{number(), number(), number()},
                    {number(), number(), number()},
                    1 + 170 * random.uniform(),
                    2};
      if (i == 0) camera = {{-0.0f, 0, 1e-38f}, {3e37f, -0.0f, 1e-45f}, 1e-3f, 2};
      camera = representable(camera, origin);
      const std::string text = to_string(camera, origin);
      EXPECT_EQ(bits(parse_camera(text, 2, origin)), bits(camera)) << text;
      EXPECT_EQ(bits(representable(camera, origin)), bits(camera)) << text;
    }
  }
}

TEST(Camera, IsInTheFilesCoordinates) {
  const Vec3d origin{500000, 4600000, 0};
  const Camera camera =
      parse_camera("500010.0625,4600020.5,3,500010.0626,4600020.5,0.1,40", 1, origin);
  EXPECT_EQ(camera.eye, (Vec3{10.0625f, 20.5f, 3}));
  EXPECT_EQ(camera.target, (Vec3{static_cast<float>(500010.0626 - 500000), 20.5f, 0.1f}));
  // Points that are equal after rounding to float, but not relative to the scene's origin.
  EXPECT_NO_THROW(check_camera_text("500010.0625,4600020.5,3,500010.0626,4600020.5,3,40"));
  EXPECT_NO_THROW(parse_camera("500010.0625,4600020.5,3,500010.0626,4600020.5,3,40", 1, origin));
  EXPECT_THROW(parse_camera("500010.0625,4600020.5,3,500010.0626,4600020.5,3,40", 1), Error);
  EXPECT_THROW(check_camera_text("1,2,3,1,2,3,40"), Error);
  EXPECT_THROW(check_camera_text("1e39,2,3,1,2,3,40"), Error);
}

// representable() does not move eye and target to one point: it then returns the camera unchanged.
TEST(Camera, StaysACameraWhereItsPointsCannotBeWritten) {
  const Camera tiny{{1e-12f, 0, 0}, {2e-12f, 0, 0}, 40, 1};
  EXPECT_NO_THROW(make_frame(representable(tiny, {1e7, 1e7, 1e7}), 16, 9));
}

bool outside(const Camera& camera, const Box& box) {
  bool out = false;
  for (unsigned axis = 0; axis < 3; ++axis)
    out = out || camera.eye[axis] < box.lo[axis] || camera.eye[axis] > box.hi[axis];
  return out;
}

TEST(CameraAuto, ShowsAnObjectFromOutsideAndWhole) {
  const Soup ball = closed_surface(8, 1, {10, 20, 30}, 3);
  const Scene scene = scene_of(ball);
  for (unsigned up = 0; up < 3; ++up) {
    const Camera camera = auto_camera(scene, up);
    EXPECT_TRUE(outside(camera, scene.bounds()));
    EXPECT_EQ(camera.up, up);
    const CameraFrame frame = make_frame(camera, 160, 90);
    // The object is in the middle and does not touch the border.
    EXPECT_TRUE(scene.closest(std::vector{frame.ray(80, 45, far_away)}).front().found());
    std::vector<kdtree::Ray> border;
    for (int x = 0; x < 160; ++x) {
      border.push_back(frame.ray(static_cast<float>(x), 0, far_away));
      border.push_back(frame.ray(static_cast<float>(x), 90, far_away));
    }
    for (const kdtree::Hit& hit : scene.closest(border)) EXPECT_FALSE(hit.found());
  }
}

TEST(CameraAuto, ShowsAHallFromInside) {
  Soup hall = closed_surface(4, 0);
  for (Vec3& v : hall.vertices) v = {v.x * 20, v.y * 5, v.z * 8};
  for (Triangle& t : hall.triangles) std::swap(t.v[1], t.v[2]);  // faces point inwards
  for (int i = -3; i <= 3; ++i)
    append(hall, closed_surface(6, 1, {static_cast<float>(i) * 5, -3, 3}, 1));
  const Scene scene = scene_of(hall);
  const Camera camera = auto_camera(scene, 1);
  EXPECT_FALSE(outside(camera, scene.bounds()));
  EXPECT_GT(score_view(scene, camera, 1.6f).coverage, 0.99);
  // Distant light cannot enter a closed hall.
  EXPECT_TRUE(choose_lighting(scene, camera).lamp);
  EXPECT_FALSE(choose_lighting(scene, camera).floor);
}

// Faces of hand-written meshes may have inconsistent winding order.
TEST(CameraAuto, ShowsAClosedConvexObjectFromOutside) {
  for (const float round : {0.0f, 1.0f}) {
    for (const unsigned turned : {1u, 2u, 3u}) {  // flips every, every second, every third triangle
      Soup object = closed_surface(round == 0 ? 1 : 6, round, {5, 5, 5}, 2);
      for (std::size_t i = 0; i < object.triangles.size(); i += turned) {
        std::swap(object.triangles[i].v[1], object.triangles[i].v[2]);
      }
      const Scene scene = scene_of(object);
      for (unsigned up = 0; up < 3; ++up)
        EXPECT_TRUE(outside(auto_camera(scene, up), scene.bounds()));
    }
  }
}

// A Cornell box: walls that face inwards, one missing.
TEST(CameraAuto, LooksIntoAnOpenBox) {
  Soup box = closed_surface(1, 0, {0, 3, 0}, 3);
  const auto in_front = [&](const Triangle& t) {
    return box.vertices[t.v[0]].z > 0 && box.vertices[t.v[1]].z > 0 && box.vertices[t.v[2]].z > 0;
  };
  std::erase_if(box.triangles, in_front);
  for (Triangle& t : box.triangles) std::swap(t.v[1], t.v[2]);
  append(box, closed_surface(1, 0, {1, 1, 0}));
  const Scene scene = scene_of(box);
  const Camera camera = auto_camera(scene, 1);
  EXPECT_NEAR(camera.eye.x, 0, 0.01f);
  EXPECT_GT(camera.eye.z, 4);
  EXPECT_LT(score_view(scene, camera, 16.0f / 9).backs, 0.02);
}

TEST(CameraAuto, IgnoresAFarOutlier) {
  const Soup ball = closed_surface(8, 1, {2e4f, 0, 2e4f}, 3);
  Soup both = ball;
  both.add({0, 0, 0}, {1, 0, 0}, {0, 1, 0});
  const Scene alone = scene_of(ball);
  const Scene scene = scene_of(both);
  EXPECT_EQ(bits(auto_camera(scene, 1)), bits(auto_camera(alone, 1)));
  const Lighting light = choose_lighting(scene, auto_camera(scene, 1));
  EXPECT_LT(light.ambient_reach, 10);
  EXPECT_EQ(light.floor_height, alone.bounds().lo.y);
}

TEST(CameraMainPart, LosesFarOutliersOfLittleAreaOnly) {
  const auto part = [](const Soup& soup) {
    Box all;
    for (const Vec3& v : soup.vertices) all.grow(v);
    return main_part(soup.view(), all);
  };
  const Soup model = closed_surface(4, 1, {50, 60, 70}, 2);
  const Box box = part(model);
  Soup several = model;
  for (int i = 0; i < 5; ++i) {
    const float position = 300.0f * static_cast<float>(i * i) - 1000;
    several.add({position, -position, 0}, {position + 1, -position, 0}, {position, -position, 1});
  }
  EXPECT_EQ(part(several), box);
  // Triangles too close to the model to be left out.
  Soup beside = model;
  beside.add({70, 60, 70}, {71, 60, 70}, {70, 61, 70});
  EXPECT_EQ(part(beside).hi.x, 71);
  // A part with too much area to be left out.
  Soup pair = model;
  append(pair, closed_surface(4, 1, {5000, 60, 70}, 2));
  EXPECT_EQ(part(pair).hi.x, 5002);
  // An outlier that a sample of the triangles would miss.
  Soup many;
  for (int i = 0; i < 70000; ++i) {
    const float x = static_cast<float>(i % 100), y = static_cast<float>(i / 100) / 7;
    many.add({x, y, 0}, {x + 1, y, 0}, {x, y + 1, 0});
  }
  const Box plane = part(many);
  many.add({0, 0, 1e6f}, {1, 0, 1e6f}, {0, 1, 1e6f});
  EXPECT_EQ(part(many), plane);
  EXPECT_TRUE(part(Soup{}).empty());
}

TEST(CameraAuto, TakesAnyScene) {
  const Scene empty(test_device(), Tree{}, MeshView{});
  EXPECT_NO_THROW(make_frame(auto_camera(empty, 1), 16, 9));
  EXPECT_NO_THROW(choose_lighting(empty, auto_camera(empty, 1)));
  Soup one;
  one.add({0, 0, 0}, {1, 0, 0}, {0, 1, 0});
  const Scene flat = scene_of(one);
  EXPECT_NO_THROW(make_frame(auto_camera(flat, 1), 16, 9));
  EXPECT_NO_THROW(choose_lighting(flat, auto_camera(flat, 2)));
}

// The broad side of a board or a plain, at 20 to 35 degrees from its normal, and of a board the
// side that faces outwards.
TEST(CameraAuto, ShowsTheBroadSideOfFlatThings) {
  for (unsigned thin = 0; thin < 3; ++thin) {
    for (unsigned up = 0; up < 3; ++up) {
      for (const float thickness : {0.0f, 0.3f}) {
        Soup board;
        for (unsigned i = 0; i < 64; ++i) {
          const auto corner = [&](unsigned a, unsigned b) {
            const float x = static_cast<float>(i % 8 + a), y = static_cast<float>(i / 8 + b);
            return set(set(set({}, (thin + 1) % 3, x), (thin + 2) % 3, y), thin,
                       static_cast<float>((i + a) % 2) * thickness);
          };
          board.add(corner(0, 0), corner(1, 0), corner(1, 1));
        }
        const Scene scene = scene_of(board);
        const Camera camera = auto_camera(scene, up);
        const float cosine = normalize(camera.eye - camera.target)[thin];
        const double angle = std::acos(std::fabs(cosine)) * 180 / std::numbers::pi;
        EXPECT_GE(angle, 20) << thin << up;
        EXPECT_LE(angle, 35) << thin << up;
        EXPECT_TRUE(cosine > 0 || thickness > 0) << thin << up;
      }
    }
  }
}

constexpr const char* straight = R"(# a comment, and a line of one space
 
1 0 0 0 0 0 -1 40   # the first key
2 1 0 0 1 0 -1 40
4 3 0 0 3 0 -1 60
)";

TEST(CameraPath, PassesThroughItsKeys) {
  const CameraPath path =
      CameraPath::parse("0 0 1 2 3 4 5 30\n1 9 8 7 6 5 4 40\n3 1 1 1 0 0 0 50", "f");
  EXPECT_EQ(path.keys(), 3u);
  EXPECT_EQ(path.duration(), 3);
  const Camera first = path.at(0, 2), middle = path.at(1, 2), last = path.at(3, 2);
  EXPECT_EQ(first.eye, (Vec3{0, 1, 2}));
  EXPECT_EQ(first.target, (Vec3{3, 4, 5}));
  EXPECT_EQ(first.fov, 30);
  EXPECT_EQ(first.up, 2u);
  EXPECT_EQ(middle.eye, (Vec3{9, 8, 7}));
  EXPECT_EQ(middle.fov, 40);
  EXPECT_EQ(last.target, (Vec3{0, 0, 0}));
  EXPECT_EQ(path.at(-5, 1).eye, first.eye);
  EXPECT_EQ(path.at(99, 1).eye, last.eye);
}

// Keys on a line at even speed give even speed, also where their times are uneven.
TEST(CameraPath, KeepsAnEvenSpeed) {
  const CameraPath path = CameraPath::parse(straight, "f");
  for (const double t : {0.0, 0.3, 1.0, 1.7, 2.5, 3.0}) {
    const Camera camera = path.at(t, 1);
    EXPECT_NEAR(camera.eye.x, t, 1e-6) << t;
    EXPECT_NEAR(camera.fov, t < 1 ? 40 : 40 + 10 * (t - 1), 1e-4) << t;
  }
}

TEST(CameraPath, HasNoCorners) {
  const CameraPath path = CameraPath::parse(
      "0 0 0 0 0 0 9 40\n1 1 2 0 0 0 9 40\n3 5 0 0 0 0 9 40\n4 5 5 5 0 0 9 40", "f");
  const auto speed = [&](double from, double to) {
    return (path.at(to, 1).eye - path.at(from, 1).eye) * static_cast<float>(1 / (to - from));
  };
  for (const double key : {1.0, 3.0}) {
    const Vec3 change = speed(key, key + 1e-3) - speed(key - 1e-3, key);
    EXPECT_LT(length(change), 0.05f) << key;
  }
}

// Far from zero, keys are rounded only after the mesh's origin has been subtracted.
TEST(CameraPath, IsRelativeToTheOrigin) {
  const CameraPath path = CameraPath::parse(
      "0 100000000.25 0 0 100000000 0 -1 40\n1 100000000.75 0 0 100000000 0 -1 40", "f");
  EXPECT_FLOAT_EQ(path.at(0.5, 1, {1e8, 0, 0}).eye.x, 0.5f);
}

TEST(CameraPath, NamesTheLineThatIsWrong) {
  const struct {
    const char* text;
    const char* message;
  } wrong[] = {
      {"0 0 0 0 0 0 1 40\n\n1 0 0 0 0 0 1", "f: line 3: expected 8 numbers"},
      {"0 0 0 0 0 0 1 40 9", "f: line 1: expected 8 numbers"},
      {"0 0 0 0 0 0 one 40", "f: line 1: 'one' is not a number"},
      {"0 0 0 0 0 0 1 40\x1b", "f: line 1: '40?' is not a number"},
      {"0 0 0 nan 0 0 1 40", "'nan' is not a number"},
      {"0 0 0 1e39 0 0 1 40", "'1e39' is not a number"},
      {"1e7 0 0 0 0 0 1 40", "f: line 1: the time is out of range"},
      {"1 0 0 0 0 0 1 40\n1 0 0 1 0 0 2 40", "f: line 2: the time is not after"},
      {"1 2 3 4 2 3 4 40", "f: line 1: eye and target are the same"},
      {"1 2 3 4 2 3 5 180", "f: line 1: the vertical angle"},
      {"1 2 3 4 2 3 5 0", "f: line 1: the vertical angle"},
      {"1 2 3 4 2 3 5 40", "f: expected at least 2 keys, one per line; there is 1"},
      {"# nothing\n", "there is none"},
  };
  for (const auto& file : wrong) {
    tests::expect_error(Exit::scene, {file.message}, [&] { CameraPath::parse(file.text, "f"); });
  }
}

}  // namespace
}  // namespace heapwood::render
