// SPDX-License-Identifier: MIT
// Camera movements for mouse and keys. Distances are relative to the scene's diagonal or to the
// distance to the target, so that scenes of any size handle alike.
#pragma once

#include "geometry/triangle.hpp"
#include "render/camera.hpp"
#include "viewer/gl.hpp"

namespace heapwood::viewer {

// orbit_about() turns the view around a point, which stays where it is in the picture; look() turns
// the target around the eye. Angles are in radians; the view stops at the poles.
render::Camera orbit_about(const render::Camera& camera, Vec3 point, float right, float up);
render::Camera look(const render::Camera& camera, float right, float up);
// pan() moves by multiples of the picture's height, dolly() by a factor of the distance to the
// target, fly() in the scene's unit.
render::Camera pan(const render::Camera& camera, float right, float up);
render::Camera dolly(const render::Camera& camera, float factor);
render::Camera fly(const render::Camera& camera, Vec3 right_up_forward);
// A view of a whole box from outside and above, with most of its broad side.
render::Camera outside(const render::Camera& camera, const Box& box);
// Turns the eye towards a point, the new target.
render::Camera aim(const render::Camera& camera, Vec3 target);

// The matrix from the scene's space to OpenGL's clip space, for the rays of render::make_frame.
gl::Matrix projection(const render::Camera& camera, unsigned width, unsigned height,
                      float diagonal);

}  // namespace heapwood::viewer
