// SPDX-License-Identifier: MIT
// A barrier for all warps of a launch(), which are all resident (launch.hpp): not for launch_independent(). It costs an addition a
// warp to one word and a trip to memory, so a few hundred of them cost less than as many launches.
#pragma once

#include <cstdint>

#include "simt/atomic_ref.hpp"
#include "simt/warp.hpp"

namespace heapwood::simt {

// One warp's side. All lanes have one, made anew in each launch over a word that is 0 when the launch begins.
class Barrier {
 public:
  SIMT_INLINE explicit Barrier(std::uint32_t* arrived) : arrived_(arrived) {}

  // Returns when all warps have called it as often: what any of them wrote before, all may read. For all lanes together. False:
  // the launch was aborted, or another warp has failed; then there is nothing left to do but to return.
  template <class Warp>
  SIMT_INLINE bool meet(Warp& warp) {
    warp.sync();  // the other lanes' writes come before lane 0's release
    wanted_ += warp.workers();
    bool met = true;
    if (warp.lane() == 0) {
      const atomic_ref<std::uint32_t> arrived(*arrived_);
      // release: publishes what this warp has written to all that see the sum, for later additions continue its release sequence.
      arrived.fetch_add(1, release);
      // relaxed while it waits: on a GPU each acquire drops the multiprocessor's L1. The difference is signed, as the sum may wrap.
      met = wait_until(warp, [&] { return static_cast<std::int32_t>(arrived.load(relaxed) - wanted_) >= 0; });
      // acquire: of what all warps have released with their additions.
      arrived.load(acquire);
    }
    met = !warp.any(!met);
    warp.sync();  // lane 0's acquire comes before the other lanes' reads
    return met;
  }

 private:
  std::uint32_t* arrived_;
  std::uint32_t wanted_ = 0;
};

}  // namespace heapwood::simt
