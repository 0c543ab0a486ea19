// SPDX-License-Identifier: MIT
// The size classes of blocks in pages (pages.hpp): multiples of the granule up to 8, then four per
// doubling. Up to 2 KiB these are equally spaced. Above, 7, 6, 5 or 4 blocks fill a page of 2^k
// arenas, all but a few granules: sizes are multiples of 8 granules, so the marks of a page are in
// few words.
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
    if (n <= max_spaced) return BlockClass(((n - 1) >> (top - 2)) + 4 * (top - 2));
    const std::uint32_t parts = (n - 1) >> (top - 4);
    const auto exceeds = [&](std::uint32_t k) { return std::uint32_t{parts >= thirty_seconds(k)}; };
    return BlockClass(4 * (top - 1) + exceeds(0) + exceeds(1) + exceeds(2));
  }
  SIMT_INLINE std::uint32_t index() const { return index_; }
  SIMT_INLINE std::uint32_t granules() const {
    return index_ < 4             ? index_ + 1
           : index_ < first_above ? ((index_ & 3) + 5) << shift()
                                  : thirty_seconds(index_ & 3) << (shift() - 2);
  }
  // Log2 of the arenas in the smallest page of the class; Pages::run_for() may choose a larger one.
  // An arena has 2^arena_shift granules, and the class is no larger, so this is at most 2. Blocks
  // whose size is a power of two fill one arena. A page of another class has at least 4 blocks, and
  // at most 1/8 of it is unused, above 2 KiB 1/40. Larger pages would waste less at their end, but
  // more in the slots, which each have a page that is partly used.
  SIMT_INLINE std::uint32_t run_shift(std::uint32_t arena_shift) const {
    const std::uint32_t wanted = shift() + 5;
    const bool is_power_of_two = index_ < 4 || (index_ & 3) == 3;
    return is_power_of_two || wanted < arena_shift ? 0 : wanted - arena_shift;
  }

 private:
  // The largest equally spaced class, 2 KiB, in granules, and the index of the next one.
  static constexpr std::uint32_t max_spaced = 128, first_above = 24;
  // Class k of a doubling above max_spaced, in 32nds of its largest class: 18, 21, 25, 32.
  SIMT_INLINE static constexpr std::uint32_t thirty_seconds(std::uint32_t k) {
    return 0x20191512u >> (8 * k) & 255;
  }
  SIMT_INLINE std::uint32_t shift() const { return index_ < 4 ? 0 : (index_ >> 2) - 1; }

  std::uint32_t index_;
};

}  // namespace heapwood::alloc::arena
