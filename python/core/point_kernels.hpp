// SPDX-License-Identifier: MIT
// The kernels of queries with points, for every launcher of simt/. A point is the origin of a
// "ray" without a direction, and its t_max is the max distance.
#pragma once

#include "kdtree/traverse/closest_packet.hpp"
#include "python/core/all_hits.hpp"

namespace heapwood::python {

// Finds the closest point of the mesh to each point.
struct ClosestKernel {
  struct Scratch {};
  static constexpr unsigned block_threads = 128;
  static constexpr unsigned blocks_per_multiprocessor = 6;

  kdtree::PointTree tree;
  RayArrays in;
  std::size_t count;
  HitArrays out;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    [[maybe_unused]] std::uint32_t last = kdtree::no_triangle;
    for_rays(warp, count, [&](std::uint32_t i) {
      const Vec3d point = in.origin(i);
      kdtree::ClosestPoint closest;
      const float limit = in.t_max.at(i);
      if (is_valid(point) && limit > 0) {
        kdtree::ClosestPointSearch search(tree, point, limit);
        // A CPU thread's next point is often close to the same triangle.
        if constexpr (Warp::width == 1) {
          if (last != kdtree::no_triangle) search.test(last);
        }
        closest = search.find();
        last = closest.triangle;
      }
      put(i, closest);
    });
  }

 protected:
  static HEAPWOOD_INLINE bool is_valid(Vec3d p) {
    constexpr double max_float = std::numeric_limits<float>::max();
    return std::fabs(p.x) <= max_float && std::fabs(p.y) <= max_float &&
           std::fabs(p.z) <= max_float;
  }
  HEAPWOOD_INLINE void put(std::size_t i, const kdtree::ClosestPoint& closest) const {
    out.put(i, {static_cast<float>(std::sqrt(closest.square)), static_cast<float>(closest.u),
                static_cast<float>(closest.v), closest.triangle});
    if (out.point.data == nullptr) return;
    Vec3d p{NAN, NAN, NAN};
    if (closest.found()) {
      const Triangle t = tree.triangles[closest.triangle];
      p = in.mesh_origin + to_double(tree.vertices[t.v[0]]) * (1 - closest.u - closest.v) +
          to_double(tree.vertices[t.v[1]]) * closest.u +
          to_double(tree.vertices[t.v[2]]) * closest.v;
    }
    out.point.set(i, p);
  }
};

// The key of point i: in the upper bits its position on a Z-order curve (Morton), in the lower i.
// Sorted by their keys, points close to each other are adjacent.
struct PointKeys {
  static constexpr unsigned index_bits = 22, axis_bits = 14;

  RayArrays points;
  std::uint64_t* keys;

  HEAPWOOD_FN void operator()(std::size_t i) const {
    // The curve fills a cube of twice the mesh's size, and points outside are moved into it.
    constexpr float half = 1u << (axis_bits - 1), max_cell = 2 * half - 1;
    const Vec3 extent = points.bounds.extent(), point = to_float(points.origin(i));
    const float scale = half / simt::max(simt::max(extent.x, extent.y), extent.z);
    const Vec3 at = (point - points.bounds.centre()) * scale + Vec3{half, half, half};
    const Vec3 cell = min(max(at, {0, 0, 0}), {max_cell, max_cell, max_cell});
    std::uint64_t key = 0;
    for (unsigned k = 3 * axis_bits; k-- > 0;)
      key = key << 1 | (static_cast<std::uint32_t>(cell[k % 3]) >> k / 3 & 1);
    keys[i] = key << index_bits | i;
  }
};

// ClosestKernel for GPUs, whose warps search together.
struct ClosestPacketKernel : ClosestKernel {
  static constexpr unsigned blocks_per_multiprocessor = 8;

  const std::uint64_t* keys;  // of the points, sorted

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::size_t k = std::size_t{warp.worker()} * Warp::width + warp.lane();
    const std::size_t i = keys[k < count ? k : 0] % (1u << PointKeys::index_bits);
    const Vec3d point = in.origin(i);
    const float limit = in.t_max.at(i);
    kdtree::ClosestPointSearch exact(tree, point, limit);
    const bool active = k < count && is_valid(point) && limit > 0;
    const kdtree::ClosestPoint closest = kdtree::ClosestPacketSearch::find(warp, exact, active);
    if (k < count) put(i, closest);
  }
};

// Finds which points are inside the mesh, by the parity of the hits of two opposite rays. If they
// disagree, because one meets an edge or the mesh has a hole, rays in other directions are traced.
struct InsideKernel : AllHits {
  HitArrays out;  // `any`, or the distances `t`, which become negative inside

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    for_rays(warp, in.count, [&](std::uint32_t i) {
      const bool inside = is_inside<(Warp::width > 1)>(to_float(in.rays.origin(i)));
      if (out.any != nullptr) out.any[i] = inside ? 1 : 0;
      if (out.t != nullptr && inside) out.t[i] = -out.t[i];
    });
  }

 private:
  template <bool gpu>
  HEAPWOOD_INLINE bool is_inside(Vec3 point) const {
    if (!tree.bounds.contains(point)) return false;
    // Directions that are hardly ever those of edges and planes.
    constexpr Vec3 along[] = {
        {0.5377f, 0.3188f, 0.7805f}, {-0.4336f, 0.8622f, 0.2615f}, {0.7269f, -0.2050f, -0.6554f}};
    constexpr float infinite = std::numeric_limits<float>::max();
    unsigned odd = 0;
    HEAPWOOD_ROLLED
    for (unsigned k = 0; k < 6; ++k) {
      const Vec3 direction = k % 2 == 0 ? along[k / 2] : -along[k / 2];
      unsigned hits = 0;
      for_each_hit<gpu, false>(tree, {point, 0, direction, infinite}, search,
                               [&](const kdtree::Hit&) { return ++hits, true; });
      odd += hits % 2;
      if (k % 2 == 1 && odd != (k + 1) / 2) return odd > k / 2;
    }
    return false;
  }
};

}  // namespace heapwood::python
