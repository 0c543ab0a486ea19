// SPDX-License-Identifier: MIT
// A camera that moves through keyframes: eye and target follow Catmull-Rom splines whose knots are
// the keys' times, so that the speed is continuous even if the times are uneven; the field of view
// changes linearly.
#pragma once

#include <string>
#include <vector>

#include "render/camera.hpp"

namespace heapwood::render {

class CameraPath {
 public:
  // Parses a path: one key per line, `time ex ey ez tx ty tz fov`, which are seconds, eye and
  // target in the file's coordinates, and the vertical angle in degrees. '#' starts a comment.
  // There must be two keys or more, with increasing times. Throws Error{Exit::scene}: "SOURCE: line
  // 7: ...".
  static CameraPath parse(const std::string& text, const std::string& source);

  std::size_t keys() const { return keys_.size(); }
  double duration() const { return keys_.back().time - keys_.front().time; }
  // The camera `seconds` after the first key, clamped to [0, duration()]. Between keys eye and
  // target may be the same point; make_frame() checks that.
  Camera at(double seconds, unsigned up, const Vec3d& origin = {}) const;

 private:
  struct Key {
    double time;
    double number[7];  // numbers of the camera
  };
  double coordinate(std::size_t key, unsigned i, double time) const;

  std::vector<Key> keys_;
};

}  // namespace heapwood::render
