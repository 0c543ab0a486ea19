// SPDX-License-Identifier: MIT
// A camera that moves through keyframes: eye and target along Catmull-Rom splines whose knots are
// the keys' times (so the speed is continuous also where the times are uneven), the angle linearly.
#pragma once

#include <string>
#include <vector>

#include "render/camera.hpp"

namespace heapwood::render {

class CameraPath {
 public:
  // One key per line, `time ex ey ez tx ty tz fov`: seconds, eye and target in the file's
  // coordinates, vertical angle in degrees. '#' starts a comment. There are at least two keys, and
  // times increase. Throws Error{Exit::scene}: "SOURCE: line 7: ...".
  static CameraPath parse(const std::string& text, const std::string& source);

  std::size_t keys() const { return keys_.size(); }
  double duration() const { return keys_.back().time - keys_.front().time; }
  // `seconds` after the first key, clamped to [0, duration()]. Eye and target may be the same point
  // between keys: make_frame() checks.
  Camera at(double seconds, unsigned up, const Vec3d& origin = {}) const;

 private:
  struct Key {
    double time;
    double number[7];  // of the camera
  };
  double coordinate(std::size_t key, unsigned i, double time) const;

  std::vector<Key> keys_;
};

}  // namespace heapwood::render
