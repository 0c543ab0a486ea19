// SPDX-License-Identifier: MIT
// Delegated work: items that one thread at a time may process, without any thread waiting for its
// turn (the idea of Gelado and Garland 2019, section 4.2.1, as a primitive of its own). A thread
// posts its item. If another thread is the worker, that thread will find the item and the poster
// continues. Own design: one word, {worker present:1, newest item + 1:31}, with the older items
// linked from it, so that one operation both posts and tells the poster whether it has become the
// worker:
//   if (work.post(item, link)) do { for (items of work.take()) ...; } while (!work.finish());
//
// `link(item)` is a word of the item that belongs to the poster, then to the worker, while the item
// is posted. An item must not be posted twice before it is taken; a flag in the item's own state,
// set together with the reason for posting, ensures that. No operation waits; post() retries only
// after another thread has posted. Limits: items below 2^31 - 1.
#pragma once

#include <cstdint>

#include "alloc/primitives/word.hpp"
#include "simt/config.hpp"

namespace heapwood::alloc {

class Delegation {
 public:
  HEAPWOOD_INLINE explicit Delegation(std::uint32_t* word) : word_(*word) {}

  // Posts an item. Returns true if the caller has become the worker.
  template <class Link>
  HEAPWOOD_INLINE bool post(std::uint32_t item, Link link) const {
    std::uint32_t seen = word_.load(simt::relaxed);
    do {
      Word32(*link(item)).store(seen & ~working, simt::relaxed);
      // release: the item and its link. acquire: the last worker's effects, if the caller is the
      // next one.
    } while (
        !word_.compare_exchange_weak(seen, working | (item + 1), simt::acq_rel, simt::relaxed));
    return (seen & working) == 0;
  }

  // Becomes the worker without an item; false if there is one already.
  HEAPWOOD_INLINE bool try_enter() const {
    // acquire: the last worker's effects.
    return (word_.fetch_or(working, simt::acquire) & working) == 0;
  }

  // Worker: takes all items posted so far and returns the newest + 1, or 0 if there are none.
  // acquire: the posters' effects.
  HEAPWOOD_INLINE std::uint32_t take() const {
    return word_.exchange(working, simt::acq_rel) & ~working;
  }
  // The next older item + 1; must be read before the item is processed.
  template <class Link>
  static HEAPWOOD_INLINE std::uint32_t next_after(std::uint32_t item, Link link) {
    return Word32(*link(item)).load(simt::relaxed);
  }

  // Worker: stops being the worker and returns true if no item has been posted since.
  HEAPWOOD_INLINE bool finish() const {
    std::uint32_t expected = working;
    // release: this worker's effects, for the next one.
    return word_.compare_exchange_strong(expected, 0, simt::release, simt::relaxed);
  }

 private:
  static constexpr std::uint32_t working = 1u << 31;

  Word32 word_;
};

}  // namespace heapwood::alloc
