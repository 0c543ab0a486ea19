// SPDX-License-Identifier: MIT
// Headers of the circular lists as published (RegEff section 5.2): in the pool, in front of each
// block. A chunk is identified by its position in units of 16 bytes; its header is a flag and a
// link to the next chunk, in two words (CMalloc) or fused into one (CFMalloc). A flag is a state,
// and for a free chunk the grace period after which it may be handed out (grace.hpp).
//
// Differs from the paper: a header occupies the last 8 bytes of a unit, so a fused one has 64 bits
// instead of 32; besides free and used there are two states. busy = locked by a search that may
// unlock it, or being freed: another search that meets a large enough one must look again before it
// refuses. dead = merged with the chunk before it: its link remains valid until all searches have
// left. Only the owner of a chunk stores to a header that is not free. All other threads only
// exchange a free state for a busy one.
#pragma once

#include <cstdint>
#include <cstring>

#include "alloc/allocator.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc::published {

enum class State : std::uint32_t { free, used, busy, dead };

struct Header {
  State state = State::used;
  std::uint32_t period = 0, link = 0;
};

// in_pool: headers lie in front of their blocks, as published. table: they lie in a table beside
// the memory, and never become user data.
enum class Storage { in_pool, table };

namespace flag {
inline constexpr unsigned state_shift = 30;
inline constexpr std::uint32_t period_mask = (1u << state_shift) - 1;
HEAPWOOD_INLINE constexpr std::uint32_t of(State state, std::uint32_t period) {
  return static_cast<std::uint32_t>(state) << state_shift | period;
}
HEAPWOOD_INLINE constexpr State state(std::uint32_t flag) {
  return static_cast<State>(flag >> state_shift);
}
}  // namespace flag

// Where headers lie. A header has 8 bytes in both representations: {link:32, flag:32}.
template <Storage storage>
struct HeaderLayout {
  static constexpr std::size_t stride = storage == Storage::in_pool ? granule : 8;
  std::byte* first = nullptr;  // the header at position 0

  HEAPWOOD_INLINE std::byte* address(std::uint32_t position) const {
    return first + std::size_t{position} * stride;
  }
  // Decodes a copy of the header's 8 bytes.
  static Header decode(const std::byte* copy) {
    std::uint32_t words[2];
    std::memcpy(words, copy, sizeof(words));
    return {flag::state(words[1]), words[1] & flag::period_mask, words[0]};
  }
};

// CFMalloc's form: flag and link in one word. One access reads or changes both.
template <Storage storage>
struct FusedHeaders : HeaderLayout<storage> {
  // Writes a header that only the caller can reach.
  HEAPWOOD_INLINE void init(std::uint32_t position, State state, std::uint32_t link) const {
    store(position, state, 0, link, simt::relaxed);
  }
  // Locks the chunk if it is free, whatever its size, and reads its header as it was.
  HEAPWOOD_INLINE bool try_lock(std::uint32_t position, Header& h) const {
    // acquire: synchronizes with the last owner's release and the header at the link.
    std::uint64_t seen = word(position).load(simt::acquire);
    HEAPWOOD_ROLLED
    while (unpacked(seen).state == State::free) {
      h = unpacked(seen);
      // acquire, both: synchronizes with the last owner, and with the initialization of the linked
      // header.
      if (word(position).compare_exchange_strong(seen, packed(State::busy, 0, h.link),
                                                 simt::acquire, simt::acquire))
        return true;
    }
    h = unpacked(seen);
    return false;
  }
  // Flag and link as they were together at one moment.
  HEAPWOOD_INLINE Header snapshot(std::uint32_t position) const {
    return unpacked(word(position).load(simt::acquire));  // acquire: see try_lock
  }
  // relaxed: only the chunk's owner stores to its link.
  HEAPWOOD_INLINE std::uint32_t link_of_owned(std::uint32_t position) const {
    return unpacked(word(position).load(simt::relaxed)).link;
  }
  // Called by the owner. release: publishes the header at the link, and a free chunk's memory.
  HEAPWOOD_INLINE void publish(std::uint32_t position, State state, std::uint32_t period,
                               std::uint32_t link) const {
    store(position, state, period, link, simt::release);
  }

 private:
  static HEAPWOOD_INLINE std::uint64_t packed(State state, std::uint32_t period,
                                              std::uint32_t link) {
    return std::uint64_t{flag::of(state, period)} << 32 | link;
  }
  static HEAPWOOD_INLINE Header unpacked(std::uint64_t word) {
    return {flag::state(high(word)), high(word) & flag::period_mask, low(word)};
  }
  HEAPWOOD_INLINE Word64 word(std::uint32_t position) const {
    return Word64(*as<std::uint64_t>(this->address(position)));
  }
  HEAPWOOD_INLINE void store(std::uint32_t position, State state, std::uint32_t period,
                             std::uint32_t link, cuda::memory_order order) const {
    word(position).store(packed(state, period, link), order);
  }
};

// CMalloc's form: two words that change one after the other.
template <Storage storage>
struct TwoWordHeaders : HeaderLayout<storage> {
  HEAPWOOD_INLINE void init(std::uint32_t position, State state, std::uint32_t link) const {
    link_at(position).store(link, simt::relaxed);
    flag_at(position).store(flag::of(state, 0), simt::relaxed);
  }
  // In the published order: exchanges the flag first, then reads the link.
  HEAPWOOD_INLINE bool try_lock(std::uint32_t position, Header& h) const {
    std::uint32_t seen = flag::of(State::free, 0);
    HEAPWOOD_ROLLED
    do {
      h.period = seen & flag::period_mask;
      // acquire, both: synchronizes with the last owner's release.
      if (flag_at(position).compare_exchange_strong(seen, flag::of(State::busy, 0), simt::acquire,
                                                    simt::acquire)) {
        h.state = State::free;
        h.link = link_at(position).load(simt::relaxed);  // only this thread may change the link
        return true;
      }
    } while (flag::state(seen) == State::free);
    h = {flag::state(seen), 0, load_link(position)};
    return false;
  }
  // Flag and link as they were at one moment. A header that changes meanwhile counts as busy.
  HEAPWOOD_INLINE Header snapshot(std::uint32_t position) const {
    // acquire: the link is read after the flag, so it is at least as new.
    const std::uint32_t seen = flag_at(position).load(simt::acquire);
    const std::uint32_t link = load_link(position);
    // relaxed: the link was read by an acquire, so this flag is at least as new as the link.
    const bool same = flag_at(position).load(simt::relaxed) == seen;
    return {same ? flag::state(seen) : State::busy, seen & flag::period_mask, link};
  }
  HEAPWOOD_INLINE std::uint32_t link_of_owned(std::uint32_t position) const {
    return link_at(position).load(simt::relaxed);
  }
  HEAPWOOD_INLINE void publish(std::uint32_t position, State state, std::uint32_t period,
                               std::uint32_t link) const {
    // A block that is being freed becomes busy before its link changes, which then leads past the
    // chunk merged with it. In all other cases the link is stored first.
    if (state == State::busy) flag_at(position).store(flag::of(state, period), simt::relaxed);
    // release: publishes the header at the link, and `busy` to a thread that reads this link.
    link_at(position).store(link, simt::release);
    // release: publishes the link, and a free chunk's memory.
    if (state != State::busy) flag_at(position).store(flag::of(state, period), simt::release);
  }

 private:
  HEAPWOOD_INLINE std::uint32_t* words(std::uint32_t position) const {
    return as<std::uint32_t>(this->address(position));
  }
  HEAPWOOD_INLINE Word32 link_at(std::uint32_t position) const {
    return Word32(words(position)[0]);
  }
  HEAPWOOD_INLINE Word32 flag_at(std::uint32_t position) const {
    return Word32(words(position)[1]);
  }
  HEAPWOOD_INLINE std::uint32_t load_link(std::uint32_t position) const {
    return link_at(position).load(simt::acquire);  // acquire: makes the header at the link visible
  }
};

}  // namespace heapwood::alloc::published
