// SPDX-License-Identifier: MIT
// What is traced in each frame of an animation, with one camera and one light for all frames: the
// tree of the last build is traced where it is, in device memory.
#pragma once

#include <optional>

#include "bench/animate_bench.hpp"
#include "bench/animate_scene.hpp"
#include "render/film.hpp"
#include "render/renderer.hpp"

namespace heapwood::bench {

class AnimateView {
 public:
  // Chooses camera and light; `scene` has been built. spp: samples per pixel of pictures.
  AnimateView(AnimateScene& scene, const AnimateJob& job);

  const render::Camera& camera() const { return camera_; }

  // These trace the tree of the last build. Milliseconds by the host's clock, to the end of the
  // work. fill_records comes first; false: it had to allocate memory.
  bool fill_records(double& ms);
  double trace_primary();
  // A camera ray and a shadow ray per pixel.
  double shade();
  // A smooth picture with soft shadows.
  render::Image picture(unsigned spp);

 private:
  render::Frame make_frame(unsigned spp) const;
  double launch(render::Frame& frame, unsigned samples);

  AnimateScene& scene_;
  double seconds_;  // time limit of a launch
  render::Camera camera_;
  render::Lighting lighting_;
  unsigned width_, height_;
  simt::Memory records_;
  simt::Buffer<kdtree::Ray> rays_;
  simt::Buffer<kdtree::Hit> hits_;
  simt::Buffer<render::Pixel> film_;
  simt::Buffer<std::uint32_t> ticket_;
  render::SceneData data_{};
  std::optional<double> exposure_;  // of the first picture: the others must not flicker
};

}  // namespace heapwood::bench
