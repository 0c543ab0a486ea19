// SPDX-License-Identifier: MIT
// The sizes of blocks in pages (pages.hpp): multiples of the granule up to 8, then four sizes per
// doubling. A page is one arena, or a run of up to 8 where that leaves less unused at its end.
#pragma once

#include <cstdint>

#include "alloc/heapwood/words.hpp"
#include "simt/config.hpp"
#include "simt/math.hpp"

namespace heapwood::alloc::arena {

class BlockClass {
 public:
  SIMT_INLINE explicit constexpr BlockClass(std::uint32_t index) : index_(index) {}

  // The smallest class whose blocks have at least n granules; n is not 0.
  SIMT_INLINE static BlockClass of(std::uint32_t n) {
    const unsigned top = simt::highest_bit(n - 1 | 4);
    return BlockClass((n - 1 >> (top - 2)) + 4 * (top - 2));
  }
  SIMT_INLINE std::uint32_t index() const { return index_; }
  SIMT_INLINE std::uint32_t granules() const {
    return index_ < 4 ? index_ + 1 : ((index_ & 3) + 5) << shift();
  }
  // Log2 of the arenas of a page, where an arena has 2^arena_shift granules. Blocks whose size is a
  // power of two fill one arena. Of others 1/64 of a run is at most a quarter of a block.
  SIMT_INLINE std::uint32_t run_shift(std::uint32_t arena_shift) const {
    const std::uint32_t wanted = shift() + 6;
    return index_ < 4 || (index_ & 3) == 3 || wanted < arena_shift ? 0 : wanted - arena_shift;
  }

 private:
  SIMT_INLINE std::uint32_t shift() const { return index_ < 4 ? 0 : (index_ >> 2) - 1; }

  std::uint32_t index_;
};

// The count of an arena that is part of a page: {open | log2 of the page's arenas:2 | class:6 | place
// in the page:3}.
class PageWord {
 public:
  SIMT_INLINE explicit PageWord(std::uint32_t bits) : bits_(bits) {}
  SIMT_INLINE PageWord(BlockClass c, std::uint32_t run, std::uint32_t place)
      : bits_(open | run << 9 | c.index() << 3 | place) {}

  SIMT_INLINE std::uint32_t bits() const { return bits_; }
  SIMT_INLINE bool is_page() const { return bits_ - open < span - open; }
  SIMT_INLINE BlockClass block_class() const { return BlockClass(bits_ >> 3 & 63); }
  SIMT_INLINE std::uint32_t run() const { return bits_ >> 9 & 3; }
  SIMT_INLINE std::uint32_t place() const { return bits_ & 7; }

 private:
  std::uint32_t bits_;
};

}  // namespace heapwood::alloc::arena
