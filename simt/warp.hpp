// SPDX-License-Identifier: MIT
// The Warp concept: the threads that run a kernel's code together, as one of them sees it. Three models:
//   CudaWarp<W>     (cuda_warp.hpp)      W lanes of a GPU warp;
//   SerialWarp      (this file)          one CPU thread, width 1: every collective is the identity;
//   LockstepWarp<W> (lockstep_warp.hpp)  W CPU threads and a barrier: tests race warp-collective code on the CPU.
//
// A kernel is a trivially copyable functor `template <class Warp> void operator()(Warp&, Scratch&) const` with a member
// type Scratch (the warp's own fast memory: shared memory on the GPU). Loops over work are written
//   for (i = warp.lane(); i < n; i += Warp::width)
// and every collective call must be reached by all lanes of the warp.
//
// Lanes that have diverged may still act together. together() says which lanes reached the call together: a set of lanes
// as bits, the caller's among them, and the same set for each of its members. Who meets is up to the hardware, so a set is
// never to be relied on to be large; lanes at different places in the code never meet. The collectives that take a
// set are for its lanes, all of them and no others, in the same order. sync(lanes) also orders their accesses to memory,
// as sync() does; ballot, shfl and reduce_or need not.
#pragma once

#include <cstddef>
#include <cstdint>
#if !defined(__CUDA_ARCH__)
#include <chrono>
#include <thread>
#endif

#include "simt/config.hpp"
#include "simt/control.hpp"
#include "simt/math.hpp"

namespace heapwood::simt {

inline constexpr unsigned long_wait = 1u << 20;  // turns

class SerialWarp {
 public:
  static constexpr unsigned width = 1;

  SerialWarp(unsigned worker, unsigned workers, Control* control)
      : control_(control), worker_(worker), workers_(workers) {}

  unsigned lane() const { return 0; }
  // Which warp of the launch this is, and how many there are.
  unsigned worker() const { return worker_; }
  unsigned workers() const { return workers_; }
  // A number that is likely different for warps that run on different multiprocessors. Only a hint to spread contention.
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
  // Those of them that bring the same key.
  std::uint32_t together(const void* /*key*/) const { return 1; }
  void sync(std::uint32_t /*lanes*/) const {}
  std::uint32_t ballot(std::uint32_t /*lanes*/, bool predicate) const { return predicate ? 1u : 0u; }
  template <class T>
  T shfl(std::uint32_t /*lanes*/, T value, unsigned /*source lane*/) const {
    return value;
  }
  std::uint64_t reduce_or(std::uint32_t /*lanes*/, std::uint64_t value) const { return value; }

  // Adds to a word of the warp's Scratch that other lanes of this warp may add to at the same time.
  void scratch_add(std::uint32_t& word, std::uint32_t value) const { word += value; }

  bool aborted() const { return control_->aborted(); }
  void fail(std::uint32_t code, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0) const {
    control_->fail(code, a, b, c);
  }
  // One turn of a wait loop; `turn` counts the turns so far. Gives the processor away after a short spin, and sleeps
  // after a very long one: the thread that is waited for may be out of its time slice, with others that have one.
  void pause(unsigned turn) const {
#if !defined(__CUDA_ARCH__)
    if (turn >= long_wait) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    } else if (turn >= 64) {
      std::this_thread::yield();
    }
#endif
  }
  // For waits that a person ends, such as a build that is watched slowly; no other model of Warp has it.
  void nap() const {
#if !defined(__CUDA_ARCH__)
    std::this_thread::sleep_for(std::chrono::microseconds(500));
#endif
  }

 private:
  Control* control_;
  unsigned worker_;
  unsigned workers_;
};

// Waits until `done()` holds, politely; gives up when the launch is aborted. Only for conditions that a thread which is
// already running will make true.
template <class Warp, class Done>
SIMT_FN bool wait_until(Warp& warp, Done done) {
  for (unsigned turn = 0; !done(); ++turn) {
    if ((turn & 63) == 63 && warp.aborted()) return false;
    warp.pause(turn);
  }
  return true;
}

// The same by all lanes of a warp, until it holds for each of them. Where all of them wait, they are together behind it: a loop of one
// lane's, for which the others wait, a GPU may leave in two halves, which then execute one by one what follows.
template <class Warp, class Done>
SIMT_FN bool wait_together(Warp& warp, Done done) {
  for (unsigned turn = 0; warp.any(!done()); ++turn) {
    if ((turn & 63) == 63 && warp.any(warp.aborted())) return false;
    warp.pause(turn);
  }
  return true;
}

// Sum of `value` (below 2^bits) over the lanes of the set in front of this one, and over all of them. A vote a bit:
// unlike a tree of shuffles it does not mind gaps in the set.
struct LaneSum {
  std::uint32_t before = 0, total = 0;
};
template <unsigned bits, class Warp>
SIMT_INLINE LaneSum sum_over(const Warp& warp, std::uint32_t lanes, std::uint32_t value) {
  const std::uint32_t in_front = (1u << warp.lane()) - 1;
  LaneSum sum;
  SIMT_UNROLLED
  for (unsigned b = 0; b < bits; ++b) {
    const std::uint32_t set = warp.ballot(lanes, (value >> b & 1) != 0);
    sum.before += popcount(set & in_front) << b;
    sum.total += popcount(set) << b;
  }
  return sum;
}

}  // namespace heapwood::simt
