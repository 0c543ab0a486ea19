// SPDX-License-Identifier: MIT
// Delegated work (the idea of Gelado and Garland 2019, section 4.2.1, made a primitive of its own): items that one
// thread at a time may work on, where nobody waits for its turn. A thread posts its item; if somebody is at work, that
// one will find it, and the poster goes on. Own design: one word, {somebody works:1, newest item + 1:31}, the older
// items linked behind it, so that one operation both posts and tells whether the poster has become the worker:
//   if (work.post(item, link)) do { for (items of work.take()) ...; } while (!work.finish());
// `link(item)` is a word of the item that is the worker's or the poster's while the item is posted. An item must not be
// posted twice before it is taken: a bit of the item's own state that is set with the reason for posting sees to that.
// No operation waits; post() retries only when another thread has posted. Limits: items below 2^31 - 1.
#pragma once

#include <cstdint>

#include "simt/atomic_ref.hpp"
#include "simt/config.hpp"

namespace heapwood::alloc {

class Delegation {
 public:
  SIMT_INLINE explicit Delegation(std::uint32_t* word) : word_(*word) {}

  // True: the caller has become the worker.
  template <class Link>
  SIMT_INLINE bool post(std::uint32_t item, Link link) const {
    std::uint32_t seen = word_.load(simt::relaxed);
    do {
      simt::atomic_ref<std::uint32_t>(*link(item)).store(seen & ~working, simt::relaxed);
      // release: the item and its link. acquire: what the last worker did, if the caller is the next one.
    } while (!word_.compare_exchange_weak(seen, working | (item + 1), simt::acq_rel, simt::relaxed));
    return (seen & working) == 0;
  }

  // Becomes the worker without an item, if nobody is.
  SIMT_INLINE bool enter() const {
    // acquire: what the last worker did.
    return (word_.fetch_or(working, simt::acquire) & working) == 0;
  }

  // Worker: all items so far, the newest + 1; 0: none. acquire: what their posters did.
  SIMT_INLINE std::uint32_t take() const { return word_.exchange(working, simt::acq_rel) & ~working; }
  // The one behind it + 1, to be read before the item is worked on.
  template <class Link>
  static SIMT_INLINE std::uint32_t behind(std::uint32_t item, Link link) {
    return simt::atomic_ref<std::uint32_t>(*link(item)).load(simt::relaxed);
  }

  // Worker: true if there is nothing more, and then it is no longer the worker.
  SIMT_INLINE bool finish() const {
    std::uint32_t alone = working;
    // release: what this worker did, for the next one.
    return word_.compare_exchange_strong(alone, 0, simt::release, simt::relaxed);
  }

 private:
  static constexpr std::uint32_t working = 1u << 31;

  simt::atomic_ref<std::uint32_t> word_;
};

}  // namespace heapwood::alloc
