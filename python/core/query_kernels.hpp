// SPDX-License-Identifier: MIT
// The kernels of ray queries, for every launcher of simt/. They read rays from the caller's arrays
// and write results to them. In between, a ray is in registers on a GPU, and a block of rays is in
// the cache of a CPU thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kdtree/traverse/traverse.hpp"
#include "python/core/ray_arrays.hpp"
#include "render/kernel.hpp"
#include "simt/arithmetic.hpp"

namespace heapwood::python {

// The rays of a launch.
struct QueryRays {
  // See render::TraceKernel::prefetch_distance.
  static constexpr std::size_t prefetch_distance = std::size_t{1} << 17;

  RayArrays rays;
  std::size_t count = 0;             // fewer than 2^31
  const FloatPair* pairs = nullptr;  // the same rays as pairs of floats, if they have that layout

  HEAPWOOD_INLINE QueryRay ray(std::size_t i) const { return rays.moved(i, unmoved(i)); }

 private:
  HEAPWOOD_INLINE kdtree::Ray unmoved(std::size_t i) const {
    if (pairs == nullptr) return rays.ray(i);
    const FloatPair* const first = pairs + 3 * i;
    const FloatPair a = simt::load_constant(first), b = simt::load_constant(first + 1),
                    c = simt::load_constant(first + 2);
    if (i + prefetch_distance < count) simt::prefetch(first + 3 * prefetch_distance);
    return rays.checked(i, Vec3{a.x, a.y, b.x} - to_float(rays.mesh_origin), {b.y, c.x, c.y});
  }
};

// Calls f(i) for the rays of this warp's lane. i has 32 bits, because a GPU's lane keeps it in a
// register while it traces the ray. A CPU thread takes blocks of adjacent rays, and ends within one
// block of an abort; on a GPU the launch has a lane per ray.
template <class Warp, class F>
HEAPWOOD_INLINE void for_rays(Warp& warp, std::size_t count, F f) {
  if constexpr (Warp::width == 1) {
    constexpr std::size_t block = 256;
    for (std::size_t begin = warp.worker() * block; begin < count && !warp.aborted();
         begin += warp.workers() * block) {
      const std::size_t end = begin + block < count ? begin + block : count;
      for (std::size_t i = begin; i < end; ++i) f(static_cast<std::uint32_t>(i));
    }
  } else {
    const std::size_t i = std::size_t{warp.worker()} * Warp::width + warp.lane();
    if (i < count) f(static_cast<std::uint32_t>(i));
  }
}

// Finds the closest hit of each ray or, with Any, whether there is a hit.
template <class Intersection, bool Any>
struct CastKernel {
  using Scratch = render::SlopeScratch;
  // The launch bounds of render::TraceKernel, for the reasons stated there.
  static constexpr unsigned block_threads = 64;
  static constexpr unsigned blocks_per_multiprocessor = Intersection::conservative ? 24 : 32;

  kdtree::TreeView<Intersection> tree;
  QueryRays in;
  HitArrays out;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch& scratch) const {
    for_rays(warp, in.count, [&](std::uint32_t i) {
      const QueryRay from = in.ray(i);
      const kdtree::Ray ray = from.ray;
      const Intersection test = render::make_intersection(ray, scratch, warp.lane(), tree);
      kdtree::Hit hit;
      if constexpr (Any) {
        if (kdtree::any_hit(tree, test, ray)) hit.triangle = 0;
      } else {
        kdtree::NoCounters none;
        hit = kdtree::closest_hit(tree, test, ray, none);
        hit.t = from.distance(hit.t);
      }
      out.template put<(Warp::width > 1)>(i, hit);
    });
  }
};

// Finds closest hits, or whether there is a hit, on CPU threads in packets
// (traverse/simd_rays.hpp).
struct PacketKernel {
  struct Scratch {
    std::vector<QueryRay> from;
    std::vector<kdtree::Ray> rays;
    std::vector<kdtree::Hit> hits;
  };

  kdtree::TreeView<kdtree::FastIntersection> tree;
  QueryRays in;
  HitArrays out;

  template <class Warp>
  void operator()(Warp& warp, Scratch& scratch) const {
    // Blocks are so long that closest_hits() finds neighbouring rays, and so short that every
    // thread gets several and that a block stays in the cache.
    constexpr std::size_t min_block = 4096, max_block = 16384;
    const std::size_t block = std::clamp(in.count / (4 * warp.workers()), min_block, max_block);
    for (std::size_t begin = warp.worker() * block; begin < in.count && !warp.aborted();
         begin += warp.workers() * block) {
      const std::size_t size = std::min(block, in.count - begin);
      scratch.from.resize(size);
      scratch.rays.resize(size);
      scratch.hits.resize(size);
      for (std::size_t k = 0; k < size; ++k) {
        scratch.from[k] = in.ray(begin + k);
        scratch.rays[k] = scratch.from[k].ray;
      }
      kdtree::closest_hits(tree, scratch.rays.data(), scratch.hits.data(), size);
      for (std::size_t k = 0; k < size; ++k) {
        scratch.hits[k].t = scratch.from[k].distance(scratch.hits[k].t);
        out.put<false>(begin + k, scratch.hits[k]);
      }
    }
  }
};

}  // namespace heapwood::python
