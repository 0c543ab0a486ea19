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

  SIMT_INLINE std::uint32_t first() const { return 0; }
  SIMT_INLINE std::uint32_t stride() const { return 1; }
  // Returns a mask whose bit i is f(i), for i < mask_width.
  template <class F>
  SIMT_INLINE std::uint32_t mask(F f) const {
    std::uint32_t bits = 0;
    SIMT_UNROLLED
    for (std::uint32_t i = 0; i < mask_width; ++i) bits |= std::uint32_t{f(i)} << i;
    return bits;
  }
  SIMT_INLINE bool all(bool mine) const { return mine; }
  // Calls f in the first member only and returns its result to every member.
  template <class F>
  SIMT_INLINE auto once(F f) const {
    return f();
  }
  // Orders the members' memory accesses.
  SIMT_INLINE void sync() const {}
};

template <class Warp>
class WholeWarp {
 public:
  static constexpr std::uint32_t mask_width = 32;
  static_assert(mask_width % Warp::width == 0);

  SIMT_INLINE explicit WholeWarp(Warp& warp) : warp_(warp) {}

  SIMT_INLINE std::uint32_t first() const { return warp_.lane(); }
  SIMT_INLINE std::uint32_t stride() const { return Warp::width; }
  template <class F>
  SIMT_INLINE std::uint32_t mask(F f) const {
    std::uint32_t bits = 0;
    SIMT_UNROLLED
    for (std::uint32_t i = 0; i < mask_width; i += Warp::width)
      bits |= warp_.ballot(f(i + warp_.lane())) << i;
    return bits;
  }
  SIMT_INLINE bool all(bool mine) const { return !warp_.any(!mine); }
  template <class F>
  SIMT_INLINE auto once(F f) const {
    decltype(f()) result{};
    if (warp_.lane() == 0) result = f();
    return warp_.shfl(result, 0);
  }
  SIMT_INLINE void sync() const { warp_.sync(); }

 private:
  Warp& warp_;
};

// The calling lane of a warp as a one-lane warp, so that lane-grouping operations compile to
// nothing.
template <class Warp>
class IsolatedLane : public Warp {
 public:
  static constexpr unsigned width = 1;
  SIMT_INLINE explicit IsolatedLane(const Warp& warp) : Warp(warp) {}
  SIMT_INLINE static unsigned lane() { return 0; }
  SIMT_INLINE static std::uint32_t together() { return 1; }
  SIMT_INLINE static std::uint32_t together(const void*) { return 1; }
  SIMT_INLINE static std::uint32_t together(const void*, std::uint32_t& all) { return all = 1; }
};

}  // namespace heapwood::alloc::arena
