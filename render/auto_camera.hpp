// SPDX-License-Identifier: MIT
// Chooses a camera for an unknown scene. A scene that encloses most points inside it (a hall, a
// courtyard) and whose contents block views across it is shown from inside, along its length. Any
// other scene, including a closed shape that is convex and empty, is shown from outside: a flat one
// from its broad side, others in a three-quarter view of their main part.
//
// Up to about 200 candidates are traced at low resolution, 120,000 rays in all, and scored: variety
// of distances, normals and triangles is good, surfaces very near the camera are bad. Inside views
// in which many rays miss or most hit backs of faces get a lower score or are rejected.
// Deterministic.
#pragma once

#include "render/scene.hpp"

namespace heapwood::render {

// `aspect` is width / height of the picture. An empty scene gets a default camera.
Camera auto_camera(const Scene& scene, unsigned up, float aspect = 16.0f / 9);

// The part of a scene that a picture should show: one stray triangle a thousand diagonals away
// would shrink everything else to a dot. Triangles beyond a gap wider than `outlier_gap` diagonals
// of the rest are left out if they have at most `outlier_area` of the area. `all` is the box of
// all triangles.
inline constexpr float outlier_gap = 5;
inline constexpr double outlier_area = 0.1;
Box main_part(const kdtree::MeshView& mesh, const Box& all);

// How good a view is; all shares are from 0 to 1.
struct ViewScore {
  double score = 0;
  double coverage = 0;  // share of the rays that hit
  double backs = 0;     // share of these that hit a triangle's back, by winding order
};
ViewScore score_view(const Scene& scene, const Camera& camera, float aspect);

// Chooses a key light for a camera's view. Tries distant lights from a few directions relative to
// the camera. If none lights enough of the visible surfaces (an interior with a ceiling), places a
// lamp in the free space in front of the camera. Deterministic; traces some ten thousand rays on
// the scene's device. With `emitters`, a scene that its emitting triangles light well enough gets
// no other light, and their light is scaled to the brightness for which pictures are developed.
Lighting choose_lighting(const Scene& scene, const Camera& camera, bool emitters = false);

}  // namespace heapwood::render
