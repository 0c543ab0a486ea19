// SPDX-License-Identifier: MIT
// Pictures in tests: read from PNG files, rendered from a tree, compared.
#pragma once

#include <cstdlib>
#include <string>

#include "geometry/picture_file.hpp"
#include "render/renderer.hpp"
#include "scenes/file.hpp"
#include "simt/error.hpp"

namespace heapwood::render {

// Throws Error if the file is not a picture.
inline Image read_png(const std::string& path) {
  Texture picture;
  std::string reason;
  if (!decode_picture(scenes::read_file(path).bytes(), picture, reason))
    throw Error(Exit::failed, path + ": " + reason);
  Image image(picture.width, picture.height);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    const auto channel = [&](unsigned shift) {
      return static_cast<std::uint8_t>(picture.texels[i] >> shift);
    };
    image.pixels[i] = {channel(0), channel(8), channel(16)};
  }
  return image;
}

inline Image render(const RenderJob& job, const simt::DeviceId& device, const kdtree::Tree& tree,
                    const kdtree::MeshView& mesh) {
  return render(job, Scene(device, tree, mesh, job.watertight));
}

inline Film film_of(const RenderJob& job, const Scene& scene) {
  Progressive picture(scene, job);
  picture.add(job.spp, 60);
  return picture.film();
}

// Difference of two pictures of the same size.
struct Difference {
  double mean = 0;  // mean of |a - b| over all channels, in steps of 1/255
  unsigned largest = 0;
  double above = 0;  // share of pixels with a channel that differs by more than `threshold`
};
inline Difference compare(const Image& a, const Image& b, unsigned threshold) {
  if (a.width != b.width || a.height != b.height)
    throw Error(Exit::failed, "pictures of different sizes");
  Difference difference;
  const auto count = static_cast<double>(a.pixels.size());
  for (std::size_t i = 0; i < a.pixels.size(); ++i) {
    const Rgb8 &p = a.pixels[i], &q = b.pixels[i];
    unsigned worst = 0;
    for (const int d : {p.r - q.r, p.g - q.g, p.b - q.b}) {
      worst = std::max(worst, static_cast<unsigned>(std::abs(d)));
      difference.mean += std::abs(d) / (3 * count);
    }
    difference.largest = std::max(difference.largest, worst);
    difference.above += worst > threshold ? 1 / count : 0;
  }
  return difference;
}

}  // namespace heapwood::render
