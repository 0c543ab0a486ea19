// SPDX-License-Identifier: MIT
// Chooses a camera for an unknown scene. A scene that encloses most points inside it (a hall, a
// courtyard) and has contents that block views across it is shown from inside, along its length.
// Any other scene, including a closed shape that is convex and empty, is shown from outside, in a
// three-quarter view of its main part (main_part.hpp), without far outliers.
//
// Candidate views are traced at low resolution and scored: variety of distances, normals and
// triangles is good, surfaces very near the camera are bad. Inside views that miss much or mostly
// show backs of faces are marked down or rejected.
//
// Deterministic; traces up to about 120,000 rays on the scene's device. Limits: the best of about
// 200 candidates, not the optimum; of a scene with several interiors, one is shown.
#pragma once

#include "render/scene.hpp"

namespace heapwood::render {

// `aspect` is width / height of the picture. An empty scene gets a default camera.
Camera auto_camera(const Scene& scene, unsigned up, float aspect = 16.0f / 9);

// The score of a view and its parts. All shares are 0..1.
struct ViewScore {
  double score = 0;
  double coverage = 0;        // share of the rays that hit
  double near = 0;            // mean over the hits: 1 up to 2% of the diagonal, 0 from 8%
  double backs = 0;           // share of the hits that are on backs, by winding order
  double depth_variety = 0;   // entropy of distances, normalized
  double normal_variety = 0;  // entropy of normals, normalized
  double triangles = 0;       // number of different triangles hit / number of hits
};
ViewScore judge_view(const Scene& scene, const Camera& camera, float aspect);

}  // namespace heapwood::render
