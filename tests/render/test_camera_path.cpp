// SPDX-License-Identifier: MIT
#include "render/camera_path.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <string>

#include "simt/error.hpp"

namespace heapwood::render {
namespace {

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
    try {
      CameraPath::parse(file.text, "f");
      ADD_FAILURE() << file.text;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::scene);
      EXPECT_THAT(error.what(), testing::HasSubstr(file.message));
    }
  }
}

}  // namespace
}  // namespace heapwood::render
