// SPDX-License-Identifier: MIT
// Launches kernels on simulated warps of Width CPU threads each; for tests.
#pragma once

#include <memory>
#include <vector>

#include "simt/cpu.hpp"
#include "tests/simt/lockstep_warp.hpp"

namespace heapwood::simt {

template <unsigned Width>
class Lockstep {
 public:
  using Warp = LockstepWarp<Width>;

  explicit Lockstep(unsigned warps = 2, Meeting meeting = Meeting::by_chance)
      : warps_(warps), meeting_(meeting) {}
  const DeviceId& id() const { return id_; }
  unsigned multiprocessors() const { return warps_; }

  template <class Kernel>
  unsigned resident_warps() const {
    return warps_;
  }

  template <class Kernel>
  double launch(const Kernel& kernel, unsigned warps = 0, const LaunchLimits& limits = {}) const {
    if (warps == 0) warps = warps_;
    Control control;
    std::vector<std::unique_ptr<typename Warp::Group>> groups;
    std::vector<std::unique_ptr<typename Kernel::Scratch>> scratch;
    for (unsigned i = 0; i < warps; ++i) {
      groups.push_back(std::make_unique<typename Warp::Group>());
      groups.back()->meeting = meeting_;
      scratch.push_back(std::make_unique<typename Kernel::Scratch>());
    }
    return run_threads(warps * Width, limits, control, [&](unsigned thread) {
      const unsigned worker = thread / Width;
      Warp warp(*groups[worker], thread % Width, worker, warps, &control);
      kernel(warp, *scratch[worker]);
    });
  }

  // All warps are resident: tests have few.
  template <class Kernel>
  double launch_independent(const Kernel& kernel, unsigned warps,
                            const LaunchLimits& limits = {}) const {
    return launch(kernel, warps, limits);
  }

  HostStream<Lockstep> stream(const LaunchLimits& limits) const { return {*this, limits}; }

  template <class F>
  void for_each(std::size_t n, F f) const {
    Cpu().for_each(n, f);
  }

 private:
  DeviceId id_{};
  unsigned warps_;
  Meeting meeting_;
};

}  // namespace heapwood::simt
