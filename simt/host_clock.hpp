// SPDX-License-Identifier: MIT
// The clock of time limits, budgets and measurements on the host. Tests replace its source and then
// decide what time it is.
#pragma once

#include <atomic>
#include <chrono>

namespace heapwood::simt {

struct HostClock {
  using time_point = std::chrono::steady_clock::time_point;
  static time_point now() { return source.load(std::memory_order_relaxed)(); }
  static inline std::atomic<time_point (*)()> source{&std::chrono::steady_clock::now};
};

inline double seconds_since(HostClock::time_point start) {
  return std::chrono::duration<double>(HostClock::now() - start).count();
}

}  // namespace heapwood::simt
