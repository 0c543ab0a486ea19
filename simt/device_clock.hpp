// SPDX-License-Identifier: MIT
// A clock shared by all warps of a launch, for profiles. On a GPU it is the global timer, whose
// resolution is as coarse as 1 us: sums of many intervals are accurate, single short ones are not.
#pragma once

#include <cstdint>
#if !defined(__CUDA_ARCH__)
#include <chrono>
#endif

#include "simt/config.hpp"

namespace heapwood::simt {

HEAPWOOD_INLINE std::uint64_t device_nanoseconds() {
#if defined(__CUDA_ARCH__)
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

}  // namespace heapwood::simt
