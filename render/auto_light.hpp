// SPDX-License-Identifier: MIT
// Chooses a key light for a camera's view. Tries distant lights from a few directions relative to
// the camera; if none lights enough of the visible surfaces (an interior with a ceiling), places a
// lamp in the free space in front of the camera. Deterministic; traces some ten thousand rays on
// the scene's device.
#pragma once

#include "render/scene.hpp"

namespace heapwood::render {

Lighting choose_lighting(const Scene& scene, const Camera& camera);

}  // namespace heapwood::render
