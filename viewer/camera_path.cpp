// SPDX-License-Identifier: MIT
#include "viewer/camera_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

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
  CameraPath path;
  std::istringstream lines(text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line);
    std::string word, camera;
    if (!(words >> word) || word[0] == '#') continue;
    CameraKey key;
    try {
      std::size_t used = 0;
      key.time = std::stod(word, &used);
      if (used != word.size() || !(key.time >= 0)) throw std::invalid_argument("time");
      while (words >> word) camera += (camera.empty() ? "" : ",") + word;
      key.camera = render::parse_camera(camera, up, origin);
    } catch (const std::exception&) {
      throw Error(Exit::usage,
                  fmt::format("{}: line {}: expected time ex ey ez tx ty tz fov", name, number));
    }
    if (!path.keys_.empty() && key.time <= path.keys_.back().time)
      throw Error(Exit::usage, fmt::format("{}: line {}: times must ascend", name, number));
    path.keys_.push_back(key);
  }
  if (path.keys_.empty()) throw Error(Exit::usage, name + ": no keys of a camera path");
  return path;
}

}  // namespace heapwood::viewer
