// SPDX-License-Identifier: MIT
// A stream: launches that run one after another under one time limit, with the host in between. On a GPU launch() does not
// wait (CudaStream in cuda.hpp); where kernels run on the host's own threads, each has ended when launch() returns.
//
//   auto stream = device.stream(limits);
//   stream.launch(kernel, items);   enough warps for so many pieces of work; none may wait for another
//   stream.read(pointer);           waits; the device's *pointer as the launches before have left it
//   stream.finish();                waits; milliseconds since the stream was made, the host's part of them included
//
// All throw as Launcher::launch does (launch.hpp). When read() or finish() has returned or thrown, nothing runs any more.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "simt/config.hpp"
#include "simt/device.hpp"
#include "simt/launch.hpp"

namespace heapwood::simt {

// The share of item `warp.worker()` in a kernel of independent items: f(item) for every workers()-th one. Whoever raised the
// abort flag waits for one item at most.
template <class Warp, class F>
SIMT_INLINE void for_items(Warp& warp, std::size_t items, F f) {
  SIMT_ROLLED
  for (std::size_t item = warp.worker(); item < items;) {
    f(item);
    item += warp.workers();
    if (item < items && warp.any(warp.aborted())) return;
  }
}

// For launchers on the host's threads.
template <class Device>
class HostStream {
 public:
  HostStream(const Device& device, const LaunchLimits& limits) : device_(device), limits_(limits) {}

  template <class Kernel>
  void launch(const Kernel& kernel, std::size_t items) {
    check();
    LaunchLimits rest = limits_;
    rest.seconds -= elapsed();
    // A thread costs about as much as this many small items.
    constexpr std::size_t worth_a_thread = 8;
    const std::size_t most = device_.template resident_warps<Kernel>();
    device_.launch(kernel, static_cast<unsigned>(std::clamp<std::size_t>(items / worth_a_thread, 1, most)), rest);
    ++launches_;
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
  unsigned launches() const { return launches_; }

 private:
  double elapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  void check() const {
    const bool late = elapsed() > limits_.seconds;
    check_outcome(0, {}, late || interrupted(), !late, limits_);
  }

  Device device_;
  LaunchLimits limits_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  unsigned launches_ = 0;
};

}  // namespace heapwood::simt
