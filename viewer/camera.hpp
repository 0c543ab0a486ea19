// SPDX-License-Identifier: MIT
// Camera movements for mouse and keys, and the camera's recorded path, whose file is one of
// `heapwood render --path`. Distances are relative to the scene's diagonal or to the distance to
// the target, so that scenes of any size handle alike.
#pragma once

#include <string>
#include <vector>

#include "geometry/box.hpp"
#include "render/camera.hpp"
#include "viewer/gl.hpp"

namespace heapwood::viewer {

// Angles in radians; the view stops at the poles. Turns the eye around the target, the whole view
// around a point, which stays where it is in the picture, and the target around the eye.
render::Camera orbit(const render::Camera& camera, float right, float up);
render::Camera orbit_about(const render::Camera& camera, Vec3 point, float right, float up);
render::Camera look(const render::Camera& camera, float right, float up);
// In heights of the picture; by a factor of the distance to the target; in the scene's unit.
render::Camera pan(const render::Camera& camera, float right, float up);
render::Camera dolly(const render::Camera& camera, float factor);
render::Camera fly(const render::Camera& camera, Vec3 right_up_forward);
// Turns the eye towards a point, the new target of `orbit`.
render::Camera aim(const render::Camera& camera, Vec3 target);

// From the scene's space to OpenGL's clip space, for the same rays that render::make_frame makes.
gl::Matrix projection(const render::Camera& camera, unsigned width, unsigned height,
                      float diagonal);

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
