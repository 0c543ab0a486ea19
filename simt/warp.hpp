// SPDX-License-Identifier: MIT
// The Warp concept: one lane's view of the threads that execute a kernel in lockstep. Its models:
//   CudaWarp<W>      W lanes of a GPU warp (cuda_warp.hpp);
//   SerialWarp       one CPU thread, width 1: every collective is the identity (this file);
//   ThisThread       the calling thread, in kernels that simt/ has not launched (this_thread.hpp);
//   LockstepWarp<W>  W CPU threads and a barrier, so that tests run warp-collective code
//                    concurrently on the CPU (tests/simt/lockstep_warp.hpp).
//
// A kernel is a functor with operator()(Warp&, Scratch&) (launch.hpp). Loops over work are written
//   for (i = warp.lane(); i < n; i += Warp::width)
// and every collective must be called by all lanes of the warp.
//
// Diverged lanes may still cooperate. together() returns the set of lanes, as bits, that reached
// the call together: it contains the caller and is the same for each of its members. The hardware
// determines the set, so code must not depend on its size; lanes at different places in the code
// are never in one set. Collectives that take a set must be called by all lanes of the set and no
// others, in the same order. sync(lanes) also orders the lanes' memory accesses, as sync() does;
// ballot, shfl and reduce_or need not.
#pragma once

#include <cstdint>
#if !defined(__CUDACC__)
#include <chrono>
#include <thread>
#endif

#include "simt/config.hpp"
#include "simt/control.hpp"
#include "simt/math.hpp"

namespace heapwood::simt {

// Turns of a wait loop after which pause() sleeps.
inline constexpr unsigned long_wait = 1u << 20;

#if !defined(__CUDACC__)
class SerialWarp {
 public:
  static constexpr unsigned width = 1;

  SerialWarp(unsigned worker, unsigned workers, Control* control)
      : control_(control), worker_(worker), workers_(workers) {}

  unsigned lane() const { return 0; }
  // Index of this warp in the launch, and the number of warps.
  unsigned worker() const { return worker_; }
  unsigned workers() const { return workers_; }
  // Usually differs between warps on different multiprocessors: a hint for spreading contention.
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
  // The lanes of that set that pass the same key.
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
#endif

// Waits until `done()` is true, with back-off. Returns false if the launch is aborted. Only for
// conditions that a thread which is already running makes true, so that the wait ends.
template <class Warp, class Done>
HEAPWOOD_FN bool wait_until(Warp& warp, Done done) {
  for (unsigned turn = 0; !done(); ++turn) {
    if ((turn & 63) == 63 && warp.aborted()) return false;
    warp.pause(turn);
  }
  return true;
}

// wait_until for all lanes of a warp: waits until `done()` is true for each of them. Lanes that
// wait in the same loop stay converged: if one lane waits for all, a GPU may leave the warp split.
template <class Warp, class Done>
HEAPWOOD_FN bool wait_until_all(Warp& warp, Done done) {
  for (unsigned turn = 0; warp.any(!done()); ++turn) {
    if ((turn & 63) == 63 && warp.any(warp.aborted())) return false;
    warp.pause(turn);
  }
  return true;
}

// Prefix sum and total of `value` (below 2^bits) over the lanes of a set: `before` is the sum over
// the lanes below this one. One ballot per bit, which, unlike a tree of shuffles, works for sets
// with gaps.
struct LaneSum {
  std::uint32_t before = 0, total = 0;
};
template <unsigned bits, class Warp>
HEAPWOOD_INLINE LaneSum sum_over(const Warp& warp, std::uint32_t lanes, std::uint32_t value) {
  const std::uint32_t in_front = (1u << warp.lane()) - 1;
  LaneSum sum;
  HEAPWOOD_UNROLLED
  for (unsigned b = 0; b < bits; ++b) {
    const std::uint32_t set = warp.ballot(lanes, (value >> b & 1) != 0);
    sum.before += popcount(set & in_front) << b;
    sum.total += popcount(set) << b;
  }
  return sum;
}

}  // namespace heapwood::simt
