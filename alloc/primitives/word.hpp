// SPDX-License-Identifier: MIT
// Helpers for words of a pool that many threads change, for their halves, and for spreading
// threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simt/atomic_ref.hpp"
#include "simt/config.hpp"

namespace heapwood::alloc {

using Word32 = simt::atomic_ref<std::uint32_t>;
using Word64 = simt::atomic_ref<std::uint64_t>;

// The address in the pool as a pointer to T.
template <class T>
HEAPWOOD_INLINE T* as(std::byte* address) {
  return reinterpret_cast<T*>(address);
}
template <class T>
HEAPWOOD_INLINE const T* as(const std::byte* address) {
  return reinterpret_cast<const T*>(address);
}

HEAPWOOD_INLINE std::uint32_t low(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
HEAPWOOD_INLINE std::uint32_t high(std::uint64_t word) { return low(word >> 32); }

// A number that differs from lane to lane of the GPU: multiples of the golden ratio.
template <class Thread>
HEAPWOOD_INLINE std::uint32_t seed_of(const Thread& thread) {
  return (thread.worker() * 32 + thread.lane() + 1) * 2654435769u;
}
// Maps the seed to a number below n, such that the numbers of consecutive threads are far apart.
HEAPWOOD_INLINE std::uint32_t scaled(std::uint32_t seed, std::uint32_t n) {
  return high(std::uint64_t{seed} * n);
}

}  // namespace heapwood::alloc
