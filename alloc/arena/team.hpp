// SPDX-License-Identifier: MIT
// Who does a piece of work on the arenas' tables: one lane alone, or all lanes of a warp that have converged. The code is
// the same (arenas.hpp); a warp looks at a cache line of words where a lane looks at a quarter of one, and takes the words
// of a span side by side. Values that `mask`, `all` and `once` return are the same for every member.
#pragma once

#include <cstdint>

#include "simt/config.hpp"
#include "simt/math.hpp"

namespace heapwood::alloc::arena {

struct Alone {
  static constexpr std::uint32_t reach = 8;  // words that `mask` looks at: loads that do not wait for each other

  SIMT_INLINE std::uint32_t first() const { return 0; }
  SIMT_INLINE std::uint32_t step() const { return 1; }
  // Bit i: f(i), for i < reach.
  template <class F>
  SIMT_INLINE std::uint32_t mask(F f) const {
    std::uint32_t bits = 0;
    SIMT_UNROLLED
    for (std::uint32_t i = 0; i < reach; ++i) bits |= std::uint32_t{f(i)} << i;
    return bits;
  }
  SIMT_INLINE bool all(bool mine) const { return mine; }
  // What f returns to the first member, the only one that calls it.
  template <class F>
  SIMT_INLINE auto once(F f) const {
    return f();
  }
  // Orders the members' accesses to memory.
  SIMT_INLINE void sync() const {}
};

template <class Warp>
class Whole {
 public:
  static constexpr std::uint32_t reach = 32;
  static_assert(reach % Warp::width == 0);

  SIMT_INLINE explicit Whole(Warp& warp) : warp_(warp) {}

  SIMT_INLINE std::uint32_t first() const { return warp_.lane(); }
  SIMT_INLINE std::uint32_t step() const { return Warp::width; }
  template <class F>
  SIMT_INLINE std::uint32_t mask(F f) const {
    std::uint32_t bits = 0;
    SIMT_UNROLLED
    for (std::uint32_t i = 0; i < reach; i += Warp::width) bits |= warp_.ballot(f(i + warp_.lane())) << i;
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

// The calling lane of a warp as a thread without others: what joins lanes is no code at all then.
template <class Warp>
class OneLane : public Warp {
 public:
  static constexpr unsigned width = 1;
  SIMT_INLINE explicit OneLane(const Warp& warp) : Warp(warp) {}
  SIMT_INLINE static unsigned lane() { return 0; }
  SIMT_INLINE static std::uint32_t together() { return 1; }
  SIMT_INLINE static std::uint32_t together(const void*) { return 1; }
};

}  // namespace heapwood::alloc::arena
