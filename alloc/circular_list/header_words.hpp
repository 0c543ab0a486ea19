// SPDX-License-Identifier: MIT
// Headers of a circular list of chunks, stored in a table beside the memory they describe: one
// entry per unit of memory, 0 if no chunk begins there. A header consists of a state (free, used,
// busy) and a link to the next chunk, which is 0 after the last one. Two representations: both in
// one word, or one word each.
//
// busy = claimed briefly by a running thread that splits, merges or frees. Only the owner of a
// chunk stores to a header that is not free; all other threads only exchange a free header for a
// busy one. A thread with an outdated position reads 0 or a valid header, never user data.
#pragma once

#include <cstdint>

#include "alloc/allocator.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc {

namespace header {
inline constexpr std::uint32_t used = 1u << 31;
inline constexpr std::uint32_t busy = 1u << 30;
// Mask of the link, in units: 16 GiB of 16-byte units.
inline constexpr std::uint32_t next = busy - 1;
}  // namespace header

// What a search finds at a position, and the link at which it continues. It claims even a chunk
// that is too small if the next chunk is free and begins before `end`, to merge the two.
enum class Found : std::uint32_t { nothing, small, used, busy, claimed };
struct Visit {
  Found found;
  std::uint32_t link;
};

// CFMalloc's header, one word {used:1, busy:1, next:30}: one load reads it, one exchange claims it.
struct FusedHeaders {
  static constexpr std::size_t entry_bytes = 4;
  std::uint32_t* word = nullptr;

  static FusedHeaders in_table(std::byte* table, std::uint64_t /*entries*/) {
    return {as<std::uint32_t>(table)};
  }
  // Writes a header before any kernel uses the list.
  HEAPWOOD_INLINE void init(std::uint32_t position, std::uint32_t link, bool used) const {
    word[position] = link | (used ? header::used : 0);
  }

  // Claims a free chunk of at least `units` units, or that many once merged with the next one.
  HEAPWOOD_INLINE Visit visit(std::uint32_t position, std::uint32_t units,
                              std::uint32_t end) const {
    const Word32 entry(word[position]);
    // relaxed: a thread that arrives before the header is written reads 0 and starts again; the
    // claim below synchronizes. On a GPU an acquire at every chunk would invalidate the
    // multiprocessor's L1 each time.
    std::uint32_t h = entry.load(simt::relaxed);
    HEAPWOOD_ROLLED
    for (;;) {
      const std::uint32_t link = h & header::next;
      if (h == 0) return {Found::nothing, 0};
      if ((h & header::used) != 0)
        return {(h & header::busy) != 0 ? Found::busy : Found::used, link};
      if (link - position < units && !(link < end && is_joinable(link)))
        return {Found::small, link};
      // acquire: synchronizes with publish_free by the block's last owner.
      if (entry.compare_exchange_strong(h, h | header::used | header::busy, simt::acquire,
                                        simt::relaxed)) {
        return {Found::claimed, link};
      }
    }
  }
  // relaxed: only a guess; take() decides.
  HEAPWOOD_INLINE bool is_joinable(std::uint32_t position) const {
    const std::uint32_t h = entry(position).load(simt::relaxed);
    return h != 0 && (h & header::used) == 0;
  }
  // Claims the chunk at `position`, whatever its size; it follows a chunk that the caller holds.
  HEAPWOOD_INLINE bool take(std::uint32_t position, std::uint32_t& link) const {
    const Word32 entry(word[position]);
    std::uint32_t h = entry.load(simt::relaxed);
    if ((h & header::used) != 0) return false;
    link = h;
    // acquire: orders the last owner's accesses to this memory before the next owner's.
    return entry.compare_exchange_strong(h, h | header::used | header::busy, simt::acquire,
                                         simt::relaxed);
  }
  // relaxed: only the chunk's owner stores to its link.
  HEAPWOOD_INLINE std::uint32_t link_of_owned(std::uint32_t position) const {
    return entry(position).load(simt::relaxed) & header::next;
  }
  // relaxed, in these three functions: a thread that arrives at a header before it is written
  // starts again, and no thread accesses a block based on these headers. A release would be a
  // fence, which on a GPU waits for all of the warp's writes.
  HEAPWOOD_INLINE void mark_busy(std::uint32_t position, std::uint32_t link) const {
    entry(position).store(link | header::used | header::busy, simt::relaxed);
  }
  HEAPWOOD_INLINE void publish_used(std::uint32_t position, std::uint32_t link) const {
    entry(position).store(link | header::used, simt::relaxed);
  }
  HEAPWOOD_INLINE void erase(std::uint32_t position) const {
    entry(position).store(0, simt::relaxed);
  }
  // release: hands the block's memory to its next owner.
  HEAPWOOD_INLINE void publish_free(std::uint32_t position, std::uint32_t link) const {
    entry(position).store(link, simt::release);
  }

 private:
  HEAPWOOD_INLINE Word32 entry(std::uint32_t position) const { return Word32(word[position]); }
};

// CMalloc's header, a state word and a link word. They change one after the other: a thread may see
// a new state with an old link, which is still a valid position, and the state there decides.
struct SplitHeaders {
  static constexpr std::size_t entry_bytes = 8;
  enum State : std::uint32_t { none, free, used, busy, tail };
  std::uint32_t* state = nullptr;
  std::uint32_t* links = nullptr;

  static SplitHeaders in_table(std::byte* table, std::uint64_t entries) {
    std::uint32_t* words = as<std::uint32_t>(table);
    return {words, words + entries};
  }
  HEAPWOOD_INLINE void init(std::uint32_t position, std::uint32_t link, bool is_used) const {
    links[position] = link;
    state[position] = is_used ? tail : free;
  }

  HEAPWOOD_INLINE Visit visit(std::uint32_t position, std::uint32_t units,
                              std::uint32_t end) const {
    // relaxed, both: the two loads overlap, and no acquire invalidates the multiprocessor's L1 at
    // every chunk. A link older than the state is still a valid position. The exception is 0, the
    // link of the tail: in any other chunk it means that the link has not been written yet.
    std::uint32_t s = state_at(position).load(simt::relaxed);
    std::uint32_t link = link_at(position).load(simt::relaxed);
    if (s == none || (link == 0 && s != tail)) return {Found::nothing, 0};
    if (s == busy) return {Found::busy, link};
    if (s != free) return {Found::used, link};
    // Compares sizes before it locks. Locking first, as published, hides small chunks from other
    // searches.
    if (link - position < units && !(link < end && is_joinable(link))) return {Found::small, link};
    // acquire: synchronizes with publish_free by the block's last owner.
    if (!state_at(position).compare_exchange_strong(s, busy, simt::acquire, simt::relaxed))
      return {Found::busy, link};
    return {Found::claimed,
            link_at(position).load(simt::relaxed)};  // only this thread may change the link
  }
  HEAPWOOD_INLINE bool is_joinable(std::uint32_t position) const {
    return state_at(position).load(simt::relaxed) == free;
  }
  HEAPWOOD_INLINE bool take(std::uint32_t position, std::uint32_t& link) const {
    std::uint32_t s = free;
    // acquire: orders the last owner's accesses to this memory before the next owner's.
    if (!state_at(position).compare_exchange_strong(s, busy, simt::acquire, simt::relaxed))
      return false;
    link = link_at(position).load(simt::relaxed);
    return true;
  }
  HEAPWOOD_INLINE std::uint32_t link_of_owned(std::uint32_t position) const {
    return link_at(position).load(simt::relaxed);
  }
  // relaxed: another thread may still follow an old link from here, but it has seen `busy` and
  // therefore does not count its lap as complete.
  HEAPWOOD_INLINE void mark_busy(std::uint32_t position, std::uint32_t) const {
    state_at(position).store(busy, simt::relaxed);
  }
  HEAPWOOD_INLINE void publish_used(std::uint32_t position, std::uint32_t link) const {
    publish(position, link, used);
  }
  HEAPWOOD_INLINE void publish_free(std::uint32_t position, std::uint32_t link) const {
    publish(position, link, free);
  }
  HEAPWOOD_INLINE void erase(std::uint32_t position) const {
    state_at(position).store(none, simt::relaxed);
  }

 private:
  HEAPWOOD_INLINE Word32 state_at(std::uint32_t position) const { return Word32(state[position]); }
  HEAPWOOD_INLINE Word32 link_at(std::uint32_t position) const { return Word32(links[position]); }
  // release: orders the link before the state, and the block's memory too if it is freed. The
  // header at the link needs no order: a thread that arrives there too early starts again.
  HEAPWOOD_INLINE void publish(std::uint32_t position, std::uint32_t link, State s) const {
    link_at(position).store(link, simt::relaxed);
    state_at(position).store(s, simt::release);
  }
};

}  // namespace heapwood::alloc
