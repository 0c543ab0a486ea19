// SPDX-License-Identifier: MIT
// Execution policies for operations on the arenas' tables: a single lane, or all lanes of a
// converged warp. The operations (arenas.hpp) are written once for both. A warp reads a cache line
// of words at a time, a single lane a quarter of one; a warp takes the words of a span in parallel.
// The results of `mask`, `all` and `once` are the same in every member.
#pragma once

#include <cstdint>

#include "simt/config.hpp"
#include "simt/math.hpp"

namespace heapwood::alloc::arena {

struct SingleLane {
  // Words that `mask` reads. The loads are independent, so they are in flight together.
  static constexpr std::uint32_t mask_width = 8;

  HEAPWOOD_INLINE std::uint32_t first() const { return 0; }
  HEAPWOOD_INLINE std::uint32_t stride() const { return 1; }
  // Returns a mask whose bit i is f(i), for i < mask_width.
  template <class F>
  HEAPWOOD_INLINE std::uint32_t mask(F f) const {
    std::uint32_t bits = 0;
    HEAPWOOD_UNROLLED
    for (std::uint32_t i = 0; i < mask_width; ++i) bits |= std::uint32_t{f(i)} << i;
    return bits;
  }
  HEAPWOOD_INLINE bool all(bool mine) const { return mine; }
  // Calls f in the first member only and returns its result to every member.
  template <class F>
  HEAPWOOD_INLINE auto once(F f) const {
    return f();
  }
  // Orders the members' memory accesses.
  HEAPWOOD_INLINE void sync() const {}
};

template <class Warp>
class WholeWarp {
 public:
  static constexpr std::uint32_t mask_width = 32;
  static_assert(mask_width % Warp::width == 0);

  HEAPWOOD_INLINE explicit WholeWarp(Warp& warp) : warp_(warp) {}

  HEAPWOOD_INLINE std::uint32_t first() const { return warp_.lane(); }
  HEAPWOOD_INLINE std::uint32_t stride() const { return Warp::width; }
  template <class F>
  HEAPWOOD_INLINE std::uint32_t mask(F f) const {
    std::uint32_t bits = 0;
    HEAPWOOD_UNROLLED
    for (std::uint32_t i = 0; i < mask_width; i += Warp::width)
      bits |= warp_.ballot(f(i + warp_.lane())) << i;
    return bits;
  }
  HEAPWOOD_INLINE bool all(bool mine) const { return !warp_.any(!mine); }
  template <class F>
  HEAPWOOD_INLINE auto once(F f) const {
    decltype(f()) result{};
    if (warp_.lane() == 0) result = f();
    return warp_.shfl(result, 0);
  }
  HEAPWOOD_INLINE void sync() const { warp_.sync(); }

 private:
  Warp& warp_;
};

}  // namespace heapwood::alloc::arena
