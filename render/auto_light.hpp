// SPDX-License-Identifier: MIT
// A key light that suits what a camera sees, found by trying: distant lights from a few directions relative to the
// camera, taken if they reach enough of what is visible; else (a room with a ceiling) a lamp in the open space before
// the camera. Deterministic; some ten thousand rays on the scene's device.
#pragma once

#include "render/scene.hpp"

namespace heapwood::render {

Lighting choose_lighting(const Scene& scene, const Camera& camera);

}  // namespace heapwood::render
