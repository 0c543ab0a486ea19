// SPDX-License-Identifier: MIT
// All hits of a ray, in the order of distance and, at the same distance, of triangle; and the
// kernels that count or list them. A triangle that lies in several leaves counts once: its copies
// give bit-identical distances.
//
// for_each_hit: one search of the tree collects the nearest hits, as many as fit into a small
// array; a ray with more hits is traced again, from the last of them. PacketHitsKernel: CPU threads
// collect all hits of eight rays in one search. The test is the watertight one, with which the
// traversal visits every leaf that the ray touches.
#pragma once

#include "python/core/queries.hpp"
#include "python/core/query_kernels.hpp"

namespace heapwood::python {

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
// the last hit, and ends that much beyond the farthest one that it needs.
inline constexpr float max_error = 0x1p-13f;

// Collects the nearest hits of a ray after a position, sorted: `capacity` of them. As a test of the
// tree's traversal it accepts a hit only to shorten the search, once the array is full.
template <unsigned capacity>
class HitCollector : public kdtree::WatertightIntersection {
 public:
  struct Entry {  // no initial values, because most entries are never used
    float t;
    std::uint32_t triangle;
    const Record* record;

    HEAPWOOD_INLINE HitPosition position() const { return {t, triangle}; }
  };

  HEAPWOOD_INLINE HitCollector(const WatertightTree& tree, const kdtree::Ray& ray,
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
    if (!(after_ < hit)) return false;
    unsigned index = size_;
    while (index > 0 && hit < entries_[index - 1].position()) --index;
    if (index > 0 && !(entries_[index - 1].position() < hit)) return false;  // a copy
    if (index == capacity) return false;
    if (size_ < capacity) ++size_;
    for (unsigned k = size_ - 1; k > index; --k) entries_[k] = entries_[k - 1];
    entries_[index] = {h, hit.triangle, record};
    if (size_ < capacity) return false;
    const float last = entries_[capacity - 1].t;
    const float end = last + (last * max_error + slack_);
    if (!(end < upper)) return false;
    t = end;
    return true;
  }

  HEAPWOOD_INLINE unsigned size() const { return size_; }
  HEAPWOOD_INLINE const Entry& operator[](unsigned k) const { return entries_[k]; }
  // Whether these are all hits after the position.
  HEAPWOOD_INLINE bool is_complete() const { return size_ < capacity; }

 private:
  const Record* records_;
  const std::uint32_t* ids_;
  HitPosition after_;
  float slack_;
  // Mutable, because a traversal takes its test (this object) by const reference.
  mutable unsigned size_ = 0;
  mutable Entry entries_[capacity];
};

// Calls visit(hit) for each hit in order, until it returns false. Without `weights` hits have none.
template <bool on_gpu, bool weights, class Visit>
HEAPWOOD_INLINE void for_each_hit(const WatertightTree& tree, kdtree::Ray ray,
                                  const HitSearch& search, Visit visit) {
  const float tmin = ray.tmin, length = search.length(ray), slack = length * max_error;
  HitPosition after;
  kdtree::NoCounters none;
  for (;;) {
    const HitCollector<on_gpu ? 16 : 64> hits(tree, ray, after, slack);
    float t;
    kdtree::detail::traverse<false>(tree, hits, ray, t, none);
    for (unsigned k = 0; k < hits.size(); ++k) {
      const auto& entry = hits[k];
      if (!(after < entry.position())) continue;
      kdtree::Hit hit{entry.t, 0, 0, entry.triangle};
      if constexpr (weights) hits.coordinates(entry.record, ray, hit.t, hit.u, hit.v);
      if (!visit(hit)) return;
      after = search.end_of(entry.position(), length);
    }
    if (hits.is_complete()) return;
    ray.tmin = simt::max(after.t - (after.t * max_error + slack), tmin);
  }
}

// What kernels that visit all hits of a ray, one ray at a time, have in common.
struct AllHits {
  struct Scratch {};
  static constexpr unsigned block_threads = 128;
  static constexpr unsigned blocks_per_multiprocessor = 8;

  WatertightTree tree;
  QueryRays in;
  HitSearch search;
};

// Counts the hits of each ray, on a GPU.
struct CountKernel : AllHits {
  std::uint32_t* counts;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    for_rays(warp, in.count, [&](std::uint32_t i) {
      std::uint32_t count = 0;
      for_each_hit<true, false>(tree, in.ray(i).ray, search, [&](const kdtree::Hit&) {
        ++count;
        return (count & 255u) != 0 || !warp.aborted();
      });
      counts[i] = count;
    });
  }
};

// Lists all hits of each ray, on a GPU. The entries of ray i begin at splits[i], by its count.
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
      for_each_hit<true, true>(tree, from.ray, search, [&](const kdtree::Hit& hit) {
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

// Counts the hits of each ray on CPU threads, and keeps them for a list.
struct PacketHitsKernel : AllHits {
  using Scratch = RayBlock;

  std::uint32_t* counts;
  KeptHits* kept;  // nullptr: counts only

  template <class Warp>
  void operator()(Warp& warp, Scratch& block) const {
    std::vector<KeptHit> mine;
    for_blocks(warp, in, block, [&](std::size_t begin) {
      struct Sink final : kdtree::HitSink {
        const PacketHitsKernel& kernel;
        const RayBlock& block;
        Warp& warp;
        std::size_t begin;
        std::vector<KeptHit>* keep;

        Sink(const PacketHitsKernel& of, const RayBlock& with, Warp& on, std::size_t first,
             std::vector<KeptHit>* to)
            : kernel(of), block(with), warp(on), begin(first), keep(to) {}
        void take(std::uint32_t i, std::vector<kdtree::FoundHit>& hits) override {
          kernel.put(begin + i, block.rays[i], hits, keep);
        }
        bool is_stopped() const override { return warp.aborted(); }
      } sink(*this, block, warp, begin, kept != nullptr ? &mine : nullptr);
      kdtree::all_hits(tree, block.rays, sink);
    });
    if (kept != nullptr) (*kept)[warp.worker()] = std::move(mine);
  }

 private:
  void put(std::size_t i, const kdtree::Ray& ray, std::vector<kdtree::FoundHit>& hits,
           std::vector<KeptHit>* keep) const {
    const auto position = [this](const kdtree::FoundHit& hit) {
      return HitPosition{hit.t, tree.ids[hit.record]};
    };
    std::sort(hits.begin(), hits.end(), [&](const auto& a, const auto& b) {
      return a.t < b.t || (a.t == b.t && position(a) < position(b));
    });
    const float length = search.length(ray);
    std::uint32_t count = 0, last = 0;  // `last`: the record of the last hit that counts
    float end = -1;                     // nearer hits no longer count
    for (const kdtree::FoundHit& hit : hits) {
      // Ids are compared only at the same distance, because they are rarely in the cache.
      const bool is_new =
          hit.t > end || (hit.t == end && !search.unique && tree.ids[hit.record] != tree.ids[last]);
      if (!is_new) continue;
      end = search.end_of({hit.t}, length).t;
      last = hit.record;
      if (keep != nullptr) keep->push_back({static_cast<std::uint32_t>(i), hit});
      ++count;
    }
    counts[i] = count;
  }
};

// Writes the hits that PacketHitsKernel has kept to the caller's list.
struct ListKeptKernel : AllHits {
  const KeptHits& kept;
  const std::int64_t* splits;
  std::uint32_t first_ray;
  ListArrays out;

  template <class Warp>
  void operator()(Warp& warp, Scratch&) const {
    for (std::size_t k = warp.worker(); k < kept.size(); k += warp.workers()) {
      QueryRay from;
      std::int64_t entry = 0;
      std::uint32_t last = ~0u;
      for (const auto& [ray, hit] : kept[k]) {
        if (ray != last) {
          if (warp.aborted()) return;
          from = in.ray(ray);
          entry = splits[ray];
          last = ray;
        }
        out.ray[entry] = first_ray + ray;
        out.t[entry] = from.distance(hit.t);
        out.triangle[entry] = tree.ids[hit.record];
        kdtree::WatertightIntersection(from.ray).coordinates(
            tree.records + hit.record, from.ray, hit.t, out.uv[2 * entry], out.uv[2 * entry + 1]);
        ++entry;
      }
    }
  }
};

}  // namespace heapwood::python
