// SPDX-License-Identifier: MIT
// Sorts rays so that neighbours start near each other: along the Morton curve (Morton 1966) through
// their origins. The part of the tree that a ray reads is then still cached for the next ray.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kdtree/traverse/intersect.hpp"
#include "simt/math.hpp"

namespace heapwood::kdtree {

// The signs of a direction: x in bit 0, y in bit 1, z in bit 2.
inline std::uint32_t signs_of(Vec3 d) {
  return simt::bits(d.x) >> 31 | simt::bits(d.y) >> 31 << 1 | simt::bits(d.z) >> 31 << 2;
}

// A ray's index and the signs of its direction.
struct RayPlace {
  std::uint32_t index : 29, signs : 3;
};

class RayOrder {
 public:
  // The order of fewer than 2^29 rays, valid until the next call. Rays keep their input order
  // within one cell, a 256th of the longest axis of the origins' box, and if all of them start in
  // one point: a camera's rays come in the order of its pixels.
  std::span<const RayPlace> of(std::span<const Ray> rays);
  // whether the rays of the last call all start in one point
  bool same_origin() const { return same_origin_; }

 private:
  static constexpr unsigned digits = 3, digit_bits = 8, digit_values = 1u << digit_bits;
  struct Item {
    std::uint32_t key;
    RayPlace place;
  };

  void make_items(std::span<const Ray> rays);
  void sort_by(unsigned digit);

  bool same_origin_ = true;
  std::vector<RayPlace> places_;
  std::vector<Item> items_, others_;
  std::array<std::array<std::uint32_t, digit_values>, digits> counts_;
};

}  // namespace heapwood::kdtree
