// SPDX-License-Identifier: MIT
// The kernels that trace rays, for every launcher of simt/: pictures, and rays from a buffer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "render/shading.hpp"
#include "simt/atomic_ref.hpp"

namespace heapwood::render {

// Pictures: a warp takes tiles of 8 x 4 pixels, whichever is next, so that dear and cheap regions even out.
inline constexpr std::uint32_t tile_width = 8, tile_height = 4;

template <class Intersection, class Integrator>
struct RenderKernel {
  struct Scratch {};
  static constexpr unsigned block_threads = 128;
  static constexpr unsigned blocks_per_multiprocessor = 8;

  SceneView<Intersection> scene;
  Frame frame;
  Pixel* film;            // samples are added to it
  std::uint32_t* ticket;  // the first tile at launch

  template <class Warp>
  SIMT_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint32_t columns = (frame.width + tile_width - 1) / tile_width;
    for (;;) {
      std::uint32_t tile = 0;
      if (warp.lane() == 0) tile = simt::atomic_ref<std::uint32_t>(*ticket).fetch_add(1, simt::relaxed);
      tile = warp.shfl(tile, 0);
      if (tile >= frame.end_tile || warp.any(warp.aborted())) return;
      for (std::uint32_t i = warp.lane(); i < tile_width * tile_height; i += Warp::width) {
        const std::uint32_t x = tile % columns * tile_width + i % tile_width;
        const std::uint32_t y = tile / columns * tile_height + i / tile_width;
        if (x < frame.width && y < frame.height) shade(x, y);
      }
    }
  }

 private:
  SIMT_INLINE void shade(std::uint32_t x, std::uint32_t y) const {
    const std::uint32_t index = y * frame.width + x;
    const PixelRandom random(frame.seed, index);
    Pixel sum = film[index];
    SIMT_ROLLED
    for (std::uint32_t i = 0; i < frame.samples; ++i) {
      Integrator::add(scene, frame, random, x, y, frame.first_sample + i, sum);
    }
    film[index] = sum;
  }
};

// Rays from a buffer: closest hits, or whether there is any (then only Hit::triangle is set, to 0, for a ray that
// hits).
template <class Intersection, bool Any>
struct TraceKernel {
  struct Scratch {};
  static constexpr unsigned block_threads = 128;
  static constexpr unsigned blocks_per_multiprocessor = 12;

  kdtree::TreeView<Intersection> tree;
  const kdtree::Ray* rays;
  kdtree::Hit* hits;
  std::size_t count;

  template <class Warp>
  SIMT_FN void operator()(Warp& warp, Scratch&) const {
    const std::size_t stride = std::size_t{warp.workers()} * Warp::width;
    std::uint32_t turn = 0;
    for (std::size_t i = std::size_t{warp.worker()} * Warp::width + warp.lane(); i < count; i += stride) {
      if ((++turn & 255u) == 0 && warp.aborted()) return;
      const kdtree::Ray ray = rays[i];
      if constexpr (Any) {
        kdtree::Hit hit;
        if (kdtree::any_hit(tree, ray)) hit.triangle = 0;
        hits[i] = hit;
      } else {
        hits[i] = kdtree::closest_hit(tree, ray);
      }
    }
  }
};

}  // namespace heapwood::render
