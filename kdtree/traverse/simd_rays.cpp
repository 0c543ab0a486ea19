// SPDX-License-Identifier: MIT
#include "kdtree/traverse/simd_rays.hpp"

#include <algorithm>
#include <type_traits>

#include "kdtree/traverse/ray_lists.hpp"

namespace heapwood::kdtree {
namespace {

using packets::Find;
using packets::lanes;
using packets::Packet;
using packets::RayLists;
using Fast = TreeView<FastIntersection>;
using Watertight = TreeView<WatertightIntersection>;

constexpr std::size_t ray_block = 8192;

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
template <class Tree, class Result>
[[gnu::noinline]] void trace_one(const Tree& tree, const Ray* rays, std::uint32_t i,
                                 Result* results) {
  if constexpr (std::is_same_v<Result, Hit>)
    results[i] = closest_hit(tree, rays[i]);
  else
    results[i] = any_hit(tree, rays[i]);
}
[[gnu::noinline]] void trace_one(const Watertight& tree, const Ray* rays, std::uint32_t i,
                                 HitSink* sink) {
  std::vector<FoundHit> hits;
  NoCounters none;
  float t;
  detail::traverse<false>(tree, Collector(tree, rays[i], hits), rays[i], t, none);
  sink->take(i, hits);
}

// The result of ray i, the k-th of a packet or of lists.
template <class Tree, class Traced>
[[gnu::always_inline]] inline void finish(const Tree& tree, const Traced& traced, std::uint32_t k,
                                          const Ray* rays, std::uint32_t i, Hit* hits) {
  const auto record = static_cast<std::uint32_t>(traced.found[k]);
  Hit& hit = hits[i] = {traced.closest[k], 0, 0, no_triangle};
  if (record == no_triangle) return;
  const auto* const found = tree.records + record;
  if constexpr (std::is_same_v<Tree, Watertight>) {
    WatertightIntersection(rays[i]).coordinates(found, rays[i], hit.t, hit.u, hit.v);
  } else if (!PlaneTest().is_sure(found, rays[i], hit.t, hit.u, hit.v)) {
    hit = trace_exactly<false>(tree, FastIntersection(rays[i], tree.slack), rays[i], record);
    return;
  }
  hit.triangle = tree.ids[record];
}
template <class Tree, class Traced>
[[gnu::always_inline]] inline void finish(const Tree& tree, const Traced& traced, std::uint32_t k,
                                          const Ray* rays, std::uint32_t i, std::uint8_t* blocked) {
  const auto record = static_cast<std::uint32_t>(traced.found[k]);
  blocked[i] = record != no_triangle;
  if constexpr (std::is_same_v<Tree, Fast>) {
    if (blocked[i] && is_thin(tree.records[record].plane.x)) trace_one(tree, rays, i, blocked);
  }
}

template <class Result>
constexpr Find find_for = std::is_same_v<Result, Hit>       ? Find::closest
                          : std::is_same_v<Result, HitSink> ? Find::all
                                                            : Find::any;

bool is_stopped(const HitSink* sink) { return sink->is_stopped(); }
bool is_stopped(const void*) { return false; }

// Puts the result of ray i, the k-th of a packet or of lists, or traces it alone.
template <Find find, class Tree, class Traced, class Result>
[[gnu::always_inline]] inline void put(const Tree& tree, const Traced& traced, std::uint32_t k,
                                       bool is_traced, std::vector<FoundHit>& hits, const Ray* rays,
                                       std::uint32_t i, Result* results) {
  if (!is_traced) {
    trace_one(tree, rays, i, results);
  } else if constexpr (find == Find::all) {
    results->take(i, hits);
    hits.clear();
  } else {
    finish(tree, traced, k, rays, i, results);
  }
}

// Traces rays that have the same signs of direction in packets.
template <Find find, class Intersection, class Result>
HEAPWOOD_AVX2 packets::Work trace_packets(const TreeView<Intersection>& tree, const Ray* rays,
                                          Result* results, const std::uint32_t* which,
                                          std::uint32_t count) {
  std::vector<FoundHit> all[lanes];
  packets::Work work;
  for (std::uint32_t first = 0; first < count && !is_stopped(results);
       first += lanes, which += lanes) {
    const std::uint32_t n = std::min(lanes, count - first);
    Packet<Intersection> packet;
    for (unsigned k = 0; k < lanes; ++k) packet.all[k] = &all[k];
    const bool together = packet.start(tree, rays, which, n) == 255;
    if (together) packet.template traverse<find>(tree, tree.nodes, work);
    for (std::uint32_t k = 0; k < n; ++k)
      put<find>(tree, packet, k, together, all[k], rays, which[k], results);
  }
  return work;
}

// Moves packets of rays from all parts of an array to its front.
void spread_front(std::uint32_t* which, std::uint32_t count, std::uint32_t packets) {
  const std::uint32_t all = count / lanes;
  for (std::uint32_t k = 0; k < packets && k < all; ++k) {
    // Regular steps could meet the same column of a picture.
    const std::uint32_t other = k + (2654435769u * k >> 8) % (all - k);
    if (other != k)
      std::swap_ranges(which + k * lanes, which + (k + 1) * lanes, which + other * lanes);
  }
}

// How to trace a block of rays.
struct Plan {
  std::uint32_t traced;  // the first rays of the largest group, which were traced to find out
  bool by_lists;
  bool from_far = false;  // a search for any hit visits far children first
};

// Traces a few packets from all parts of a group, and chooses. Measured: lists are faster if fewer
// than 3.5 rays of a packet are active in a leaf, and far children first if that visits less than
// 3/4 of the leaves: in a room most rays hit a wall at once from the far end.
template <class Intersection, class Result>
Plan try_packets(const TreeView<Intersection>& tree, const Ray* rays, Result* results,
                 std::uint32_t* which, std::uint32_t count) {
  constexpr std::uint32_t tries = 8, most = tries * lanes;
  constexpr Find find = find_for<Result>;
  const auto use_lists = [](const packets::Work& work) { return 2 * work.rays < 7 * work.leaves; };
  spread_front(which, count, find == Find::any ? 2 * tries : tries);
  const std::uint32_t n = std::min(count, most);
  const packets::Work work = trace_packets<find>(tree, rays, results, which, n);
  Plan plan{n, use_lists(work)};
  if constexpr (find == Find::any) {
    const auto blocked =
        std::count_if(which, which + n, [&](std::uint32_t i) { return results[i] != 0; });
    if (2 * blocked > n && count >= 2 * most) {
      const packets::Work far =
          trace_packets<Find::any_from_far>(tree, rays, results, which + most, most);
      plan.traced += most;
      plan.from_far = 4 * far.leaves < 3 * work.leaves;
      if (plan.from_far) plan.by_lists = use_lists(far);
    }
  }
  return plan;
}

// Traces rays that have the same signs of direction.
template <Find find, class Intersection, class Result>
HEAPWOOD_AVX2 void trace_group(const TreeView<Intersection>& tree, const Ray* rays, Result* results,
                               const std::uint32_t* which, std::uint32_t count, const Plan& plan,
                               RayLists<Intersection>& lists) {
  if (is_stopped(results)) return;
  if constexpr (find == Find::any) {
    if (plan.from_far)
      return trace_group<Find::any_from_far>(tree, rays, results, which, count, plan, lists);
  }
  if (!plan.by_lists || !lists.template trace<find>(tree, rays, which, count))
    return void(trace_packets<find>(tree, rays, results, which, count));
  for (std::uint32_t k = 0; k < count; ++k)
    put<find>(tree, lists, k, lists.found[k] != lists.alone, lists.all[k], rays, which[k], results);
}

// Traces a block of rays, grouped by the signs of the directions, which decide the order of
// children.
template <class Intersection, class Result>
void trace_block(const TreeView<Intersection>& tree, const Ray* rays, Result* results,
                 std::span<const RayPlace> places, RayLists<Intersection>& lists) {
  constexpr unsigned kinds = 8;
  std::uint32_t which[kinds][ray_block], ends[kinds] = {};
  for (const RayPlace place : places) which[place.signs][ends[place.signs]++] = place.index;
  const auto largest = std::max_element(ends, ends + kinds) - ends;
  const Plan plan = try_packets(tree, rays, results, which[largest], ends[largest]);
  for (unsigned k = 0; k < kinds; ++k) {
    const std::uint32_t traced = k == static_cast<unsigned>(largest) ? plan.traced : 0;
    trace_group<find_for<Result>>(tree, rays, results, which[k] + traced, ends[k] - traced, plan,
                                  lists);
  }
}

template <class Intersection, class Result>
void trace_all(const TreeView<Intersection>& tree, const Ray* rays, Result* results,
               std::size_t count, bool scattered = true) {
  if (!simt::has_eight_lanes()) {
    for (std::uint32_t i = 0; i < count && !is_stopped(results); ++i)
      trace_one(tree, rays, i, results);
    return;
  }
  RayOrder order;
  RayLists<Intersection> lists;
  for (std::size_t base = 0; base < count; base += ray_span) {
    const std::size_t n = std::min(ray_span, count - base);
    const std::span<const RayPlace> places = order.of({rays + base, n}, scattered);
    for (std::size_t i = 0; i < n; i += ray_block)
      trace_block(tree, rays + base, results + base, places.subspan(i, std::min(ray_block, n - i)),
                  lists);
  }
}

}  // namespace

void closest_hits(const Fast& tree, const Ray* rays, Hit* hits, std::size_t count) {
  trace_all(tree, rays, hits, count);
}
void closest_hits(const Watertight& tree, const Ray* rays, Hit* hits, std::size_t count) {
  trace_all(tree, rays, hits, count);
}
void any_hits(const Fast& tree, const Ray* rays, std::uint8_t* blocked, std::size_t count,
              bool scattered) {
  trace_all(tree, rays, blocked, count, scattered);
}
void any_hits(const Watertight& tree, const Ray* rays, std::uint8_t* blocked, std::size_t count,
              bool scattered) {
  trace_all(tree, rays, blocked, count, scattered);
}
void all_hits(const Watertight& tree, std::span<const Ray> rays, HitSink& sink) {
  trace_all(tree, rays.data(), &sink, rays.size());
}

}  // namespace heapwood::kdtree
