// SPDX-License-Identifier: MIT
// Ray sets for measuring closest hits. They are identical on every device, and other programs can
// reproduce them:
//
//   primary   through the pixel centres of a picture, in tiles of 8 x 4 pixels; tiles and the
//             pixels of a tile are in row-major order;
//   diffuse   one per primary hit, in the same order: cosine-weighted around the geometric normal
//             on the ray's side, starting at the hit + 1e-4 of the scene's diagonal along the
//             normal.
//             For pixel (x, y) of a picture of width W: h1 = pcg(y W + x), h2 = pcg(h1),
//             u1 = (h1 >> 8) / 2^24, u2 = (h2 >> 8) / 2^24, r = sqrt(u1), phi = 2 pi u2,
//             z = sqrt(1 - u1), in the basis of Duff et al. 2017, "Building an orthonormal basis,
//             revisited", with sign 1 if the normal's z is a zero of either sign. pcg is the hash
//             of Jarzynski and Olano 2020 (random.hpp).
#pragma once

#include <span>
#include <vector>

#include "render/camera.hpp"
#include "render/scene.hpp"

namespace heapwood::render {

// Throws Error{Exit::usage} unless width is a multiple of 8 and height a multiple of 4.
std::vector<kdtree::Ray> primary_rays(const Camera& camera, unsigned width, unsigned height);
// `hits` are those of the primary rays of a picture of this width.
std::vector<kdtree::Ray> diffuse_rays(const Scene& scene, std::span<const kdtree::Ray> primary,
                                      std::span<const kdtree::Hit> hits, unsigned width);

struct RayMeasurement {
  std::size_t rays = 0, hits = 0;
  std::vector<double> runs_ms;  // times of all runs, without the warm-up
  StepSums steps;
  std::vector<kdtree::Hit> found;  // hits, by ray
};
// `seconds`: the time limit of each launch. Throws what Launcher::launch throws (simt/launch.hpp).
RayMeasurement measure_rays(const Scene& scene, std::span<const kdtree::Ray> rays, int runs,
                            double seconds);

}  // namespace heapwood::render
