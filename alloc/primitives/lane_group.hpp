// SPDX-License-Identifier: MIT
// Lanes of a warp that act as one thread: all of them execute the same code on the same values, and
// `once` has the first lane perform an operation on shared memory for all. A group is a result of
// thread.together() or a subset of one. A single lane is a group that needs no collectives. No lane
// of a group waits for a lane outside it.
#pragma once

#include <cstdint>

#include "simt/config.hpp"
#include "simt/math.hpp"
#include "simt/warp.hpp"

namespace heapwood::alloc {

template <class Thread>
class LaneGroup {
 public:
  HEAPWOOD_INLINE LaneGroup(const Thread& thread, std::uint32_t lanes)
      : thread_(&thread), lanes_(lanes) {}

  HEAPWOOD_INLINE std::uint32_t lanes() const { return lanes_; }
  HEAPWOOD_INLINE bool has_one_lane() const {
    return Thread::width == 1 || (lanes_ & (lanes_ - 1)) == 0;
  }
  HEAPWOOD_INLINE std::uint32_t size() const {
    return Thread::width == 1 ? 1 : simt::popcount(lanes_);
  }
  // The rank of this lane in the group.
  HEAPWOOD_INLINE std::uint32_t rank() const {
    return Thread::width == 1 ? 0 : simt::popcount(lanes_ & ((1u << thread_->lane()) - 1));
  }

  // Calls f in the first lane only and returns its result to all lanes. The memory orders in f
  // apply to the first lane; sync() extends them to the others.
  template <class F>
  HEAPWOOD_INLINE auto once(F f) const {
    decltype(f()) result{};
    if (rank() == 0) result = f();
    return has_one_lane() ? result : thread_->shfl(lanes_, result, simt::lowest_bit(lanes_));
  }
  // Orders the memory accesses of all lanes in the group.
  HEAPWOOD_INLINE void sync() const {
    if (!has_one_lane()) thread_->sync(lanes_);
  }
  // Bitwise OR over all lanes.
  HEAPWOOD_INLINE std::uint64_t reduce_or(std::uint64_t bits) const {
    return has_one_lane() ? bits : thread_->reduce_or(lanes_, bits);
  }
  // The value of the first lane for which `has` is true, or `other`.
  template <class T>
  HEAPWOOD_INLINE T first_of(bool has, T value, T other) const {
    if (has_one_lane()) return has ? value : other;
    const std::uint32_t which = thread_->ballot(lanes_, has);
    return which == 0 ? other : thread_->shfl(lanes_, value, simt::lowest_bit(which));
  }
  // The subgroup of lanes with the same `side` as this lane.
  HEAPWOOD_INLINE LaneGroup part(bool side) const {
    if (has_one_lane()) return *this;
    const std::uint32_t set = thread_->ballot(lanes_, side);
    return LaneGroup(*thread_, side ? set : lanes_ & ~set);
  }

 private:
  const Thread* thread_;
  std::uint32_t lanes_;
};

// Index of the n-th lowest set bit, counting from 0; more than n bits are set.
HEAPWOOD_INLINE unsigned nth_bit(std::uint64_t bits, std::uint32_t n) {
  if (n == 0) return simt::lowest_bit(bits);
  unsigned lane = 0;
  HEAPWOOD_ROLLED
  for (unsigned half = 32; half > 0; half /= 2) {
    const unsigned below = simt::popcount(bits >> lane & ((std::uint64_t{1} << half) - 1));
    if (n >= below) {
      n -= below;
      lane += half;
    }
  }
  return lane;
}

}  // namespace heapwood::alloc
