// SPDX-License-Identifier: MIT
// Milliseconds of the host's clock since its construction.
#pragma once

#include <chrono>

namespace heapwood::bench {

class Stopwatch {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace heapwood::bench
