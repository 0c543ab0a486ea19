// SPDX-License-Identifier: MIT
// Chooses a key light for a camera's view. Tries distant lights from a few directions relative to
// the camera. If none lights enough of the visible surfaces (an interior with a ceiling), places a
// lamp in the free space in front of the camera. Deterministic; traces some ten thousand rays on
// the scene's device. With `emitters`, a scene that its emitting triangles light well enough gets
// no other light, and their light is scaled to the brightness for which pictures are developed.
#pragma once

#include "render/scene.hpp"

namespace heapwood::render {

Lighting choose_lighting(const Scene& scene, const Camera& camera, bool emitters = false);

}  // namespace heapwood::render
