// SPDX-License-Identifier: MIT
// A barrier for all warps of a launch(). Its waits end because all these warps are resident
// (launch.hpp), which warps of launch_independent() are not.
#pragma once

#include <cstdint>

#include "simt/atomic_ref.hpp"
#include "simt/warp.hpp"

namespace heapwood::simt {

// One warp's view of the barrier; every lane holds a copy. Constructed in each launch on a word
// that is 0 when the launch begins.
class Barrier {
 public:
  HEAPWOOD_INLINE explicit Barrier(std::uint32_t* arrived) : arrived_(arrived) {}

  // Returns when all warps have called it equally often: every warp may then read what any warp
  // wrote before its call. All lanes call together. False: the launch was aborted or another warp
  // has failed; the caller must return.
  template <class Warp>
  HEAPWOOD_INLINE bool arrive_and_wait(Warp& warp) {
    warp.sync();  // orders the other lanes' writes before lane 0's release
    wanted_ += warp.workers();
    bool arrived_all = true;
    if (warp.lane() == 0) {
      const atomic_ref<std::uint32_t> arrived(*arrived_);
      // release: publishes this warp's writes to every warp that reads the sum: later additions
      // continue the release sequence.
      arrived.fetch_add(1, release);
      // relaxed while waiting: on a GPU each acquire invalidates the multiprocessor's L1. The
      // difference is signed, as the sum may wrap.
      arrived_all = wait_until(
          warp, [&] { return static_cast<std::int32_t>(arrived.load(relaxed) - wanted_) >= 0; });
      // acquire: makes visible what all warps have released with their additions.
      arrived.load(acquire);
    }
    arrived_all = !warp.any(!arrived_all);
    warp.sync();  // orders lane 0's acquire before the other lanes' reads
    return arrived_all;
  }

 private:
  std::uint32_t* arrived_;
  std::uint32_t wanted_ = 0;
};

}  // namespace heapwood::simt
