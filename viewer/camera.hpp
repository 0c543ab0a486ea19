// SPDX-License-Identifier: MIT
// Camera movements for mouse and keys. Distances are relative to the scene's diagonal or to the
// distance to the target, so that scenes of any size handle alike.
#pragma once

#include "render/camera.hpp"
#include "viewer/gl.hpp"

namespace heapwood::viewer {

// Angles in radians; the view stops at the poles. Turns the view around a point, which stays where
// it is in the picture, and the target around the eye.
render::Camera orbit_about(const render::Camera& camera, Vec3 point, float right, float up);
render::Camera look(const render::Camera& camera, float right, float up);
// In heights of the picture; by a factor of the distance to the target; in the scene's unit.
render::Camera pan(const render::Camera& camera, float right, float up);
render::Camera dolly(const render::Camera& camera, float factor);
render::Camera fly(const render::Camera& camera, Vec3 right_up_forward);
// Turns the eye towards a point, the new target.
render::Camera aim(const render::Camera& camera, Vec3 target);

// From the scene's space to OpenGL's clip space, for the same rays that render::make_frame makes.
gl::Matrix projection(const render::Camera& camera, unsigned width, unsigned height,
                      float diagonal);

}  // namespace heapwood::viewer
