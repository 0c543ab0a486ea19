// SPDX-License-Identifier: MIT
// Rays to measure closest hits with, the same for every device and for other programs that follow these rules:
//
//   primary   through the centres of a picture's pixels, in tiles of 8 x 4 pixels, row by row of tiles and of pixels;
//   diffuse   one from each primary hit, in the same order: cosine-weighted about the geometric normal on the ray's side, from
//             hit + 1e-4 of the scene's diagonal along the normal. For pixel (x, y) of a picture of width W: h1 = pcg(y W + x),
//             h2 = pcg(h1), u = (h >> 8) / 2^24, r = sqrt(u1), phi = 2 pi u2, z = sqrt(1 - u1), in the basis of Duff and others
//             2017, "Building an orthonormal basis, revisited", with sign 1 where the normal's z is a zero of either sign. pcg is the
//             hash of Jarzynski and Olano 2020.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "render/camera.hpp"
#include "render/scene.hpp"

namespace heapwood::render {

// Throws Error{Exit::usage} unless width and height are multiples of 8 and 4.
std::vector<kdtree::Ray> primary_rays(const Camera& camera, unsigned width, unsigned height);
// `hits` are those of primary_rays for a picture of this width.
std::vector<kdtree::Ray> diffuse_rays(const Scene& scene, std::span<const kdtree::Ray> primary,
                                      std::span<const kdtree::Hit> hits, unsigned width);

struct RayMeasurement {
  std::size_t rays = 0, hits = 0;
  std::vector<double> runs_ms;  // after a warm-up
  StepSums steps;
  std::vector<kdtree::Hit> found;  // of each ray
};
// Throws what the device throws; simt::Stopped after `seconds` for one launch.
RayMeasurement measure_rays(const Scene& scene, std::span<const kdtree::Ray> rays, int runs, double seconds);

}  // namespace heapwood::render
