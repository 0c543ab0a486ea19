// SPDX-License-Identifier: MIT
// The kernels of ray queries, for every launcher of simt/. They read rays from the caller's arrays
// and write results to them: between, a ray is in registers on a GPU, and a block of rays in
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
#include "simt/atomic_ref.hpp"

namespace heapwood::python {

// All hits of a ray, one search per hit: each finds the next one in the order of distance and, at
// the same distance, of triangle. So no memory per ray is needed, hits come sorted, and a triangle
// that lies in several leaves counts once: its copies give the same distance bit by bit.
//
// The search is the tree's closest-hit traversal (kdtree/traverse/traverse.hpp) with a test that
// rejects what came before. It has to be the watertight test: only with that one does the traversal
// visit every leaf that may hold a hit at the distance found so far.
using WatertightTree = kdtree::TreeView<kdtree::WatertightIntersection>;

class NextHitTest : public kdtree::WatertightIntersection {
 public:
  // Hits up to (after_t, after_triangle) are rejected; a negative after_t rejects none.
  HEAPWOOD_INLINE NextHitTest(const WatertightTree& tree, const kdtree::Ray& ray, float after_t,
                              std::uint32_t after_triangle)
      : WatertightIntersection(ray),
        records_(tree.records),
        ids_(tree.ids),
        after_t_(after_t),
        after_triangle_(after_triangle) {}

  HEAPWOOD_INLINE bool test(const Record* record, const kdtree::Ray& ray, float lower, float upper,
                            float& t) const {
    float h;
    // Includes the bound itself: the triangle decides between hits at one distance.
    if (!WatertightIntersection::test(record, ray, lower, HUGE_VALF, h)) return false;
    if (!(h <= upper && h < ray.tmax)) return false;
    const std::uint32_t triangle = ids_[record - records_];
    if (h < after_t_ || (h == after_t_ && triangle <= after_triangle_)) return false;
    if (h > best_t_ || (h == best_t_ && triangle >= best_triangle_)) return false;
    best_t_ = h;
    best_triangle_ = triangle;
    t = h;
    return true;
  }

 private:
  const Record* records_;
  const std::uint32_t* ids_;
  float after_t_;
  std::uint32_t after_triangle_;
  // The hit found so far. Mutable: a traversal has a constant test.
  mutable float best_t_ = HUGE_VALF;
  mutable std::uint32_t best_triangle_ = kdtree::no_triangle;
};

// Calls visit(hit) for each hit in order, until it returns false.
template <class Visit>
HEAPWOOD_INLINE void for_each_hit(const WatertightTree& tree, kdtree::Ray ray, Visit visit) {
  float after_t = -1;
  std::uint32_t after_triangle = 0;
  for (;;) {
    kdtree::NoCounters none;
    const kdtree::Hit hit =
        kdtree::closest_hit(tree, NextHitTest(tree, ray, after_t, after_triangle), ray, none);
    if (!hit.found() || !visit(hit)) return;
    ray.tmin = after_t = hit.t;
    after_triangle = hit.triangle;
  }
}

// The rays of a launch.
struct QueryRays {
  // As render::TraceKernel::prefetch_distance.
  static constexpr std::size_t prefetch_distance = std::size_t{1} << 17;

  RayArrays rays;
  std::size_t count = 0;             // fewer than 2^31
  const FloatPair* pairs = nullptr;  // the same rays, if they have this layout

  HEAPWOOD_INLINE kdtree::Ray ray(std::size_t i) const {
    if (pairs == nullptr) return rays.ray(i);
    const FloatPair* const at = pairs + 3 * i;
    const FloatPair a = simt::load_constant(at), b = simt::load_constant(at + 1),
                    c = simt::load_constant(at + 2);
    if (i + prefetch_distance < count) simt::prefetch(at + 3 * prefetch_distance);
    return rays.checked(i, Vec3{a.x, a.y, b.x} - to_float(rays.mesh_origin), {b.y, c.x, c.y});
  }
};

// Calls f(i) for the rays of this warp's lane: 32 bits, since a GPU's lane keeps the index in a
// register while it traces the ray. A CPU thread takes blocks of adjacent rays and ends
// within one block of an abort; on a GPU the launch has a lane per ray.
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

// Closest hits, or with Any whether there is a hit, one ray at a time.
template <class Intersection, bool Any>
struct CastKernel {
  using Scratch = render::SlopeScratch;
  // As render::TraceKernel, and for the same reasons.
  static constexpr unsigned block_threads = 64;
  static constexpr unsigned blocks_per_multiprocessor = Intersection::conservative ? 24 : 32;

  kdtree::TreeView<Intersection> tree;
  QueryRays in;
  HitArrays out;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch& scratch) const {
    for_rays(warp, in.count, [&](std::uint32_t i) {
      const kdtree::Ray ray = in.ray(i);
      const Intersection test = render::make_intersection(ray, scratch, warp.lane(), tree);
      kdtree::Hit hit;
      if constexpr (Any) {
        if (kdtree::any_hit(tree, test, ray)) hit.triangle = 0;
      } else {
        kdtree::NoCounters none;
        hit = kdtree::closest_hit(tree, test, ray, none);
      }
      out.template put<(Warp::width > 1)>(i, hit);
    });
  }
};

// Closest hits on CPU threads, in packets (kdtree/traverse/simd_rays.hpp); they also tell whether
// there is a hit.
struct PacketKernel {
  struct Scratch {
    std::vector<kdtree::Ray> rays;
    std::vector<kdtree::Hit> hits;
  };

  kdtree::TreeView<kdtree::FastIntersection> tree;
  QueryRays in;
  HitArrays out;

  template <class Warp>
  void operator()(Warp& warp, Scratch& scratch) const {
    // Long enough that closest_hits() finds neighbours, short enough that every thread gets
    // several blocks and that a block stays in the cache.
    constexpr std::size_t min_block = 4096, max_block = 16384;
    const std::size_t block = std::clamp(in.count / (4 * warp.workers()), min_block, max_block);
    for (std::size_t begin = warp.worker() * block; begin < in.count && !warp.aborted();
         begin += warp.workers() * block) {
      const std::size_t size = std::min(block, in.count - begin);
      scratch.rays.resize(size);
      scratch.hits.resize(size);
      for (std::size_t k = 0; k < size; ++k) scratch.rays[k] = in.ray(begin + k);
      kdtree::closest_hits(tree, scratch.rays.data(), scratch.hits.data(), size);
      for (std::size_t k = 0; k < size; ++k) out.put<false>(begin + k, scratch.hits[k]);
    }
  }
};

// The number of hits of each ray.
struct CountKernel {
  struct Scratch {};
  static constexpr unsigned block_threads = 128;
  static constexpr unsigned blocks_per_multiprocessor = 8;

  WatertightTree tree;
  QueryRays in;
  std::uint32_t* counts;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    for_rays(warp, in.count, [&](std::uint32_t i) {
      std::uint32_t count = 0;
      for_each_hit(tree, in.ray(i), [&](const kdtree::Hit&) {
        ++count;
        return (count & 255u) != 0 || !warp.aborted();
      });
      counts[i] = count;
    });
  }
};

// All hits of each ray. The entries of ray i begin at splits[i] and are as many as CountKernel has
// counted.
struct ListKernel {
  struct Scratch {};
  static constexpr unsigned block_threads = 128;
  static constexpr unsigned blocks_per_multiprocessor = 8;

  WatertightTree tree;
  QueryRays in;
  const std::int64_t* splits;  // one more than rays
  std::uint32_t first_ray;     // the number of ray 0 in the caller's arrays
  ListArrays out;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    for_rays(warp, in.count, [&](std::uint32_t i) {
      std::int64_t at = splits[i];
      const std::int64_t end = splits[i + 1];
      if (at == end) return;
      for_each_hit(tree, in.ray(i), [&](const kdtree::Hit& hit) {
        out.ray[at] = first_ray + i;
        out.t[at] = hit.t;
        out.triangle[at] = hit.triangle;
        out.uv[2 * at] = hit.u;
        out.uv[2 * at + 1] = hit.v;
        return ++at < end;
      });
    });
  }
};

// The unit normals of all triangles, for a launcher's for_each.
struct FillNormals {
  const Vec3* vertices;
  const Triangle* triangles;
  kdtree::Row* normals;
  HEAPWOOD_FN void operator()(std::size_t i) const {
    const Vec3 n = unit_normal(vertices, triangles[i]);
    normals[i] = {n.x, n.y, n.z, 0};
  }
};

// Reads the caller's vertices, for a launcher's for_each. The first one that is not finite, or not
// in single precision, is named in `first_invalid`.
struct LoadVertices {
  Rows from;
  Vec3d mesh_origin;
  Vec3* to;
  std::uint64_t* first_invalid;

  HEAPWOOD_FN void operator()(std::size_t i) const {
    const Vec3 v{static_cast<float>(from.at(i, 0) - mesh_origin.x),
                 static_cast<float>(from.at(i, 1) - mesh_origin.y),
                 static_cast<float>(from.at(i, 2) - mesh_origin.z)};
    to[i] = v;
    if ((v.x * 0.0f + v.y * 0.0f) + v.z * 0.0f == 0) return;
    simt::atomic_ref<std::uint64_t> first(*first_invalid);
    // relaxed: the host reads the word after the launch.
    std::uint64_t before = first.load(simt::relaxed);
    while (i < before && !first.compare_exchange_weak(before, i, simt::relaxed, simt::relaxed)) {
    }
  }
};

}  // namespace heapwood::python
