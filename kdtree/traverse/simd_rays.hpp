// SPDX-License-Identifier: MIT
// Closest, any and all hits of many rays by one CPU thread, bit-identical to those of closest_hit()
// and any_hit(), but faster. Packets of eight rays traverse the tree together in the lanes of
// vectors (Wald, Slusallek, Benthin, Wagner 2001, "Interactive rendering with coherent ray
// tracing"). The rays of a packet have the same signs of direction, so they agree on the order of
// children. Each ray has its own interval in every node, and is active only in nodes that it would
// visit alone. Rays that part soon are traced in lists instead (ray_lists.hpp).
//
// On a processor without vectors of eight, rays are traced one by one: packets would be two to
// three times slower there.
//
// A node is loaded once for all rays that visit it, so rays that start near each other should be
// adjacent. Rays that do not start in one point are sorted first (RayOrder).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kdtree/traverse/traverse.hpp"
#include "simt/math.hpp"

namespace heapwood::kdtree {

// Max rays that are sorted together.
inline constexpr std::size_t ray_span = 65536;

// Calls f(first, number) for the blocks of rays that a CPU thread traces. They are long enough for
// sorting to pay, and so short that every thread gets several and that a block stays in the cache.
template <class Warp, class F>
void for_ray_blocks(Warp& warp, std::size_t count, F f) {
  const std::size_t block = std::clamp<std::size_t>(count / (4 * warp.workers()), 4096, ray_span);
  for (std::size_t first = warp.worker() * block; first < count && !warp.aborted();
       first += warp.workers() * block)
    f(first, std::min(block, count - first));
}

// The hits of any number of rays. Within a span, blocks of 8,192 rays are grouped by the signs of
// their directions.
void closest_hits(const TreeView<FastIntersection>& tree, const Ray* rays, Hit* hits,
                  std::size_t count);
void closest_hits(const TreeView<WatertightIntersection>& tree, const Ray* rays, Hit* hits,
                  std::size_t count);

// Sets `blocked` to 1 for each ray that hits anything, else to 0 (any_hit()). Rays that are not
// `scattered` are not sorted, only grouped by their signs in blocks of 8,192: adjacent ones should
// start near each other. Far children may be visited first. For rays that pass within rounding
// errors of an edge the fast test may then find a hit that any_hit() rejects: of the triangles that
// it meets, a ray is confirmed by the watertight test only if the first one is thin.
void any_hits(const TreeView<FastIntersection>& tree, const Ray* rays, std::uint8_t* blocked,
              std::size_t count, bool scattered = false);
void any_hits(const TreeView<WatertightIntersection>& tree, const Ray* rays, std::uint8_t* blocked,
              std::size_t count, bool scattered = false);

// A hit of a ray: its distance, and its record in the tree.
struct FoundHit {
  float t;
  std::uint32_t record;
};
// Takes all hits of ray i, in no order. A triangle in several leaves is in them several times, with
// the same distance. Rays are passed in no order, until is_stopped(), which is called at least once
// per 8,192 rays.
class HitSink {
 public:
  virtual ~HitSink() = default;
  virtual void take(std::uint32_t i, std::vector<FoundHit>& hits) = 0;
  virtual bool is_stopped() const = 0;
};
// At most `ray_span` rays.
void all_hits(const TreeView<WatertightIntersection>& tree, std::span<const Ray> rays,
              HitSink& sink);

// ---- the order of rays --------------------------------------------------------------------------

// The signs of a direction: x in bit 0, y in bit 1, z in bit 2.
inline std::uint32_t signs_of(Vec3 d) {
  return simt::bits(d.x) >> 31 | simt::bits(d.y) >> 31 << 1 | simt::bits(d.z) >> 31 << 2;
}

// A ray's index and the signs of its direction.
struct RayPlace {
  std::uint32_t index : 29, signs : 3;
};

// Sorts rays so that neighbours start near each other: along the Morton curve (Morton 1966) through
// their origins. The part of the tree that a ray reads is then still cached for the next ray.
class RayOrder {
 public:
  // The order of fewer than 2^29 rays, valid until the next call. Rays keep their input order
  // within one cell, a 256th of the longest axis of the origins' box, if all of them start in one
  // point, as a camera's rays do, and if they are not `scattered`.
  std::span<const RayPlace> of(std::span<const Ray> rays, bool scattered = true);

 private:
  static constexpr unsigned digits = 2, digit_bits = 12, digit_values = 1u << digit_bits;
  struct Item {
    std::uint32_t key;
    RayPlace place;
  };

  void make_items(std::span<const Ray> rays);
  void sort_by(unsigned digit);

  std::vector<RayPlace> places_;
  std::vector<Item> items_, others_;
  std::array<std::array<std::uint32_t, digit_values>, digits> counts_;
};

}  // namespace heapwood::kdtree
