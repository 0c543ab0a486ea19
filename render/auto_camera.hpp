// SPDX-License-Identifier: MIT
// Chooses a camera for an unknown scene. A scene that encloses most points inside it (a hall, a
// courtyard) and has contents that block views across it is shown from inside, along its length.
// Any other scene, including a closed shape that is convex and empty, is shown from outside: a flat
// one from its broad side, others in a three-quarter view of their main part.
//
// Up to about 200 candidates are traced at low resolution, 120,000 rays in all, and scored: variety
// of distances, normals and triangles is good, surfaces very near the camera are bad. Inside views
// that miss much or mostly show backs of faces are marked down or rejected. Deterministic.
#pragma once

#include "render/scene.hpp"

namespace heapwood::render {

// `aspect` is width / height of the picture. An empty scene gets a default camera.
Camera auto_camera(const Scene& scene, unsigned up, float aspect = 16.0f / 9);

// The part of a scene that a picture should show, in the box of all: one stray triangle a thousand
// diagonals away would shrink everything else to a dot. Without the triangles beyond a gap wider
// than `outlier_gap` diagonals of the rest, if they have at most `outlier_area` of the area.
inline constexpr float outlier_gap = 5;
inline constexpr double outlier_area = 0.1;
Box main_part(const kdtree::MeshView& mesh, const Box& all);

// The shares are from 0 to 1.
struct ViewScore {
  double score = 0;
  double coverage = 0;  // share of the rays that hit
  double backs = 0;     // share of the hits that are on backs, by winding order
};
ViewScore score_view(const Scene& scene, const Camera& camera, float aspect);

}  // namespace heapwood::render
