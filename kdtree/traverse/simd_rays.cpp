// SPDX-License-Identifier: MIT
#include "kdtree/traverse/simd_rays.hpp"

#include <algorithm>
#include <type_traits>

#include "kdtree/traverse/ray_packet.hpp"

namespace heapwood::kdtree {
namespace {

using packets::Find;
using packets::lanes;
using packets::Packet;
using Fast = TreeView<FastIntersection>;
using Watertight = TreeView<WatertightIntersection>;

constexpr std::size_t ray_block = 4096;

// Collects all hits of a ray, as a test that accepts none.
struct Collector : WatertightIntersection {
  const Watertight& tree;
  std::vector<FoundHit>& hits;

  Collector(const Watertight& with, const Ray& ray, std::vector<FoundHit>& to)
      : WatertightIntersection(ray), tree(with), hits(to) {}
  bool test(const Record* record, const Ray& ray, float lower, float, float& t) const {
    if (WatertightIntersection::test(record, ray, lower, ray.tmax, t))
      hits.push_back({t, static_cast<std::uint32_t>(record - tree.records)});
    return false;
  }
};

// Traces ray i alone.
template <class Tree>
[[gnu::noinline]] void trace_one(const Tree& tree, const Ray* rays, std::uint32_t i, Hit* hits) {
  hits[i] = closest_hit(tree, rays[i]);
}
template <class Tree>
[[gnu::noinline]] void trace_one(const Tree& tree, const Ray* rays, std::uint32_t i,
                                 std::uint8_t* blocked) {
  blocked[i] = any_hit(tree, rays[i]);
}
[[gnu::noinline]] void trace_one(const Watertight& tree, const Ray* rays, std::uint32_t i,
                                 HitSink* sink) {
  std::vector<FoundHit> hits;
  NoCounters none;
  float t;
  detail::traverse<false>(tree, Collector(tree, rays[i], hits), rays[i], t, none);
  sink->take(i, hits);
}

// The result of ray i, lane k of a packet.
[[gnu::always_inline]] inline void finish(const Fast& tree, const Packet<FastIntersection>& packet,
                                          unsigned k, const Ray* rays, std::uint32_t i, Hit* hits) {
  const auto record = static_cast<std::uint32_t>(packet.found[k]);
  Hit& hit = hits[i] = {packet.closest[k], 0, 0, no_triangle};
  if (record == no_triangle) return;
  if (PlaneTest().is_sure(tree.records + record, rays[i], hit.t, hit.u, hit.v)) {
    hit.triangle = tree.ids[record];
  } else {
    hit = trace_exactly<false>(tree, FastIntersection(rays[i], tree.slack), rays[i], record);
  }
}
[[gnu::always_inline]] inline void finish(const Fast& tree, const Packet<FastIntersection>& packet,
                                          unsigned k, const Ray* rays, std::uint32_t i,
                                          std::uint8_t* blocked) {
  const auto record = static_cast<std::uint32_t>(packet.found[k]);
  blocked[i] = record != no_triangle;
  if (blocked[i] && is_thin(tree.records[record].plane.x)) trace_one(tree, rays, i, blocked);
}
[[gnu::always_inline]] inline void finish(const Watertight& tree,
                                          const Packet<WatertightIntersection>& packet, unsigned k,
                                          const Ray* rays, std::uint32_t i, Hit* hits) {
  const auto record = static_cast<std::uint32_t>(packet.found[k]);
  Hit& hit = hits[i] = {packet.closest[k], 0, 0, no_triangle};
  if (record == no_triangle) return;
  WatertightIntersection(rays[i]).coordinates(tree.records + record, rays[i], hit.t, hit.u, hit.v);
  hit.triangle = tree.ids[record];
}
[[gnu::always_inline]] inline void finish(const Watertight&,
                                          const Packet<WatertightIntersection>& packet, unsigned k,
                                          const Ray*, std::uint32_t i, std::uint8_t* blocked) {
  blocked[i] = static_cast<std::uint32_t>(packet.found[k]) != no_triangle;
}

bool needs_exact_test(const Fast& tree, const Ray& ray) {
  return detail::needs_exact_test(tree, ray);
}
bool needs_exact_test(const Watertight&, const Ray&) { return false; }

template <class Result>
constexpr Find find_for = std::is_same_v<Result, Hit>       ? Find::closest
                          : std::is_same_v<Result, HitSink> ? Find::all
                                                            : Find::any;

bool is_stopped(const HitSink* sink) { return sink->is_stopped(); }
bool is_stopped(const void*) { return false; }

// Chooses which child packets visit first in a search for any hit. In a room, most rays hit a wall
// at once from the far end; rays that hit less are faster from their origin. Four packets of 64 try
// both orders in turn, and the others take the far end if its packets visited clearly fewer leaves.
class AnyOrder {
 public:
  bool from_far() {
    turn_ = (turn_ + 1) % period;
    return is_trial() ? turn_ % 2 != 0 : 4 * leaves_[1] < 3 * leaves_[0];
  }
  // The packet after from_far() has visited this many leaves.
  void add(unsigned leaves) {
    if (is_trial()) leaves_[turn_ % 2] += leaves;
  }

 private:
  bool is_trial() const { return turn_ < trials; }

  static constexpr unsigned period = 64, trials = 4;

  std::uint64_t leaves_[2] = {};  // of the trials from the origin and from the far end
  unsigned turn_ = period - 1;
};

// Traces rays that have the same signs of direction.
template <class Intersection, class Result>
HEAPWOOD_AVX2 void trace_packets(const TreeView<Intersection>& tree, const Ray* rays,
                                 Result* results, const std::uint32_t* which, std::uint32_t count,
                                 AnyOrder& order) {
  std::vector<FoundHit> all[lanes];
  for (std::uint32_t first = 0; first < count; first += lanes, which += lanes) {
    const std::uint32_t n = std::min(lanes, count - first);
    Packet<Intersection> packet;
    bool started = packet.start(tree, rays, which, n);
    for (std::uint32_t k = 0; k < n; ++k)
      started = started && !needs_exact_test(tree, rays[which[k]]);
    if constexpr (find_for<Result> == Find::any) {
      const bool from_far = order.from_far();
      if (started)
        order.add(from_far ? packet.template traverse<Find::any_from_far>(tree, all)
                           : packet.template traverse<Find::any>(tree, all));
    } else if (started) {
      packet.template traverse<find_for<Result>>(tree, all);
    }
    for (std::uint32_t k = 0; k < n; ++k) {
      if (!started) {
        trace_one(tree, rays, which[k], results);
      } else if constexpr (find_for<Result> == Find::all) {
        results->take(which[k], all[k]);
        all[k].clear();
      } else {
        finish(tree, packet, k, rays, which[k], results);
      }
    }
    if (is_stopped(results)) return;
  }
}

// Traces a block of rays, grouped by the signs of the directions, which decide the order of
// children. `place_of(i)`: of ray i of the block.
template <class Tree, class Result, class PlaceOf>
void trace_block(const Tree& tree, const Ray* rays, Result* results, std::size_t count,
                 PlaceOf place_of, AnyOrder& order) {
  constexpr unsigned kinds = 8;
  std::uint32_t which[kinds][ray_block], ends[kinds] = {};
  for (std::uint32_t i = 0; i < count; ++i) {
    const RayPlace place = place_of(i);
    which[place.signs][ends[place.signs]++] = place.index;
  }
  for (unsigned k = 0; k < kinds; ++k) trace_packets(tree, rays, results, which[k], ends[k], order);
}

template <class Tree, class Result>
void trace_sorted(const Tree& tree, const Ray* rays, Result* results, std::size_t count) {
  if (!simt::has_eight_lanes()) {
    for (std::uint32_t i = 0; i < count && !is_stopped(results); ++i)
      trace_one(tree, rays, i, results);
    return;
  }
  RayOrder order;
  AnyOrder any_order;
  for (std::size_t base = 0; base < count; base += ray_span) {
    const std::size_t n = std::min(ray_span, count - base);
    const std::span<const RayPlace> places = order.of({rays + base, n});
    for (std::size_t i = 0; i < n; i += ray_block) {
      trace_block(
          tree, rays + base, results + base, std::min(ray_block, n - i),
          [&](std::uint32_t k) { return places[i + k]; }, any_order);
    }
  }
}

template <class Tree>
void trace_any(const Tree& tree, const Ray* rays, std::uint8_t* blocked, std::size_t count,
               bool scattered) {
  if (scattered || !simt::has_eight_lanes()) return trace_sorted(tree, rays, blocked, count);
  AnyOrder order;
  for (std::size_t base = 0; base < count; base += ray_block) {
    const auto place_of = [&](std::uint32_t k) {
      return RayPlace{k, signs_of(rays[base + k].direction)};
    };
    trace_block(tree, rays + base, blocked + base, std::min(ray_block, count - base), place_of,
                order);
  }
}

}  // namespace

void closest_hits(const Fast& tree, const Ray* rays, Hit* hits, std::size_t count) {
  trace_sorted(tree, rays, hits, count);
}
void closest_hits(const Watertight& tree, const Ray* rays, Hit* hits, std::size_t count) {
  trace_sorted(tree, rays, hits, count);
}
void any_hits(const Fast& tree, const Ray* rays, std::uint8_t* blocked, std::size_t count,
              bool scattered) {
  trace_any(tree, rays, blocked, count, scattered);
}
void any_hits(const Watertight& tree, const Ray* rays, std::uint8_t* blocked, std::size_t count,
              bool scattered) {
  trace_any(tree, rays, blocked, count, scattered);
}
void all_hits(const Watertight& tree, std::span<const Ray> rays, HitSink& sink) {
  trace_sorted(tree, rays.data(), &sink, rays.size());
}

}  // namespace heapwood::kdtree
