// SPDX-License-Identifier: MIT
#include "viewer/camera.hpp"

#include <algorithm>
#include <cmath>

namespace heapwood::viewer {

namespace {

struct Axes {
  Vec3 forward, right, up;  // unit vectors
  float distance;           // to the target
};

Axes axes(const render::Camera& camera) {
  const Vec3 to = camera.target - camera.eye;
  const float distance = std::max(length(to), 1e-20f);
  const Vec3 forward = to * (1 / distance);
  Vec3 right = cross(forward, render::axis_vector(camera.up));
  const float sine = length(right);
  right = sine > 1e-6f ? right * (1 / sine) : render::axis_vector((camera.up + 1) % 3);
  return {forward, right, cross(right, forward), distance};
}

// The camera's direction, turned right and up by these angles (radians), but not to a pole.
Vec3 turned(const render::Camera& camera, float right, float up) {
  const Axes a = axes(camera);
  const Vec3 pole = render::axis_vector(camera.up);
  constexpr float closest = 0.03f, half = 1.5707963f;
  const float elevation = std::asin(std::clamp(dot(a.forward, pole), -1.0f, 1.0f));
  const float tilted = std::clamp(elevation + up, -half + closest, half - closest);
  const Vec3 level = cross(pole, a.right);  // horizontal, forward
  const Vec3 heading = level * std::cos(right) + a.right * std::sin(right);
  return heading * std::cos(tilted) + pole * std::sin(tilted);
}

render::Camera placed(render::Camera camera, Vec3 eye, Vec3 target) {
  camera.eye = eye;
  camera.target = target;
  return camera;
}

}  // namespace

render::Camera orbit_about(const render::Camera& camera, Vec3 point, float right, float up) {
  // The point keeps its position relative to the view's axes.
  const Axes a = axes(camera), b = axes(look(camera, right, up));
  const Vec3 to = camera.eye - point;
  const Vec3 eye =
      point + b.right * dot(to, a.right) + b.up * dot(to, a.up) + b.forward * dot(to, a.forward);
  return placed(camera, eye, eye + b.forward * a.distance);
}

render::Camera look(const render::Camera& camera, float right, float up) {
  return placed(camera, camera.eye, camera.eye + turned(camera, right, up) * axes(camera).distance);
}

render::Camera pan(const render::Camera& camera, float right, float up) {
  const Axes a = axes(camera);
  const float height = 2 * std::tan(camera.fov * 0.00872664626f) * a.distance;
  const Vec3 by = (a.right * right + a.up * up) * height;
  return placed(camera, camera.eye + by, camera.target + by);
}

render::Camera dolly(const render::Camera& camera, float factor) {
  const Vec3 eye = camera.target + (camera.eye - camera.target) * factor;
  return eye == camera.target ? camera : placed(camera, eye, camera.target);
}

render::Camera fly(const render::Camera& camera, Vec3 by) {
  const Axes a = axes(camera);
  const Vec3 step = a.right * by.x + render::axis_vector(camera.up) * by.y + a.forward * by.z;
  return placed(camera, camera.eye + step, camera.target + step);
}

render::Camera outside(const render::Camera& camera, const Box& box) {
  if (box.empty()) return camera;
  const unsigned front = (camera.up + 2) % 3, side = (camera.up + 1) % 3;
  const Vec3 extent = box.extent(), up = render::axis_vector(camera.up);
  Vec3 away;
  away[front] = extent[side];
  away[side] = extent[front];
  const float size = length(extent);
  // Below the middle, because captions cover the lower part of the picture.
  const Vec3 target = box.centre() - up * (0.14f * size);
  render::Camera view =
      placed(camera, target + (normalize(away) * 1.45f + up * 0.7f) * size, target);
  view.fov = 40;
  return view;
}

render::Camera aim(const render::Camera& camera, Vec3 target) {
  return target == camera.eye ? camera : placed(camera, camera.eye, target);
}

gl::Matrix projection(const render::Camera& camera, unsigned width, unsigned height,
                      float diagonal) {
  const render::CameraFrame frame = render::make_frame(camera, width, height);
  const Vec3 right = frame.right * (1 / dot(frame.right, frame.right));
  const Vec3 up = frame.up * (1 / dot(frame.up, frame.up));
  const Vec3 forward = frame.forward * (1 / dot(frame.forward, frame.forward));
  const float near = 1e-4f * diagonal, far = 10 * diagonal + length(camera.eye);
  const float scale = (far + near) / (far - near), shift = -2 * far * near / (far - near);
  gl::Matrix m;
  const Vec3 rows[4] = {right, up, forward * scale, forward};
  const float offsets[4] = {0, 0, shift, 0};
  for (int row = 0; row < 4; ++row) {
    m.m[0 + row] = rows[row].x;
    m.m[4 + row] = rows[row].y;
    m.m[8 + row] = rows[row].z;
    m.m[12 + row] = offsets[row] - dot(rows[row], frame.eye);
  }
  return m;
}

}  // namespace heapwood::viewer
