// SPDX-License-Identifier: MIT
// A camera that shows an unknown scene well, found by looking. A scene that closes around the points inside it (a hall,
// a courtyard) and has something in it is shown from inside, along its length; any other, also a closed shape that is convex
// and empty, from outside, in a three-quarter view of its main part (main_part.hpp), without far outliers. Each is traced at low resolution and judged by how much there is to see: variety of distances, of normals, of
// triangles, little that is too near, few backs of faces. Deterministic; about 150,000 rays on the scene's device.
// Limits: the best of a few hundred guesses, not of all; a scene of several rooms gets one.
#pragma once

#include "render/scene.hpp"

namespace heapwood::render {

// `aspect` is width / height of the picture to come. An empty scene gets a default camera.
Camera auto_camera(const Scene& scene, unsigned up, float aspect = 16.0f / 9);

// What was judged, for tests and for curiosity; all shares of the rays are 0..1.
struct ViewScore {
  double score = 0;
  double coverage = 0;       // rays that hit
  double near = 0;           // hits closer than 2.5% of the diagonal
  double backs = 0;          // hits on faces seen from behind (by their winding), of the hits
  double depth_variety = 0;  // entropy of distances, 0..1
  double normal_variety = 0;
  double triangles = 0;  // different triangles seen, of the rays
};
ViewScore judge_view(const Scene& scene, const Camera& camera, float aspect);

}  // namespace heapwood::render
