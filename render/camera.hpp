// SPDX-License-Identifier: MIT
// A pinhole camera and its rays. In a square picture the rays are those of the published figures
// (docs/rays.md, "Cameras"):
//   fwd = norm(target - eye), right = norm(fwd x up), up' = right x fwd, th = tan(fov / 2),
//   d = norm(fwd + ((x / W * 2 - 1) th W / H) right + ((1 - y / H * 2) th) up'),
// with x, y at pixel centres.
#pragma once

#include <string>

#include "geometry/vec.hpp"
#include "kdtree/traverse/intersect.hpp"

namespace heapwood::render {

// A camera. Eye and target are relative to the mesh's origin (scenes::Mesh), as its vertices are.
struct Camera {
  Vec3 eye{0, 0, 1};
  Vec3 target{0, 0, 0};
  float fov = 40;   // vertical angle in degrees
  unsigned up = 1;  // axis: 0 x, 1 y, 2 z
  bool operator==(const Camera&) const = default;
};

// Parses a camera's text, `ex,ey,ez,tx,ty,tz,fov`, in the file's coordinates: each number is read
// as a double, the mesh's origin is subtracted, and the result is rounded to float. Throws
// Error{Exit::usage}, which names the wrong part.
Camera parse_camera(const std::string& text, unsigned up, const Vec3d& origin = {});
// Makes those checks of parse_camera() that need no origin: all except that eye and target still
// differ after rounding to float.
void check_camera_text(const std::string& text);
// The shortest text from which parse_camera() reads the camera back to the same bits or, if double
// is too coarse near the origin for that, reads the camera of representable().
std::string to_string(const Camera& camera, const Vec3d& origin = {});
// `ex,ey,ez,tx,ty,tz,fov --up y`: the text after --camera, and the content of a .camera file.
std::string to_arguments(const Camera& camera, const Vec3d& origin = {});
// The nearest camera that conversion to text and back does not change: doubles near a large origin
// are coarser than floats near 0. Returns the camera as it is if eye and target would become the
// same point.
Camera representable(const Camera& camera, const Vec3d& origin);

// A camera prepared for generating the rays of a picture.
struct CameraFrame {
  Vec3 eye, forward, right,
      up;  // right and up have half the picture's extent at distance 1
  float inverse_width, inverse_height;

  // The ray through (x, y), in pixels from the top left corner; (0.5, 0.5) is the first centre.
  HEAPWOOD_INLINE kdtree::Ray ray(float x, float y, float tmax) const {
    const float u = x * inverse_width * 2 - 1;
    const float v = 1 - y * inverse_height * 2;
    return {eye, 0, normalize(forward + right * u + up * v), tmax};
  }
};

// Prepares a camera. Throws Error{Exit::usage} if eye and target are the same point, a number is
// not finite, or fov is not in (0, 180).
CameraFrame make_frame(const Camera& camera, unsigned width, unsigned height);

HEAPWOOD_INLINE Vec3 axis_vector(unsigned axis) {
  return {axis == 0 ? 1.0f : 0.0f, axis == 1 ? 1.0f : 0.0f, axis == 2 ? 1.0f : 0.0f};
}

}  // namespace heapwood::render
