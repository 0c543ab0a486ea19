// SPDX-License-Identifier: MIT
// Small objects for the procedural scenes. Each stands on its frame's origin, y upwards.
#pragma once

#include <cstdint>

#include "scenes/shapes.hpp"

namespace heapwood::scenes {

// A column `height` high from plinth to abacus, with a shaft of `radius`.
struct Column {
  float height, radius;
  bool plain = false;  // without mouldings
  bool bare = false;   // only a shaft
  bool fluted = false;
};
void column(Model& model, const Frame& frame, const Column& column);

void baluster(Model& model, const Frame& frame, float height);
void pedestal(Model& model, const Frame& frame, float width, float height);
void vase(Model& model, const Frame& frame, float height, unsigned kind);
void knot(Model& model, const Frame& frame,
          float radius);                           // a closed ribbon-like trefoil above y = 0
void lantern(Model& model, Vec3 top, float drop);  // hangs by a thin rod
void teapot(Model& model, const Frame& frame, float height, float around);

// A cloth from y = 0 down to -height, with folds along z. gather: how far it is pulled to x = side.
struct Cloth {
  float width, height;
  float folds, depth;
  float gather = 0, side = 0;
  std::uint64_t seed = 1;
  float cell = 0.06f;
};
void cloth(Model& model, const Frame& frame, const Cloth& cloth);

}  // namespace heapwood::scenes
