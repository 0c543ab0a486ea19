// SPDX-License-Identifier: MIT
#include "viewer/camera.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/program/input_file.hpp"
#include "bench/program/output_file.hpp"
#include "render/camera_path.hpp"
#include "viewer/state.hpp"

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

render::Camera orbit(const render::Camera& camera, float right, float up) {
  const Vec3 eye = camera.target - turned(camera, right, up) * axes(camera).distance;
  return placed(camera, eye, camera.target);
}

render::Camera orbit_about(const render::Camera& camera, Vec3 point, float right, float up) {
  // The point keeps its place relative to the view's axes.
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

namespace {

render::Camera between(const CameraKey& a, const CameraKey& b, double time) {
  const double span = b.time - a.time;
  const auto share = static_cast<float>(span > 0 ? (time - a.time) / span : 1);
  render::Camera camera = a.camera;
  camera.eye = a.camera.eye + (b.camera.eye - a.camera.eye) * share;
  camera.target = a.camera.target + (b.camera.target - a.camera.target) * share;
  camera.fov = a.camera.fov + (b.camera.fov - a.camera.fov) * share;
  return camera;
}

// Relative to the distance of eye and target.
bool is_near(const render::Camera& a, const render::Camera& b) {
  const float limit = 1e-4f * length(a.target - a.eye);
  return length(a.eye - b.eye) <= limit && length(a.target - b.target) <= limit &&
         a.fov - b.fov < 1e-3f && b.fov - a.fov < 1e-3f;
}

}  // namespace

void CameraPath::add(double time, const render::Camera& camera) {
  const CameraKey key{time, camera};
  const std::size_t count = keys_.size();
  if (count >= 2 &&
      is_near(between(keys_[count - 2], key, keys_[count - 1].time), keys_[count - 1].camera)) {
    keys_.back() = key;
  } else {
    keys_.push_back(key);
  }
}

render::Camera CameraPath::at(double time) const {
  const auto after = std::upper_bound(keys_.begin(), keys_.end(), time,
                                      [](double t, const CameraKey& key) { return t < key.time; });
  if (after == keys_.begin()) return keys_.front().camera;
  if (after == keys_.end()) return keys_.back().camera;
  return between(*std::prev(after), *after, time);
}

std::string CameraPath::text(const Vec3d& origin) const {
  std::string text = "# time ex ey ez tx ty tz fov\n";
  for (const CameraKey& key : keys_) {
    std::string camera = render::to_string(key.camera, origin);
    std::replace(camera.begin(), camera.end(), ',', ' ');
    text += fmt::format("{:.3f} {}\n", key.time, camera);
  }
  return text;
}

CameraPath CameraPath::parse(const std::string& text, const std::string& name, unsigned up,
                             const Vec3d& origin) {
  const auto file = render::CameraPath::parse(text, name);
  CameraPath path;
  for (std::size_t key = 0; key < file.keys(); ++key) {
    path.keys_.push_back({file.seconds(key), file.camera(key, up, origin)});
    if (path.keys_.back().camera.eye == path.keys_.back().camera.target)
      throw Error(Exit::scene, fmt::format("{}: key {}: eye and target are the same point in the "
                                           "scene's precision",
                                           name, key + 1));
  }
  return path;
}

void record_path(State& state) {
  PathView& view = state.path;
  if (!has_scene(state)) return;
  if (!view.recording) {
    view = {};
    view.recording = true;
    view.since = state.now;
    return state.note("Recording the camera; press R to end.");
  }
  view.recording = false;
  if (view.path.keys().size() < 2) return state.warn("The recording is empty: nothing was saved.");
  const std::string name = free_name(state.scene->name, ".path");
  try {
    bench::OutputFile(name).write(view.path.text(state.scene->mesh.origin));
    state.note(fmt::format("Saved {}: {:.1f} s, {} keys.", name, view.path.seconds(),
                           view.path.keys().size()));
  } catch (const Error& error) {
    state.fail(error);
  }
}

void play_path(State& state) {
  PathView& view = state.path;
  view.playing = !view.playing && !view.recording && !view.path.keys().empty();
  view.since = state.now;
}

void advance_path(State& state) {
  PathView& view = state.path;
  const double time = state.now - view.since;
  if (view.recording) view.path.add(time, state.camera);
  if (!view.playing) return;
  state.camera = view.path.at(time);
  view.playing = time < view.path.seconds();
}

void open_path(State& state, const std::string& file) {
  if (!has_scene(state)) return;
  try {
    const std::optional<std::string> text = bench::read_text(file, Exit::usage);
    if (!text) throw Error(Exit::usage, file + ": no such file");
    // A file that cannot be read ends no recording.
    PathView opened;
    opened.path = CameraPath::parse(*text, file, state.camera.up, state.scene->mesh.origin);
    state.path = std::move(opened);
    play_path(state);
  } catch (const Error& error) {
    state.fail(error);
  }
}

}  // namespace heapwood::viewer
