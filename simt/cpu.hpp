// SPDX-License-Identifier: MIT
// Launches kernels on CPU threads: one std::jthread per warp, of width 1.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>

#include "simt/clock.hpp"
#include "simt/control.hpp"
#include "simt/device.hpp"
#include "simt/launch.hpp"
#include "simt/serial_warp.hpp"

namespace heapwood::simt {

// Runs body(index) on `threads` threads and raises control.abort at the time limit, on Ctrl-C, and
// if a thread throws or cannot be started. Rethrows that exception when all threads have ended.
// Returns milliseconds.
double run_threads(unsigned threads, const LaunchLimits& limits, Control& control,
                   const std::function<void(unsigned)>& body);
// The number of threads that can run at the same time on this computer, at least 1.
unsigned hardware_threads();

class Cpu {
 public:
  using Warp = SerialWarp;

  explicit Cpu(const DeviceId& id = {}) : id_(id) {}
  const DeviceId& id() const { return id_; }
  unsigned threads() const {
    return id_.threads > 0 ? static_cast<unsigned>(id_.threads) : hardware_threads();
  }
  unsigned multiprocessors() const { return threads(); }

  template <class Kernel>
  unsigned resident_warps() const {
    return threads();
  }

  template <class Kernel>
  double launch(const Kernel& kernel, unsigned warps = 0, const LaunchLimits& limits = {}) const {
    if (warps == 0) warps = threads();
    Control control;
    return run_threads(warps, limits, control, [&](unsigned worker) {
      const auto scratch = std::make_unique<typename Kernel::Scratch>();
      SerialWarp warp(worker, warps, &control);
      kernel(warp, *scratch);
    });
  }

  // Each thread runs several warps, one after another.
  template <class Kernel>
  double launch_independent(const Kernel& kernel, unsigned warps,
                            const LaunchLimits& limits = {}) const {
    const unsigned workers = std::max(1u, std::min(warps, threads()));
    Control control;
    return run_threads(workers, limits, control, [&](unsigned worker) {
      const auto scratch = std::make_unique<typename Kernel::Scratch>();
      for (unsigned i = worker; i < warps && !control.aborted(); i += workers) {
        SerialWarp warp(i, warps, &control);
        kernel(warp, *scratch);
      }
    });
  }

  // A loop over fewer than `min_items` items is not worth starting threads for.
  template <class F>
  void for_each(std::size_t n, F f, std::size_t min_items = 4096) const {
    const unsigned warps = n < min_items ? 1 : threads();
    Control control;
    run_threads(warps, {.seconds = 1e9}, control, [&](unsigned worker) {
      const std::size_t share = (n + warps - 1) / warps;
      const std::size_t end = std::min(n, share * (worker + 1));
      for (std::size_t i = share * worker; i < end; ++i) f(i);
    });
  }

 private:
  DeviceId id_;
};

}  // namespace heapwood::simt
