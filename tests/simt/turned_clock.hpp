// SPDX-License-Identifier: MIT
// A host clock that a test turns: time limits expire when the test decides, on any machine.
#pragma once

#include "simt/clock.hpp"

namespace heapwood::tests {

// Replaces the host's clock during its lifetime. The time stands still, except that each reading
// advances it by `tick` seconds.
class TurnedClock {
 public:
  explicit TurnedClock(double tick = 0) {
    ticks_ = std::chrono::steady_clock::now().time_since_epoch().count();
    tick_ = in_ticks(tick);
    simt::HostClock::source = &now;
  }
  ~TurnedClock() { simt::HostClock::source = &std::chrono::steady_clock::now; }
  TurnedClock(const TurnedClock&) = delete;
  TurnedClock& operator=(const TurnedClock&) = delete;

  // Any thread may call it. Has no effect while no TurnedClock exists.
  static void turn(double seconds) { ticks_ += in_ticks(seconds); }

 private:
  using Duration = std::chrono::steady_clock::duration;
  static Duration::rep in_ticks(double seconds) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)).count();
  }
  static simt::HostClock::time_point now() {
    return simt::HostClock::time_point(Duration(ticks_ += tick_));
  }

  static inline std::atomic<Duration::rep> ticks_, tick_;
};

}  // namespace heapwood::tests
