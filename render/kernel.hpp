// SPDX-License-Identifier: MIT
// The kernels that trace rays, for every launcher of simt/: of pictures, and from a buffer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kdtree/traverse/simd_rays.hpp"
#include "render/backend.hpp"
#include "render/shading.hpp"
#include "simt/atomic_ref.hpp"

namespace heapwood::render {

// Renders a picture: each warp repeatedly takes the next tile of 8 x 4 pixels, which balances
// expensive and cheap regions.
inline constexpr std::uint32_t tile_width = 8, tile_height = 4;

template <class View, class Integrator>
struct RenderKernel {
  struct Scratch {};
  static constexpr unsigned block_threads = 128;
  static constexpr unsigned blocks_per_multiprocessor = 8;

  View scene;
  Frame frame;
  Pixel* film;            // sums to which samples are added
  std::uint32_t* ticket;  // the next tile; before the launch the first one

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint32_t columns = (frame.width + tile_width - 1) / tile_width;
    for (;;) {
      std::uint32_t tile = 0;
      if (warp.lane() == 0)
        tile = simt::atomic_ref<std::uint32_t>(*ticket).fetch_add(1, simt::relaxed);
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
  HEAPWOOD_INLINE void shade(std::uint32_t x, std::uint32_t y) const {
    const std::uint32_t index = y * frame.width + x;
    const PixelRandom random(frame.seed, index);
    Pixel sum = film[index];
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i < frame.samples; ++i) {
      Integrator::add(scene, frame, random, x, y, frame.first_sample + i, sum);
    }
    film[index] = sum;
  }
};

// The slopes of a warp's rays, one column per lane.
struct SlopeScratch {
  simt::WordPair slope[kdtree::SlopesInScratch::entries * 32];
};
using ScratchIntersection = kdtree::PlaneIntersection<kdtree::SlopesInScratch>;

HEAPWOOD_INLINE ScratchIntersection
make_intersection(const kdtree::Ray& ray, SlopeScratch& scratch, unsigned lane,
                  const kdtree::TreeView<ScratchIntersection>& tree) {
  return ScratchIntersection(ray, tree.slack, kdtree::SlopesInScratch(scratch.slope + lane));
}
template <class Intersection>
HEAPWOOD_INLINE Intersection make_intersection(const kdtree::Ray& ray, SlopeScratch&, unsigned,
                                               const kdtree::TreeView<Intersection>& tree) {
  return Intersection(ray, tree.slack);
}

// Traces rays from a buffer: closest hits, or with Any whether there is a hit (then only
// Hit::triangle is set, to 0, for a ray that hits). Adjacent rays should be coherent. On a GPU each
// lane traces one ray, so the launch needs one warp per 32 rays: state that lives across rays would
// not fit the registers. The abort flag is not polled there, since every ray ends soon.
template <class Intersection, bool Any>
struct TraceKernel {
  using Scratch = SlopeScratch;
  // Full occupancy, with 32 registers per thread, if the slopes are in Scratch. Blocks are small,
  // because a block is replaced only when the last of its rays has ended.
  static constexpr unsigned block_threads = 64;
  static constexpr unsigned blocks_per_multiprocessor = Intersection::conservative ? 24 : 32;
  // A lane prefetches into L2 the ray that is this far after its own: half of those in flight on an
  // H200.
  static constexpr std::size_t prefetch_distance = std::size_t{1} << 17;

  kdtree::TreeView<Intersection> tree;
  const kdtree::Ray* rays;
  kdtree::Hit* hits;
  std::size_t count;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch& scratch) const {
    const std::size_t first = std::size_t{warp.worker()} * Warp::width + warp.lane();
    if constexpr (Warp::width == 1) {
      std::uint32_t turn = 0;
      for (std::size_t i = first; i < count; i += warp.workers()) {
        if ((++turn & 255u) == 0 && warp.aborted()) return;
        trace(i, scratch, warp.lane());
      }
    } else if (first < count) {
      trace(first, scratch, warp.lane());
    }
  }

 private:
  HEAPWOOD_INLINE void trace(std::size_t i, Scratch& scratch, unsigned lane) const {
    // Each ray is loaded by two loads of four words.
    const kdtree::Row* const words = reinterpret_cast<const kdtree::Row*>(rays + i);
    const kdtree::Row from = simt::load_streaming(words), along = simt::load_streaming(words + 1);
    if (i + prefetch_distance < count) simt::prefetch(rays + i + prefetch_distance);
    const kdtree::Ray ray{{from.x, from.y, from.z}, from.w, {along.x, along.y, along.z}, along.w};
    const Intersection test = make_intersection(ray, scratch, lane, tree);
    kdtree::NoCounters none;
    kdtree::Hit hit = kdtree::trace<Any>(tree, test, ray, none, [words] {
      const kdtree::Row origin = simt::load_constant(words),
                        direction = simt::load_constant(words + 1);
      return kdtree::Ray{{origin.x, origin.y, origin.z},
                         origin.w,
                         {direction.x, direction.y, direction.z},
                         direction.w};
    });
    if constexpr (Any) hit.triangle = hit.found() ? 0 : kdtree::no_triangle;
    *reinterpret_cast<kdtree::Row*>(hits + i) = {hit.t, hit.u, hit.v,
                                                 simt::from_bits(hit.triangle)};
  }
};

// Closest hits of rays from a buffer on CPU threads (kdtree/traverse/simd_rays.hpp).
template <class Intersection>
struct SerialTraceKernel {
  struct Scratch {};

  kdtree::TreeView<Intersection> tree;
  const kdtree::Ray* rays;
  kdtree::Hit* hits;
  std::size_t count;

  template <class Warp>
  void operator()(Warp& warp, Scratch&) const {
    kdtree::for_ray_blocks(warp, count, [&](std::size_t first, std::size_t number) {
      kdtree::closest_hits(tree, rays + first, hits + first, number);
    });
  }
};
template <class Intersection>
SerialTraceKernel(const kdtree::TreeView<Intersection>&, const kdtree::Ray*, kdtree::Hit*,
                  std::size_t) -> SerialTraceKernel<Intersection>;

// Sums the traversal steps of closest hits over all rays.
template <class Intersection>
struct CountKernel {
  struct Scratch {};
  static constexpr unsigned block_threads = 128;
  static constexpr unsigned blocks_per_multiprocessor = 8;

  kdtree::TreeView<Intersection> tree;
  const kdtree::Ray* rays;
  std::size_t count;
  StepSums* sums;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::size_t stride = std::size_t{warp.workers()} * Warp::width;
    StepSums mine;
    for (std::size_t i = std::size_t{warp.worker()} * Warp::width + warp.lane(); i < count;
         i += stride) {
      if (warp.aborted()) return;
      kdtree::Counters cost;
      kdtree::closest_hit(tree, rays[i], cost);
      mine.inner += cost.inner_steps;
      mine.leaves += cost.leaves;
      mine.tests += cost.tests;
    }
    // relaxed: the host reads the sums after the launch.
    simt::atomic_ref<std::uint64_t>(sums->inner).fetch_add(mine.inner, simt::relaxed);
    simt::atomic_ref<std::uint64_t>(sums->leaves).fetch_add(mine.leaves, simt::relaxed);
    simt::atomic_ref<std::uint64_t>(sums->tests).fetch_add(mine.tests, simt::relaxed);
  }
};

}  // namespace heapwood::render
