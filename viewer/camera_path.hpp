// SPDX-License-Identifier: MIT
// A recorded movement of the camera. Its file is one of `heapwood render --path`
// (render/camera_path.hpp).
#pragma once

#include <string>
#include <vector>

#include "render/camera.hpp"

namespace heapwood::viewer {

struct CameraKey {
  double time = 0;  // since the first key
  render::Camera camera;
};

class CameraPath {
 public:
  // Adds a key; times ascend. A camera that a straight movement from the key before the last one
  // passes through replaces that last one.
  void add(double time, const render::Camera& camera);
  const std::vector<CameraKey>& keys() const { return keys_; }
  double seconds() const { return keys_.empty() ? 0 : keys_.back().time; }
  // Interpolated between keys. The path has a key.
  render::Camera at(double time) const;

  std::string text(const Vec3d& origin) const;
  // Throws Error{Exit::scene} as render::CameraPath::parse().
  static CameraPath parse(const std::string& text, const std::string& name, unsigned up,
                          const Vec3d& origin);

 private:
  std::vector<CameraKey> keys_;
};

// What the View section records or plays.
struct PathView {
  CameraPath path;
  bool recording = false, playing = false;
  double since = 0;  // start of the recording or of the playback, in seconds of State::now
};

}  // namespace heapwood::viewer
