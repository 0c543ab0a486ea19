// SPDX-License-Identifier: MIT
#include "render/camera.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numbers>

#include "simt/error.hpp"

namespace heapwood::render {
namespace {

constexpr const char* same_point = "camera: eye and target are the same point";

void check_fov(float fov) {
  if (!(fov > 0 && fov < 180)) {
    throw Error(Exit::usage,
                "camera: the vertical field of view must be between 0 and 180 degrees");
  }
}

void check(const Camera& camera) {
  if (!is_finite(camera.eye) || !is_finite(camera.target) || !std::isfinite(camera.fov)) {
    throw Error(Exit::usage, "camera: all seven numbers must be finite");
  }
  if (camera.eye == camera.target) throw Error(Exit::usage, same_point);
  check_fov(camera.fov);
}

// Convert a component between the file's and the mesh's coordinates. With origin 0 nothing changes,
// not even the sign of a zero.
double in_file(float value, double origin) { return origin == 0 ? double{value} : origin + value; }
float in_mesh(double value, double origin) { return static_cast<float>(value - origin); }

// The nearest component that in_file() and in_mesh() reproduce. Rounding may require a second step.
float representable(float value, double origin) {
  for (int step = 0; step < 4; ++step) {
    const float back = in_mesh(in_file(value, origin), origin);
    if (back == value) return back;
    value = back;
  }
  return value;
}

template <class T>
std::string shortest(T value) {
  char text[64];
  const double magnitude = std::fabs(static_cast<double>(value));
  // Plain notation is more readable: 100000, not 1e+05.
  const bool plain = magnitude == 0 || (magnitude >= 1e-5 && magnitude < 1e15);
  const auto end = std::to_chars(text, text + sizeof text, value,
                                 plain ? std::chars_format::fixed : std::chars_format::general)
                       .ptr;
  return {text, end};
}

// The shortest text that is read back as this component.
std::string text_of(float value, double origin) {
  const auto reads_back = [&](double number) {
    const float back = in_mesh(number, origin);
    return back == value && std::signbit(back) == std::signbit(value);
  };
  if (origin == 0) {
    std::string text = shortest(value);
    if (reads_back(std::strtod(text.c_str(), nullptr))) return text;
  }
  const double number = in_file(value, origin);
  for (int digits = 1; digits < std::numeric_limits<double>::max_digits10; ++digits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*e", digits - 1, number);
    const double rounded = std::strtod(text, nullptr);
    if (reads_back(rounded)) return shortest(rounded);
  }
  return shortest(number);
}

std::array<double, 7> parse_numbers(const std::string& text) {
  std::array<double, 7> number;
  const char* next = text.c_str();
  for (unsigned i = 0; i < 7; ++i) {
    char* end = nullptr;
    number[i] = std::strtod(next, &end);
    const char expected = i < 6 ? ',' : '\0';
    if (end == next || *end != expected) {
      const std::string problem = end == next        ? "cannot be read"
                                  : *end == '\0'     ? "is the last, 7 are needed"
                                  : expected == '\0' ? "is not the last"
                                                     : "is not followed by a comma";
      constexpr std::size_t max_shown = 120;
      throw Error(Exit::usage, "camera '" + text.substr(0, max_shown) +
                                   (text.size() > max_shown ? "...'" : "'") + ": number " +
                                   std::to_string(i + 1) + " " + problem +
                                   "; expected ex,ey,ez,tx,ty,tz,fov");
    }
    if (!(std::fabs(number[i]) <= std::numeric_limits<float>::max())) {
      throw Error(Exit::usage, "camera: all seven numbers must be finite");
    }
    next = end + 1;
  }
  if (number[0] == number[3] && number[1] == number[4] && number[2] == number[5])
    throw Error(Exit::usage, same_point);
  check_fov(static_cast<float>(number[6]));
  return number;
}

Vec3 normalize_in_double(Vec3 v) {
  const double x = v.x, y = v.y, z = v.z;
  const double s = 1 / std::sqrt(x * x + y * y + z * z);
  return {static_cast<float>(x * s), static_cast<float>(y * s), static_cast<float>(z * s)};
}

}  // namespace

void check_camera_text(const std::string& text) { parse_numbers(text); }

Camera parse_camera(const std::string& text, unsigned up, const Vec3d& origin) {
  const std::array<double, 7> number = parse_numbers(text);
  const auto point = [&](unsigned first) {
    return Vec3{in_mesh(number[first], origin.x), in_mesh(number[first + 1], origin.y),
                in_mesh(number[first + 2], origin.z)};
  };
  const Camera camera{point(0), point(3), static_cast<float>(number[6]), up};
  check(camera);
  return camera;
}

std::string to_string(const Camera& camera, const Vec3d& origin) {
  std::string text;
  for (const Vec3& point : {camera.eye, camera.target}) {
    text += text_of(point.x, origin.x) + "," + text_of(point.y, origin.y) + "," +
            text_of(point.z, origin.z) + ",";
  }
  return text + text_of(camera.fov, 0);
}

std::string to_arguments(const Camera& camera, const Vec3d& origin) {
  return to_string(camera, origin) + " --up " + "xyz"[camera.up];
}

Camera representable(const Camera& camera, const Vec3d& origin) {
  const auto nearest = [&](Vec3 point) {
    return Vec3{representable(point.x, origin.x), representable(point.y, origin.y),
                representable(point.z, origin.z)};
  };
  const Camera moved{nearest(camera.eye), nearest(camera.target), camera.fov, camera.up};
  return moved.eye == moved.target ? camera : moved;
}

CameraFrame make_frame(const Camera& camera, unsigned width, unsigned height) {
  check(camera);
  CameraFrame frame;
  frame.eye = camera.eye;
  frame.forward = normalize_in_double(camera.target - camera.eye);
  Vec3 right = cross(frame.forward, axis_vector(camera.up));
  // The camera looks along the up axis: uses another axis as up.
  if (!(length(right) > 1e-6f)) right = cross(frame.forward, axis_vector((camera.up + 1) % 3));
  right = normalize_in_double(right);
  const Vec3 up = cross(right, frame.forward);
  const float half =
      static_cast<float>(std::tan(static_cast<double>(camera.fov) * std::numbers::pi / 360));
  frame.right = right * (half * static_cast<float>(width) / static_cast<float>(height));
  frame.up = up * half;
  frame.inverse_width = 1.0f / static_cast<float>(width);
  frame.inverse_height = 1.0f / static_cast<float>(height);
  return frame;
}

}  // namespace heapwood::render
