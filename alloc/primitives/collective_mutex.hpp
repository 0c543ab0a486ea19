// SPDX-License-Identifier: MIT
// Collective mutex (Gelado and Garland 2019, section 4.2.2): lanes of a warp that meet enter a critical section together
// and share the work in it; to others they are one owner.
// Differs from the paper, where the members are a thread block: here they are the lanes that together() named, all of
// which call lock() and unlock(). Inside they may use the collectives of that set.
// Limits: the waiting lanes rely on independent thread scheduling when the owners are lanes of their own warp that have
// diverged: they pause, and give up when the launch is aborted. The allocators of this project avoid it for that reason
// and delegate (delegation.hpp).
#pragma once

#include <cstdint>

#include "simt/warp.hpp"

namespace heapwood::alloc {

class CollectiveMutex {
 public:
  // The word is 0 in the beginning.
  SIMT_INLINE explicit CollectiveMutex(std::uint32_t* word) : word_(*word) {}

  // False, for all members: the launch is aborted, and the mutex is not theirs.
  template <class Thread>
  SIMT_INLINE bool lock(Thread& thread, std::uint32_t lanes) const {
    const unsigned leader = simt::lowest_bit(lanes);
    std::uint32_t owner = 0;
    if (thread.lane() == leader) {
      owner = simt::wait_until(thread, [&] {
        std::uint32_t open = 0;
        // relaxed look first: waiting threads must not write. acquire: what the last owners did.
        return word_.load(simt::relaxed) == 0 && word_.compare_exchange_strong(open, 1, simt::acquire, simt::relaxed);
      });
    }
    owner = thread.shfl(lanes, owner, leader);
    thread.sync(lanes);  // the other members see what the leader acquired
    return owner != 0;
  }

  template <class Thread>
  SIMT_INLINE void unlock(Thread& thread, std::uint32_t lanes) const {
    thread.sync(lanes);  // all members are done
    // release: for the next owners.
    if (thread.lane() == simt::lowest_bit(lanes)) word_.store(0, simt::release);
  }

 private:
  simt::atomic_ref<std::uint32_t> word_;
};

}  // namespace heapwood::alloc
