// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "render/auto_camera.hpp"
#include "render/auto_light.hpp"
#include "render/renderer.hpp"
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
  const double up[3] = {right[1] * fwd[2] - right[2] * fwd[1], right[2] * fwd[0] - right[0] * fwd[2],
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
      const kdtree::Ray ray = frame.ray(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f, 1e30f);
      for (unsigned i = 0; i < 3; ++i) EXPECT_NEAR(ray.direction[i], d[i] / std::sqrt(length), 2e-6);
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
  for (const char* wrong : {"", "1,2,3", "1,2,3,4,5,6,x", "1,2,3,4,5,6,40,", "1,2,3,4,5,6,7,8", "1,2,3,1,2,3,40",
                            "1,2,3,4,5,6,0", "1,2,3,4,5,6,180", "nan,2,3,4,5,6,40", "1,2,3,4,5,inf,40"}) {
    try {
      parse_camera(wrong, 1);
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::usage) << wrong;
    }
  }
}

bool outside(const Camera& camera, const Box& box) {
  bool out = false;
  for (unsigned axis = 0; axis < 3; ++axis)
    out = out || camera.eye[axis] < box.lo[axis] || camera.eye[axis] > box.hi[axis];
  return out;
}

TEST(AutoCamera, ShowsAnObjectFromOutsideAndWhole) {
  const Soup ball = closed_surface(8, 1, {10, 20, 30}, 3);
  const Scene scene(test_device(), MedianBuilder::build(ball.view()), ball.view());
  for (unsigned up = 0; up < 3; ++up) {
    const Camera camera = auto_camera(scene, up);
    EXPECT_TRUE(outside(camera, scene.bounds()));
    EXPECT_EQ(camera.up, up);
    const CameraFrame frame = make_frame(camera, 160, 90);
    // Something in the middle, nothing at the border.
    EXPECT_TRUE(scene.closest(std::vector{frame.ray(80, 45, far_away)}).front().found());
    std::vector<kdtree::Ray> border;
    for (int x = 0; x < 160; ++x) {
      border.push_back(frame.ray(static_cast<float>(x), 0, far_away));
      border.push_back(frame.ray(static_cast<float>(x), 90, far_away));
    }
    for (const kdtree::Hit& hit : scene.closest(border)) EXPECT_FALSE(hit.found());
  }
}

TEST(AutoCamera, ShowsAHallFromInside) {
  Soup hall = closed_surface(4, 0);
  for (Vec3& v : hall.vertices) v = {v.x * 20, v.y * 5, v.z * 8};
  for (Triangle& t : hall.triangles) std::swap(t.v[1], t.v[2]);  // faces inwards
  for (int i = -3; i <= 3; ++i) append(hall, closed_surface(6, 1, {static_cast<float>(i) * 5, -3, 3}, 1));
  const Scene scene(test_device(), MedianBuilder::build(hall.view()), hall.view());
  const Camera camera = auto_camera(scene, 1);
  EXPECT_FALSE(outside(camera, scene.bounds()));
  EXPECT_GT(judge_view(scene, camera, 1.6f).coverage, 0.99);
  // A closed room needs a lamp.
  EXPECT_TRUE(choose_lighting(scene, camera).lamp);
  EXPECT_FALSE(choose_lighting(scene, camera).floor);
}

TEST(AutoCamera, TakesAnyScene) {
  const Scene empty(test_device(), Tree{}, MeshView{});
  EXPECT_NO_THROW(make_frame(auto_camera(empty, 1), 16, 9));
  EXPECT_NO_THROW(choose_lighting(empty, auto_camera(empty, 1)));
  Soup one;
  one.add({0, 0, 0}, {1, 0, 0}, {0, 1, 0});
  const Scene flat(test_device(), MedianBuilder::build(one.view()), one.view());
  EXPECT_NO_THROW(make_frame(auto_camera(flat, 1), 16, 9));
  EXPECT_NO_THROW(choose_lighting(flat, auto_camera(flat, 2)));
}

}  // namespace
}  // namespace heapwood::render
