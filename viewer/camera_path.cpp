// SPDX-License-Identifier: MIT
#include "viewer/camera_path.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "render/camera_path.hpp"
#include "simt/error.hpp"

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

}  // namespace heapwood::viewer
