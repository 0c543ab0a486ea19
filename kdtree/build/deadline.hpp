// SPDX-License-Identifier: MIT
// The time limit of a build. All launches share it: a restart with larger arrays does not extend
// it.
#pragma once

#include <cstdio>
#include <string>
#include <utility>

#include "kdtree/build/build.hpp"
#include "simt/clock.hpp"
#include "simt/launch.hpp"

namespace heapwood::kdtree {

class BuildDeadline {
 public:
  // Messages name `what`. The limit starts at options.started or, by default, at construction.
  BuildDeadline(std::string what, const BuildOptions& options)
      : what_(std::move(what)),
        seconds_(options.seconds),
        started_(options.started.value_or(simt::HostClock::now())) {}

  // Calls f with the launch limits and returns the milliseconds that f reports. Throws
  // simt::Stopped.
  template <class F>
  double launch(F f) const {
    try {
      return f(simt::LaunchLimits{.seconds = left(), .what = what_.c_str()});
    } catch (const simt::Stopped& stop) {
      if (stop.reason() != simt::Stopped::Reason::time_limit) throw;
      stop_late();
    }
  }

  // Call before a restart. Throws simt::Stopped after an interruption or when the time is up.
  void check() const {
    simt::check_interruption({.what = what_.c_str()});
    if (left() <= 0) stop_late();
  }

 private:
  double left() const { return seconds_ - simt::seconds_since(started_); }

  // The message states the limit of the build, not the part of it that the last launch had.
  [[noreturn]] void stop_late() const {
    char limit[32];
    std::snprintf(limit, sizeof limit, "%g", seconds_);
    throw simt::Stopped(simt::Stopped::Reason::time_limit,
                        what_ + ": not finished within the time limit of " + limit +
                            " s; raise --timeout if it may take longer");
  }

  std::string what_;
  double seconds_;
  simt::HostClock::time_point started_;
};

}  // namespace heapwood::kdtree
