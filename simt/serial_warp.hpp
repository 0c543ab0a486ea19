// SPDX-License-Identifier: MIT
// A CPU thread as a warp of width 1 (warp.hpp): every collective is the identity.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "simt/control.hpp"
#include "simt/warp.hpp"

namespace heapwood::simt {

class SerialWarp {
 public:
  static constexpr unsigned width = 1;

  SerialWarp(unsigned worker, unsigned workers, Control* control)
      : control_(control), worker_(worker), workers_(workers) {}

  unsigned lane() const { return 0; }
  // The index of this warp in the launch, and the number of warps.
  unsigned worker() const { return worker_; }
  unsigned workers() const { return workers_; }
  // Usually differs between warps on different multiprocessors; allocators spread contention by it.
  unsigned sm() const { return worker_; }

  void sync() const {}
  std::uint32_t ballot(bool predicate) const { return predicate ? 1u : 0u; }
  bool any(bool predicate) const { return predicate; }
  template <class T>
  T shfl(T value, unsigned /*source lane*/) const {
    return value;
  }
  std::uint32_t reduce_add(std::uint32_t value) const { return value; }
  std::uint32_t reduce_min(std::uint32_t value) const { return value; }
  std::uint32_t reduce_max(std::uint32_t value) const { return value; }
  // Sum over the lanes up to and including this one.
  std::uint32_t inclusive_add(std::uint32_t value) const { return value; }

  std::uint32_t together() const { return 1; }
  // The lanes of the set returned by together() that pass this key.
  std::uint32_t together(const void* /*key*/) const { return 1; }
  void sync(std::uint32_t /*lanes*/) const {}
  std::uint32_t ballot(std::uint32_t /*lanes*/, bool predicate) const {
    return predicate ? 1u : 0u;
  }
  template <class T>
  T shfl(std::uint32_t /*lanes*/, T value, unsigned /*source lane*/) const {
    return value;
  }
  std::uint64_t reduce_or(std::uint32_t /*lanes*/, std::uint64_t value) const { return value; }

  // Adds to a word of the warp's Scratch; other lanes of the warp may do so concurrently.
  void scratch_add(std::uint32_t& word, std::uint32_t value) const { word += value; }

  bool aborted() const { return control_->aborted(); }
  void fail(std::uint32_t code, std::uint64_t a = 0, std::uint64_t b = 0,
            std::uint64_t c = 0) const {
    control_->fail(code, a, b, c);
  }
  // One turn of a wait loop; `turn` counts the turns so far. Yields the processor after a short
  // spin, and sleeps after a long one: the awaited thread may be preempted, and waiting threads
  // must leave it a processor.
  void pause(unsigned turn) const {
#if !defined(__CUDA_ARCH__)
    if (turn >= long_wait) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    } else if (turn >= 64) {
      std::this_thread::yield();
    }
#endif
  }

 private:
  Control* control_;
  unsigned worker_;
  unsigned workers_;
};

}  // namespace heapwood::simt
