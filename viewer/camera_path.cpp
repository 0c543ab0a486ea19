// SPDX-License-Identifier: MIT
#include "viewer/camera_path.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/program/input_file.hpp"
#include "bench/program/output_file.hpp"
#include "render/camera_path.hpp"
#include "viewer/state.hpp"

namespace heapwood::viewer {

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
