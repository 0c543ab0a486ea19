// SPDX-License-Identifier: MIT
// The Warp concept: one lane's view of the threads that execute a kernel in lockstep. Its models:
//   CudaWarp<W>      W lanes of a GPU warp (cuda_warp.hpp);
//   SerialWarp       one CPU thread, width 1: every collective is the identity (serial_warp.hpp);
//   ThisThread       the calling thread, in kernels that simt/ has not launched (this_thread.hpp);
//   LockstepWarp<W>  W CPU threads and a barrier, so that tests run warp-collective code
//                    concurrently on the CPU (tests/simt/lockstep.hpp).
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

#include "simt/config.hpp"
#include "simt/control.hpp"
#include "simt/math.hpp"

namespace heapwood::simt {

// The number of turns of a wait loop after which pause() sleeps.
inline constexpr unsigned long_wait = 1u << 20;

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
