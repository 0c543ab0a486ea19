// SPDX-License-Identifier: MIT
// The kernels of ray queries, for every launcher of simt/. They read rays from the caller's arrays
// and write results to them. In between, a ray is in registers on a GPU, and a block of rays is in
// the cache of a CPU thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kdtree/traverse/traverse.hpp"
#include "python/core/ray_arrays.hpp"
#include "render/kernel.hpp"
#include "simt/arithmetic.hpp"
#include "simt/atomic_ref.hpp"

namespace heapwood::python {

// All hits of a ray, in the order of distance and, at the same distance, of triangle. A triangle
// that lies in several leaves counts once: its copies give bit-identical distances.
//
// A search for the next hits is the tree's closest-hit traversal (kdtree/traverse/traverse.hpp)
// with a test that rejects all earlier hits. It has to be the watertight test, with which the
// traversal visits every leaf that the ray touches.
using WatertightTree = kdtree::TreeView<kdtree::WatertightIntersection>;

// A position in the order of a ray's hits.
struct HitPosition {
  float t = -1;  // negative: before all hits
  std::uint32_t triangle = 0;

  HEAPWOOD_INLINE bool operator<(const HitPosition& other) const {
    return t < other.t || (t == other.t && triangle < other.triangle);
  }
};

// The parameters of the search for a ray's hits.
struct HitSearch {
  float scene_length = 0;  // diagonal of the scene's box
  bool unique = false;     // of hits at one distance only the first counts

  // The scene's length in units of the ray's direction.
  HEAPWOOD_INLINE float length(const kdtree::Ray& ray) const {
    const Vec3 d = ray.direction;
    return scene_length / simt::max(simt::max(std::fabs(d.x), std::fabs(d.y)), std::fabs(d.z));
  }
  // The position at which the search for the hit after this one begins.
  HEAPWOOD_INLINE HitPosition end_of(const HitPosition& hit, float length) const {
    if (!unique) return hit;
    return {hit.t + simt::max(hit.t * 0x1p-21f, length * 0x1p-20f), kdtree::no_triangle};
  }
};

// Max error of distances (those of long thin triangles) as a fraction of the distance and of the
// scene's length. The leaves of the traversal overlap by less, so a search begins that much before
// the last hit and ends that much beyond the next one.
inline constexpr float max_error = 0x1p-13f;

// For GPUs: finds the next hit in each search, which needs no memory per ray.
class NextHitTest : public kdtree::WatertightIntersection {
 public:
  // Rejects hits up to and including `after`.
  HEAPWOOD_INLINE NextHitTest(const WatertightTree& tree, const kdtree::Ray& ray,
                              const HitPosition& after, float slack)
      : WatertightIntersection(ray),
        records_(tree.records),
        ids_(tree.ids),
        after_(after),
        slack_(slack) {}

  HEAPWOOD_INLINE bool test(const Record* record, const kdtree::Ray& ray, float lower, float upper,
                            float& t) const {
    float h;
    // Includes hits at the bound itself: of hits at one distance the triangle decides.
    if (!WatertightIntersection::test(record, ray, lower, HUGE_VALF, h)) return false;
    if (!(h <= upper && h < ray.tmax)) return false;
    const HitPosition hit{h, ids_[record - records_]};
    if (!(after_ < hit && hit < best_)) return false;
    best_ = hit;
    t = h + (h * max_error + slack_);
    return true;
  }
  HEAPWOOD_INLINE HitPosition best() const { return best_; }

 private:
  const Record* records_;
  const std::uint32_t* ids_;
  HitPosition after_;
  float slack_;
  // The nearest hit found so far. Mutable, because a traversal takes its test by const reference.
  mutable HitPosition best_{HUGE_VALF, kdtree::no_triangle};
};

// For CPU threads: collects the hits of one search, the nearest `capacity` of them.
class HitCollector : public kdtree::WatertightIntersection {
 public:
  struct Entry {  // no initial values, because most entries are never used
    float t;
    std::uint32_t triangle;
    const Record* record;

    HitPosition position() const { return {t, triangle}; }
  };

  HitCollector(const WatertightTree& tree, const kdtree::Ray& ray, const HitPosition& after)
      : WatertightIntersection(ray), records_(tree.records), ids_(tree.ids), after_(after) {}

  // Returns false, so that the search continues to the end of the ray.
  bool test(const Record* record, const kdtree::Ray& ray, float lower, float, float&) const {
    float h;
    if (!WatertightIntersection::test(record, ray, lower, ray.tmax, h)) return false;
    const HitPosition hit{h, ids_[record - records_]};
    if (!(after_ < hit && hit < end_)) return false;
    if (size_ == capacity) drop_far_half();
    if (hit < end_) entries_[size_++] = {h, hit.triangle, record};
    return false;
  }

  // Sorts the hits and returns them; to be called after the search.
  std::span<const Entry> sorted() {
    sort();
    return {entries_, size_};
  }
  bool is_complete() const { return end_.t == HUGE_VALF; }

 private:
  static constexpr std::size_t capacity = 256;

  void sort() const {
    const auto before = [](const Entry& a, const Entry& b) { return a.position() < b.position(); };
    const auto same = [](const Entry& a, const Entry& b) { return !(a.position() < b.position()); };
    std::sort(entries_, entries_ + size_, before);
    size_ = static_cast<std::size_t>(std::unique(entries_, entries_ + size_, same) - entries_);
  }
  void drop_far_half() const {
    sort();
    if (size_ <= capacity / 2) return;
    size_ = capacity / 2;
    end_ = entries_[size_].position();
  }

  const Record* records_;
  const std::uint32_t* ids_;
  HitPosition after_;
  // Mutable, because a traversal takes its test (this object) by const reference.
  mutable HitPosition end_{HUGE_VALF, 0};
  mutable std::size_t size_ = 0;
  mutable Entry entries_[capacity];
};

// Calls visit(hit) for each hit in order, until it returns false.
template <bool on_gpu, class Visit>
HEAPWOOD_INLINE void for_each_hit(const WatertightTree& tree, kdtree::Ray ray,
                                  const HitSearch& search, Visit visit) {
  const float tmin = ray.tmin, length = search.length(ray), slack = length * max_error;
  HitPosition after;
  kdtree::NoCounters none;
  for (;;) {
    if constexpr (on_gpu) {
      const NextHitTest test(tree, ray, after, slack);
      kdtree::Hit hit = kdtree::closest_hit(tree, test, ray, none);
      hit.t = test.best().t;
      if (!hit.found() || !visit(hit)) return;
      after = search.end_of({hit.t, hit.triangle}, length);
    } else {
      HitCollector collector(tree, ray, after);
      float t;
      kdtree::detail::traverse<false>(tree, collector, ray, t, none);
      for (const HitCollector::Entry& entry : collector.sorted()) {
        if (!(after < entry.position())) continue;
        kdtree::Hit hit{entry.t, 0, 0, entry.triangle};
        collector.coordinates(entry.record, ray, hit.t, hit.u, hit.v);
        if (!visit(hit)) return;
        after = search.end_of(entry.position(), length);
      }
      if (collector.is_complete()) return;
    }
    ray.tmin = simt::max(after.t - (after.t * max_error + slack), tmin);
  }
}

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

// What kernels that visit all hits of each ray have in common.
struct AllHits {
  struct Scratch {};
  static constexpr unsigned block_threads = 128;
  static constexpr unsigned blocks_per_multiprocessor = 8;

  WatertightTree tree;
  QueryRays in;
  HitSearch search;
};

// Counts the hits of each ray.
struct CountKernel : AllHits {
  std::uint32_t* counts;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    for_rays(warp, in.count, [&](std::uint32_t i) {
      std::uint32_t count = 0;
      for_each_hit<(Warp::width > 1)>(tree, in.ray(i).ray, search, [&](const kdtree::Hit&) {
        ++count;
        return (count & 255u) != 0 || !warp.aborted();
      });
      counts[i] = count;
    });
  }
};

// Lists all hits of each ray. The entries of ray i begin at splits[i], as counted by CountKernel.
struct ListKernel : AllHits {
  const std::int64_t* splits;  // one more than there are rays
  std::uint32_t first_ray;     // the number of ray 0 in the caller's arrays
  ListArrays out;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    for_rays(warp, in.count, [&](std::uint32_t i) {
      std::int64_t entry = splits[i];
      const std::int64_t end = splits[i + 1];
      if (entry == end) return;
      const QueryRay from = in.ray(i);
      for_each_hit<(Warp::width > 1)>(tree, from.ray, search, [&](const kdtree::Hit& hit) {
        out.ray[entry] = first_ray + i;
        out.t[entry] = from.distance(hit.t);
        out.triangle[entry] = hit.triangle;
        out.uv[2 * entry] = hit.u;
        out.uv[2 * entry + 1] = hit.v;
        return ++entry < end;
      });
    });
  }
};

// Computes the unit normals of all triangles; run by a launcher's for_each.
struct FillNormals {
  const Vec3* vertices;
  const Triangle* triangles;
  kdtree::Row* normals;
  HEAPWOOD_FN void operator()(std::size_t i) const {
    const Vec3 n = unit_normal(vertices, triangles[i]);
    normals[i] = {n.x, n.y, n.z, 0};
  }
};

// What LoadTriangles finds out. Coordinates are keys whose order is that of their values.
struct MeshCheck {
  // For each axis the key of the largest coordinate, and that of the largest negated one; 0: none.
  std::uint64_t largest[2][3] = {};
  std::uint64_t invalid = 0;

  double hi(unsigned axis) const { return value(largest[0][axis]); }
  double lo(unsigned axis) const { return -value(largest[1][axis]); }

  static HEAPWOOD_INLINE std::uint64_t key(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    return bits ^ ((bits >> 63) != 0 ? ~std::uint64_t{0} : sign);
  }
  static double value(std::uint64_t key) {
    return std::bit_cast<double>(key ^ ((key & sign) != 0 ? sign : ~std::uint64_t{0}));
  }
  static constexpr std::uint64_t sign = std::uint64_t{1} << 63;
};

// Reads the caller's triangles; run by a launcher's for_each.
struct LoadTriangles {
  IndexRows from;
  Rows vertices;
  std::uint64_t vertex_count;
  Triangle* to;
  MeshCheck* check;

  HEAPWOOD_FN void operator()(std::size_t i) const {
    constexpr double max_float = std::numeric_limits<float>::max();
    std::uint64_t v[3];
    for (unsigned k = 0; k < 3; ++k) {
      v[k] = from.at(i, k);
      if (v[k] >= vertex_count) return reject();
      to[i].v[k] = static_cast<std::uint32_t>(v[k]);
    }
    for (unsigned axis = 0; axis < 3; ++axis) {
      double lo = max_float, hi = -max_float;
      for (unsigned k = 0; k < 3; ++k) {
        const double x = vertices.at(v[k], axis);
        if (!(x >= -max_float && x <= max_float)) return reject();
        lo = x < lo ? x : lo;
        hi = x > hi ? x : hi;
      }
      raise(check->largest[0][axis], MeshCheck::key(hi));
      raise(check->largest[1][axis], MeshCheck::key(-lo));
    }
  }

 private:
  using Word = simt::atomic_ref<std::uint64_t>;
  // relaxed: the host reads the words after the launch.
  HEAPWOOD_FN void reject() const { Word(check->invalid).store(1, simt::relaxed); }
  HEAPWOOD_FN static void raise(std::uint64_t& word, std::uint64_t key) {
    Word largest(word);
    std::uint64_t before = largest.load(simt::relaxed);
    while (key > before &&
           !largest.compare_exchange_weak(before, key, simt::relaxed, simt::relaxed)) {
    }
  }
};

// Reads the caller's vertices; run by a launcher's for_each. first_invalid becomes the index of the
// first one that is not finite in single precision.
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
