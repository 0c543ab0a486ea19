// SPDX-License-Identifier: MIT
// Collective mutex (Gelado and Garland 2019, section 4.2.2): lanes of a warp that arrive together
// enter a critical section together and share the work in it; to other threads they are one owner.
//
// Differs from the paper, where the members are a thread block: here they are the lanes returned by
// together(), all of which call lock() and unlock(). Inside, they may use the collectives of that
// set.
//
// Limits: if the owners are diverged lanes of the same warp, the waiting lanes rely on independent
// thread scheduling: they pause, and give up when the launch is aborted. For that reason the
// allocators of this project do not use it and delegate instead (rcu.hpp).
#pragma once

#include <cstdint>

#include "alloc/primitives/word.hpp"
#include "simt/warp.hpp"

namespace heapwood::alloc {

class CollectiveMutex {
 public:
  // `word` must be 0 initially.
  HEAPWOOD_INLINE explicit CollectiveMutex(std::uint32_t* word) : word_(*word) {}

  // Returns false to all members if the launch is aborted; then they do not hold the mutex.
  template <class Thread>
  HEAPWOOD_INLINE bool lock(Thread& thread, std::uint32_t lanes) const {
    const unsigned leader = simt::lowest_bit(lanes);
    std::uint32_t owner = 0;
    if (thread.lane() == leader) {
      owner = simt::wait_until(thread, [&] {
        std::uint32_t open = 0;
        // A relaxed read first: waiting threads must not write. acquire: sees the last owner's
        // changes.
        return word_.load(simt::relaxed) == 0 &&
               word_.compare_exchange_strong(open, 1, simt::acquire, simt::relaxed);
      });
    }
    owner = thread.shfl(lanes, owner, leader);
    thread.sync(lanes);  // makes what the leader acquired visible to the other members
    return owner != 0;
  }

  template <class Thread>
  HEAPWOOD_INLINE void unlock(Thread& thread, std::uint32_t lanes) const {
    thread.sync(lanes);  // orders all members' work before the release
    // release: publishes this owner's changes to the next one.
    if (thread.lane() == simt::lowest_bit(lanes)) word_.store(0, simt::release);
  }

 private:
  Word32 word_;
};

}  // namespace heapwood::alloc
