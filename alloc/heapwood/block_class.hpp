// SPDX-License-Identifier: MIT
// The size classes of blocks in pages (pages.hpp): multiples of the granule up to 8, then four per
// doubling.
#pragma once

#include <cstdint>

#include "simt/config.hpp"
#include "simt/math.hpp"

namespace heapwood::alloc::arena {

class BlockClass {
 public:
  SIMT_INLINE explicit constexpr BlockClass(std::uint32_t index) : index_(index) {}

  // The smallest class whose blocks have at least n granules; n is not 0.
  SIMT_INLINE static BlockClass of(std::uint32_t n) {
    const unsigned top = simt::highest_bit((n - 1) | 4);
    return BlockClass(((n - 1) >> (top - 2)) + 4 * (top - 2));
  }
  SIMT_INLINE std::uint32_t index() const { return index_; }
  SIMT_INLINE std::uint32_t granules() const {
    return index_ < 4 ? index_ + 1 : ((index_ & 3) + 5) << shift();
  }
  // Log2 of the arenas in a page, where an arena has 2^arena_shift granules: at most 2 for the
  // largest class of an arena. Blocks whose size is a power of two fill one arena. A page of
  // another class has at least 4 blocks, and at most 1/8 of it is unused. Larger pages would waste
  // less at their end, but more in the slots, which each have a page that is partly used.
  SIMT_INLINE std::uint32_t run_shift(std::uint32_t arena_shift) const {
    const std::uint32_t wanted = shift() + 5;
    const bool is_power_of_two = index_ < 4 || (index_ & 3) == 3;
    return is_power_of_two || wanted < arena_shift ? 0 : wanted - arena_shift;
  }

 private:
  SIMT_INLINE std::uint32_t shift() const { return index_ < 4 ? 0 : (index_ >> 2) - 1; }

  std::uint32_t index_;
};

}  // namespace heapwood::alloc::arena
