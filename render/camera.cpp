// SPDX-License-Identifier: MIT
#include "render/camera.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>

#include "simt/error.hpp"

namespace heapwood::render {
namespace {

bool finite(Vec3 v) { return std::isfinite(v.x) && std::isfinite(v.y) && std::isfinite(v.z); }

void check(const Camera& camera) {
  if (!finite(camera.eye) || !finite(camera.target) || !std::isfinite(camera.fov)) {
    throw Error(Exit::usage, "camera: all seven numbers must be finite");
  }
  if (camera.eye == camera.target) throw Error(Exit::usage, "camera: eye and target are the same point");
  if (!(camera.fov > 0 && camera.fov < 180)) {
    throw Error(Exit::usage, "camera: the vertical field of view must be between 0 and 180 degrees");
  }
}

Vec3 normalize_in_double(Vec3 v) {
  const double x = v.x, y = v.y, z = v.z;
  const double s = 1 / std::sqrt(x * x + y * y + z * z);
  return {static_cast<float>(x * s), static_cast<float>(y * s), static_cast<float>(z * s)};
}

}  // namespace

Camera parse_camera(const std::string& text, unsigned up) {
  float number[7];
  const char* at = text.c_str();
  for (unsigned i = 0; i < 7; ++i) {
    char* end = nullptr;
    number[i] = std::strtof(at, &end);
    const char expected = i < 6 ? ',' : '\0';
    if (end == at || *end != expected) {
      const std::string problem = end == at          ? "cannot be read"
                                  : *end == '\0'     ? "is the last, 7 are needed"
                                  : expected == '\0' ? "is not the last"
                                                     : "is followed by something else than a comma";
      throw Error(Exit::usage, "camera '" + text + "': number " + std::to_string(i + 1) + " " + problem +
                                   "; expected ex,ey,ez,tx,ty,tz,fov");
    }
    at = end + 1;
  }
  const Camera camera{{number[0], number[1], number[2]}, {number[3], number[4], number[5]}, number[6], up};
  check(camera);
  return camera;
}

std::string to_string(const Camera& camera) {
  char text[256];
  std::snprintf(text, sizeof text, "%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g", camera.eye.x, camera.eye.y, camera.eye.z,
                camera.target.x, camera.target.y, camera.target.z, camera.fov);
  return text;
}

CameraFrame make_frame(const Camera& camera, unsigned width, unsigned height) {
  check(camera);
  CameraFrame frame;
  frame.eye = camera.eye;
  frame.forward = normalize_in_double(camera.target - camera.eye);
  Vec3 right = cross(frame.forward, axis_vector(camera.up));
  // Looking straight along the up axis: any other axis will do.
  if (!(length(right) > 1e-6f)) right = cross(frame.forward, axis_vector((camera.up + 1) % 3));
  right = normalize_in_double(right);
  const Vec3 up = cross(right, frame.forward);
  const float half = static_cast<float>(std::tan(static_cast<double>(camera.fov) * std::numbers::pi / 360));
  frame.right = right * (half * static_cast<float>(width) / static_cast<float>(height));
  frame.up = up * half;
  frame.inverse_width = 1.0f / static_cast<float>(width);
  frame.inverse_height = 1.0f / static_cast<float>(height);
  return frame;
}

}  // namespace heapwood::render
