// SPDX-License-Identifier: MIT
// An order of rays in which neighbours start near each other: along the Morton curve (Morton 1966) through their origins. What a ray
// reads of the tree is then still in the cache for the next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kdtree/intersect.hpp"

namespace heapwood::kdtree {

// A ray's index, and the signs of its direction: x in bit 0, y in 1, z in 2.
struct RayPlace {
  std::uint32_t index : 29, signs : 3;
};

class RayOrder {
 public:
  // Of less than 2^29 rays, until the next call. Rays of one cell, a 256th of the rays' own box along its longest axis, stay as they
  // come, and so do all if they start in one point, as a camera's do: those come in the order of their picture.
  std::span<const RayPlace> of(std::span<const Ray> rays);
  bool same_origin() const { return same_origin_; }  // whether those last ones all start in one point

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
