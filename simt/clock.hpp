// SPDX-License-Identifier: MIT
// Clocks of the host and of kernels.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "simt/config.hpp"

namespace heapwood::simt {

// The clock of time limits, budgets and measurements on the host. Tests can set its time.
struct HostClock {
  using time_point = std::chrono::steady_clock::time_point;
  static time_point now() { return source.load(std::memory_order_relaxed)(); }
  static inline std::atomic<time_point (*)()> source{&std::chrono::steady_clock::now};
};

inline double seconds_since(HostClock::time_point start) {
  return std::chrono::duration<double>(HostClock::now() - start).count();
}

// Calls f and returns its milliseconds of host time.
template <class F>
double measure_ms(F f) {
  const auto start = HostClock::now();
  f();
  return 1e3 * seconds_since(start);
}

// A clock shared by all warps of a launch, for profiles. On a GPU it is the global timer, whose
// resolution is as coarse as 1 us: sums of many intervals are accurate, single short ones are not.
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
