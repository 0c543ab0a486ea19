// SPDX-License-Identifier: MIT
// The kernels of closest hits, and those that load a mesh, for every launcher of simt/. They read
// the caller's arrays and write results to them. In between, a ray is in registers on a GPU, and a
// block of rays is in the cache of a CPU thread.
#pragma once

#include <algorithm>
#include <bit>
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

// Lowers `first` to i.
HEAPWOOD_FN inline void note_first(std::uint64_t& first, std::uint64_t i) {
  simt::atomic_ref<std::uint64_t> lowest(first);
  // relaxed: the host reads the word after the launch.
  std::uint64_t before = lowest.load(simt::relaxed);
  while (i < before && !lowest.compare_exchange_weak(before, i, simt::relaxed, simt::relaxed)) {
  }
}

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

// A scene of a query with a RayFilter.
template <class Intersection>
struct FilteredScene {
  kdtree::TreeView<Intersection> tree;
  Vec3d mesh_origin;
  const kdtree::Row* normals;  // see HitArrays
  const std::uint32_t* masks;  // of the triangles; nullptr: all bits
};

// Accepts the hits on one side of the triangles (RayFilter) whose masks have a bit of the ray's.
template <class Intersection>
struct FilterTest : Intersection {
  using Record = typename Intersection::Record;

  const FilteredScene<Intersection>& scene;
  std::uint32_t mask;
  int side;

  HEAPWOOD_INLINE bool test(const Record* record, const kdtree::Ray& ray, float lower, float upper,
                            float& t) const {
    float h;
    if (!Intersection::test(record, ray, lower, upper, h) || !accepts(record, ray, h)) return false;
    t = h;
    return true;
  }
  HEAPWOOD_INLINE bool accepts(const Record* record, const kdtree::Ray& ray, float) const {
    const std::uint32_t triangle = scene.tree.ids[record - scene.tree.records];
    if (scene.masks != nullptr && (scene.masks[triangle] & mask) == 0) return false;
    if (side == 0) return true;
    const Vec3d n = normal_of(scene.tree.vertices, scene.tree.triangles[triangle]);
    const Vec3 d = ray.direction;
    return side * (n.x * d.x + n.y * d.y + n.z * d.z) < 0;
  }
};

// The closest hit of a ray or, with Any, whether there is a hit.
template <bool Any, bool FromFar = false, class Intersection, class Test>
HEAPWOOD_INLINE kdtree::Hit hit_of(const kdtree::TreeView<Intersection>& tree, const Test& test,
                                   const QueryRay& from) {
  kdtree::Hit hit;
  if constexpr (Any) {
    if (kdtree::any_hit<FromFar>(tree, test, from.ray)) hit.triangle = 0;
  } else {
    kdtree::NoCounters none;
    hit = kdtree::closest_hit(tree, test, from.ray, none);
    hit.t = from.distance(hit.t);
  }
  return hit;
}

// Counts the leaves that a search for any hit visits with near children first, and with far ones.
struct OrderTrial {
  static constexpr std::size_t rays = 1024;  // from all parts of the array

  kdtree::TreeView<kdtree::FastIntersection> tree;
  QueryRays in;
  std::uint32_t* leaves;  // 2

  HEAPWOOD_FN void operator()(std::size_t i) const {
    const bool from_far = i >= rays;
    const kdtree::Ray ray = in.ray(i % rays * (in.count / rays)).ray;
    const kdtree::FastIntersection test(ray, tree.slack);
    kdtree::Counters count;
    if (from_far)
      kdtree::any_hit<true>(tree, test, ray, count);
    else
      kdtree::any_hit(tree, test, ray, count);
    // relaxed: the host reads the sums after the launch.
    simt::atomic_ref<std::uint32_t>(leaves[from_far ? 1 : 0])
        .fetch_add(count.leaves, simt::relaxed);
  }
};

// Finds the hit of each ray.
template <class Intersection, bool Any, bool FromFar = false>
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
      const Intersection test = render::make_intersection(from.ray, scratch, warp.lane(), tree);
      out.put(i, hit_of<Any, FromFar>(tree, test, from));
    });
  }
};

// Finds the hit of each ray in its own scene, among the triangles that the filter accepts. A ray
// whose scene does not exist has none.
template <class Intersection, bool Any>
struct FilterKernel {
  using Scratch = render::SlopeScratch;
  static constexpr unsigned block_threads = 64;
  static constexpr unsigned blocks_per_multiprocessor = 20;  // a scene's pointers take registers

  const FilteredScene<Intersection>* scenes;
  std::uint32_t scene_count;
  RayArrays rays;
  std::size_t count;
  RayFilter filter;
  std::uint64_t* first_invalid;  // becomes the index of the first ray without a scene
  HitArrays out;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch& scratch) const {
    for_rays(warp, count, [&](std::uint32_t i) {
      const std::uint32_t number = filter.scene.at(i), mask = filter.mask.at(i);
      HitArrays to = out;
      kdtree::Hit hit;
      if (number >= scene_count) {
        note_first(*first_invalid, i);
      } else if (mask != 0) {
        const FilteredScene<Intersection>& scene = scenes[number];
        RayArrays in = rays;
        in.set_mesh(scene.mesh_origin, scene.tree.bounds);
        to.normals = scene.normals;
        const QueryRay from = in.moved(i, in.ray(i));
        const FilterTest<Intersection> test{
            render::make_intersection(from.ray, scratch, warp.lane(), scene.tree), scene, mask,
            filter.side};
        hit = hit_of<Any>(scene.tree, test, from);
      }
      to.put(i, hit);
    });
  }
};

// A block of the caller's rays, as a CPU thread traces them in packets (traverse/simd_rays.hpp).
struct RayBlock {
  std::vector<kdtree::Ray> rays;
  std::vector<double> moved;  // see QueryRay
};

// Calls f(begin) for blocks of rays from `begin` on.
template <class Warp, class F>
void for_blocks(Warp& warp, const QueryRays& in, RayBlock& block, F f) {
  kdtree::for_ray_blocks(warp, in.count, [&](std::size_t begin, std::size_t size) {
    block.rays.resize(size);
    block.moved.resize(size);
    for (std::size_t k = 0; k < size; ++k) {
      const QueryRay ray = in.ray(begin + k);
      block.rays[k] = ray.ray;
      block.moved[k] = ray.moved;
    }
    f(begin);
  });
}

// Finds closest hits, or whether there is a hit, on CPU threads.
template <class Intersection>
struct PacketKernel {
  struct Scratch {
    RayBlock block;
    std::vector<kdtree::Hit> hits;
  };

  kdtree::TreeView<Intersection> tree;
  QueryRays in;
  HitArrays out;

  template <class Warp>
  void operator()(Warp& warp, Scratch& scratch) const {
    const std::vector<kdtree::Ray>& rays = scratch.block.rays;
    for_blocks(warp, in, scratch.block, [&](std::size_t begin) {
      if (out.any != nullptr)
        return kdtree::any_hits(tree, rays.data(), out.any + begin, rays.size(), true);
      scratch.hits.resize(rays.size());
      kdtree::closest_hits(tree, rays.data(), scratch.hits.data(), rays.size());
      for (std::size_t k = 0; k < rays.size(); ++k) {
        kdtree::Hit& hit = scratch.hits[k];
        hit.t = QueryRay{{}, scratch.block.moved[k]}.distance(hit.t);
        out.put(begin + k, hit);
      }
    });
  }
};

// Computes the unit normals of all triangles; 0 without area.
struct FillNormals {
  const Vec3* vertices;
  const Triangle* triangles;
  kdtree::Row* normals;
  HEAPWOOD_FN void operator()(std::size_t i) const {
    const Vec3d n = normal_of(vertices, triangles[i]);
    const double square = n.x * n.x + n.y * n.y + n.z * n.z;
    const Vec3 unit = to_float(n * (square > 0 ? 1 / std::sqrt(square) : 0));
    normals[i] = {unit.x, unit.y, unit.z, 0};
  }
};

// What LoadTriangles finds out. Coordinates are keys whose order is that of their values.
struct MeshCheck {
  static constexpr std::size_t count = 128;  // several, so that threads seldom meet at one

  // For each axis the key of the largest coordinate, and that of the largest negated one; 0: none.
  std::uint64_t largest[2][3] = {};
  std::uint64_t invalid = 0;

  double hi(unsigned axis) const { return value(largest[0][axis]); }
  double lo(unsigned axis) const { return -value(largest[1][axis]); }

  void add(const MeshCheck& other) {
    for (unsigned side = 0; side < 2; ++side) {
      for (unsigned axis = 0; axis < 3; ++axis)
        largest[side][axis] = std::max(largest[side][axis], other.largest[side][axis]);
    }
    invalid |= other.invalid;
  }

  static HEAPWOOD_INLINE std::uint64_t key(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    return bits ^ ((bits >> 63) != 0 ? ~std::uint64_t{0} : sign);
  }
  static double value(std::uint64_t key) {
    return std::bit_cast<double>(key ^ ((key & sign) != 0 ? sign : ~std::uint64_t{0}));
  }
  static constexpr std::uint64_t sign = std::uint64_t{1} << 63;
};

// Reads the caller's triangles; finds the bounds of their vertices, placed by the poses. Each of
// `threads` calls reads every `threads`-th triangle.
struct LoadTriangles {
  IndexRows from;
  Rows vertices;
  Poses poses;
  std::uint64_t vertex_count;
  Triangle* to;
  std::size_t count, threads;
  MeshCheck* checks;

  HEAPWOOD_FN void operator()(std::size_t first) const {
    MeshCheck& check = checks[first % MeshCheck::count];
    double lo[3] = {max_float, max_float, max_float}, hi[3] = {-max_float, -max_float, -max_float};
    for (std::size_t i = first; i < count; i += threads) {
      // relaxed, here and below: the host reads the words after the launch.
      if (!load(i, lo, hi)) return Word(check.invalid).store(1, simt::relaxed);
    }
    for (unsigned axis = 0; axis < 3; ++axis) {
      raise(check.largest[0][axis], MeshCheck::key(hi[axis]));
      raise(check.largest[1][axis], MeshCheck::key(-lo[axis]));
    }
  }

 private:
  static constexpr double max_float = std::numeric_limits<float>::max();
  using Word = simt::atomic_ref<std::uint64_t>;

  // False: an index or a vertex is not valid.
  HEAPWOOD_FN bool load(std::size_t i, double (&lo)[3], double (&hi)[3]) const {
    for (unsigned k = 0; k < 3; ++k) {
      const std::uint64_t v = from.at(i, k);
      if (v >= vertex_count) return false;
      to[i].v[k] = static_cast<std::uint32_t>(v);
      const Vec3d at = poses.placed(v, vertices.point(v));
      const double p[3] = {at.x, at.y, at.z};
      for (unsigned axis = 0; axis < 3; ++axis) {
        const double x = p[axis];
        if (!(x >= -max_float && x <= max_float)) return false;
        lo[axis] = x < lo[axis] ? x : lo[axis];
        hi[axis] = x > hi[axis] ? x : hi[axis];
      }
    }
    return true;
  }
  HEAPWOOD_FN static void raise(std::uint64_t& word, std::uint64_t key) {
    Word largest(word);
    std::uint64_t before = largest.load(simt::relaxed);
    while (key > before &&
           !largest.compare_exchange_weak(before, key, simt::relaxed, simt::relaxed)) {
    }
  }
};

// Reads the caller's vertices. first_invalid becomes the index of the first one that is not finite
// in single precision.
struct LoadVertices {
  Rows from;
  Poses poses;
  Vec3d mesh_origin;
  Vec3* to;
  std::uint64_t* first_invalid;

  HEAPWOOD_FN void operator()(std::size_t i) const {
    const Vec3 v = to_float(poses.placed(i, from.point(i)) - mesh_origin);
    to[i] = v;
    if ((v.x * 0.0f + v.y * 0.0f) + v.z * 0.0f != 0) note_first(*first_invalid, i);
  }
};

}  // namespace heapwood::python
