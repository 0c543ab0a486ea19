// SPDX-License-Identifier: MIT
// A stream: launches that run one after another under one time limit, interleaved with host code.
// On a GPU launch() does not wait (CudaStream in cuda.hpp); on CPU threads the kernel has ended
// when launch() returns.
//
//   auto stream = device.stream(limits);
//   stream.launch(kernel, items);   launches enough warps for `items` items; no warp may wait for
//                                   another
//   stream.read(pointer);           waits for all launches; returns *pointer from the device
//   stream.finish();                waits; returns milliseconds since the stream was created,
//                                   including the host's share
//
// All throw as Launcher::launch does (launch.hpp). No kernel runs after read() or finish() has
// returned or thrown.
#pragma once

#include <algorithm>
#include <cstddef>

#include "simt/clock.hpp"
#include "simt/config.hpp"
#include "simt/device.hpp"
#include "simt/launch.hpp"

namespace heapwood::simt {

// Distributes the items of a kernel over its warps: calls f(item) for every workers()-th item,
// starting with worker(). Ends at most one item after the abort flag was raised.
template <class Warp, class F>
HEAPWOOD_INLINE void for_items(Warp& warp, std::size_t items, F f) {
  HEAPWOOD_ROLLED
  for (std::size_t item = warp.worker(); item < items;) {
    f(item);
    item += warp.workers();
    if (item < items && warp.any(warp.aborted())) return;
  }
}

// The stream of launchers that use CPU threads.
template <class Device>
class HostStream {
 public:
  HostStream(const Device& device, const LaunchLimits& limits) : device_(device), limits_(limits) {}

  template <class Kernel>
  void launch(const Kernel& kernel, std::size_t items) {
    check();
    LaunchLimits rest = limits_;
    rest.stated_seconds = limits_.seconds;
    rest.seconds -= elapsed();
    // Starting a thread costs about as much as this many small items.
    constexpr std::size_t min_items_per_warp = 8;
    const std::size_t max_warps = device_.template resident_warps<Kernel>();
    const auto warps = std::clamp<std::size_t>(items / min_items_per_warp, 1, max_warps);
    device_.launch(kernel, static_cast<unsigned>(warps), rest);
  }
  template <class T>
  T read(const T* from) {
    check();
    return *from;
  }
  double finish() {
    check();
    return 1e3 * elapsed();
  }

 private:
  double elapsed() const { return seconds_since(start_); }
  void check() const {
    const bool late = elapsed() > limits_.seconds;
    check_outcome(0, {}, late || interrupted(), !late, limits_);
  }

  Device device_;
  LaunchLimits limits_;
  HostClock::time_point start_ = HostClock::now();
};

}  // namespace heapwood::simt
