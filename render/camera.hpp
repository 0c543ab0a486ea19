// SPDX-License-Identifier: MIT
// A pinhole camera and its rays. For a square picture these are the rays that published figures are for (docs: "Cameras
// and rays"): fwd = norm(target - eye), right = norm(fwd x up), up' = right x fwd, th = tan(fov / 2),
//   d = norm(fwd + ((x / W * 2 - 1) th W / H) right + ((1 - y / H * 2) th) up'),   x, y at pixel centres.
#pragma once

#include <string>

#include "kdtree/intersect.hpp"

namespace heapwood::render {

struct Camera {
  Vec3 eye{0, 0, 1};
  Vec3 target{0, 0, 0};
  float fov = 40;   // vertical, degrees
  unsigned up = 1;  // axis: 0 x, 1 y, 2 z
};

// `ex,ey,ez,tx,ty,tz,fov`. Throws Error{Exit::usage} saying which part is wrong.
Camera parse_camera(const std::string& text, unsigned up);
std::string to_string(const Camera& camera);

// A camera ready to make rays of a picture.
struct CameraFrame {
  Vec3 eye, forward, right, up;  // right and up are scaled by half the picture's extent at distance 1
  float inverse_width, inverse_height;

  // (x, y) in pixels from the top left corner; (0.5, 0.5) is the first pixel's centre.
  SIMT_INLINE kdtree::Ray ray(float x, float y, float tmax) const {
    const float u = x * inverse_width * 2 - 1;
    const float v = 1 - y * inverse_height * 2;
    return {eye, 0, normalize(forward + right * u + up * v), tmax};
  }
};

// Throws Error{Exit::usage} if eye and target are one point, or a number is not finite, or fov is not in (0, 180).
CameraFrame make_frame(const Camera& camera, unsigned width, unsigned height);

SIMT_INLINE Vec3 axis_vector(unsigned axis) {
  return {axis == 0 ? 1.0f : 0.0f, axis == 1 ? 1.0f : 0.0f, axis == 2 ? 1.0f : 0.0f};
}

}  // namespace heapwood::render
