// SPDX-License-Identifier: MIT
// Headers of a circular list of chunks, kept in a table beside the memory they describe: one entry a unit of memory, 0
// where no chunk begins. A header is a state (free, used, busy) and a link: where the next chunk begins, 0 behind the
// last one. Two forms: both in one word, or a word each.
//
// busy = claimed for a moment by a running thread that splits, merges or frees. Who meets it knows that memory may
// appear. A header that is not free is stored to by its owner alone; everybody else only exchanges a free one for a
// busy one. User data never lies in the table, so a thread with an outdated position finds 0 or a valid header, never
// garbage.
#pragma once

#include <cstdint>

#include "alloc/allocator.hpp"
#include "simt/atomic_ref.hpp"

namespace heapwood::alloc {

namespace header {
inline constexpr std::uint32_t used = 1u << 31;
inline constexpr std::uint32_t busy = 1u << 30;
inline constexpr std::uint32_t next = busy - 1;  // units: 16 GiB of 16-byte ones
}  // namespace header

// What a walker found at a position, and the link to go on with. A chunk that is too small is claimed all the same
// where the one behind it is free and begins in front of `end`, so that the two can be joined.
enum class Found : std::uint32_t { nothing, small, used, busy, claimed };
struct Visit {
  Found found;
  std::uint32_t link;
};

// CFMalloc's form: {used:1, busy:1, next:30}. One load reads a header whole, one exchange claims it whole.
struct FusedHeaders {
  static constexpr std::size_t entry_bytes = 4;
  std::uint32_t* word = nullptr;

  static FusedHeaders at(std::byte* table, std::uint64_t /*entries*/) {
    return {reinterpret_cast<std::uint32_t*>(table)};
  }
  // Before any thread runs.
  SIMT_INLINE void init(std::uint32_t at, std::uint32_t link, bool used) const {
    word[at] = link | (used ? header::used : 0);
  }

  // Claims the chunk if it is free and has at least `units`, or may have them once it is joined to the one behind.
  SIMT_INLINE Visit visit(std::uint32_t at, std::uint32_t units, std::uint32_t end) const {
    const simt::atomic_ref<std::uint32_t> entry(word[at]);
    // relaxed: a walker that gets ahead of a new header reads 0 there and begins again; the claim below synchronises.
    // On the GPU an acquire at every hop would drop the multiprocessor's L1 each time.
    std::uint32_t h = entry.load(simt::relaxed);
    SIMT_ROLLED
    for (;;) {
      const std::uint32_t link = h & header::next;
      if (h == 0) return {Found::nothing, 0};
      if ((h & header::used) != 0) return {(h & header::busy) != 0 ? Found::busy : Found::used, link};
      if (link - at < units && !(link < end && joinable(link))) return {Found::small, link};
      // acquire: waits for the accesses of the block's last owner, published by publish_free.
      if (entry.compare_exchange_strong(h, h | header::used | header::busy, simt::acquire, simt::relaxed)) {
        return {Found::claimed, link};
      }
    }
  }
  // relaxed: a guess, take() decides.
  SIMT_INLINE bool joinable(std::uint32_t at) const {
    const std::uint32_t h = entry(at).load(simt::relaxed);
    return h != 0 && (h & header::used) == 0;
  }
  // Claims the chunk of any size that begins behind one's own.
  SIMT_INLINE bool take(std::uint32_t at, std::uint32_t& link) const {
    const simt::atomic_ref<std::uint32_t> entry(word[at]);
    std::uint32_t h = entry.load(simt::relaxed);
    if ((h & header::used) != 0) return false;
    link = h;
    // acquire: what the last owner did with this memory comes before whatever the next one does.
    return entry.compare_exchange_strong(h, h | header::used | header::busy, simt::acquire, simt::relaxed);
  }
  // relaxed: only the owner stores here.
  SIMT_INLINE std::uint32_t owned(std::uint32_t at) const { return entry(at).load(simt::relaxed) & header::next; }
  // relaxed, these three: a walker that gets ahead of the header behind the link begins again, and nobody touches a
  // block on the strength of them. A release is a fence, which on the GPU waits for all that the warp has written.
  SIMT_INLINE void mark_busy(std::uint32_t at, std::uint32_t link) const {
    entry(at).store(link | header::used | header::busy, simt::relaxed);
  }
  SIMT_INLINE void publish_used(std::uint32_t at, std::uint32_t link) const {
    entry(at).store(link | header::used, simt::relaxed);
  }
  SIMT_INLINE void erase(std::uint32_t at) const { entry(at).store(0, simt::relaxed); }
  // release: hands the block's memory to whoever claims it.
  SIMT_INLINE void publish_free(std::uint32_t at, std::uint32_t link) const { entry(at).store(link, simt::release); }

 private:
  SIMT_INLINE simt::atomic_ref<std::uint32_t> entry(std::uint32_t at) const {
    return simt::atomic_ref<std::uint32_t>(word[at]);
  }
};

// CMalloc's form: a state word and a link word. They change one after the other, so a walker may pair a new state with
// an old link; the old link is still a position, and the state there decides.
struct SplitHeaders {
  static constexpr std::size_t entry_bytes = 8;
  enum State : std::uint32_t { none, free, used, busy, tail };
  std::uint32_t* state = nullptr;
  std::uint32_t* links = nullptr;

  static SplitHeaders at(std::byte* table, std::uint64_t entries) {
    std::uint32_t* words = reinterpret_cast<std::uint32_t*>(table);
    return {words, words + entries};
  }
  SIMT_INLINE void init(std::uint32_t at, std::uint32_t link, bool is_used) const {
    links[at] = link;
    state[at] = is_used ? tail : free;
  }

  SIMT_INLINE Visit visit(std::uint32_t at, std::uint32_t units, std::uint32_t end) const {
    // relaxed, both, so that they are in flight together, and no acquire drops the multiprocessor's L1 at every hop. A
    // link older than the state is still a position, but for 0, which only the tail may have: not written yet.
    std::uint32_t s = state_at(at).load(simt::relaxed);
    std::uint32_t link = link_at(at).load(simt::relaxed);
    if (s == none || (link == 0 && s != tail)) return {Found::nothing, 0};
    if (s == busy) return {Found::busy, link};
    if (s != free) return {Found::used, link};
    // Test, lock: locking first, as published, hides chunks that are too small from every other walker.
    if (link - at < units && !(link < end && joinable(link))) return {Found::small, link};
    // acquire: waits for the accesses of the block's last owner, published by publish_free.
    if (!state_at(at).compare_exchange_strong(s, busy, simt::acquire, simt::relaxed)) return {Found::busy, link};
    return {Found::claimed, link_at(at).load(simt::relaxed)};  // now it stays
  }
  SIMT_INLINE bool joinable(std::uint32_t at) const { return state_at(at).load(simt::relaxed) == free; }
  SIMT_INLINE bool take(std::uint32_t at, std::uint32_t& link) const {
    std::uint32_t s = free;
    // acquire: what the last owner did with this memory comes before whatever the next one does.
    if (!state_at(at).compare_exchange_strong(s, busy, simt::acquire, simt::relaxed)) return false;
    link = link_at(at).load(simt::relaxed);
    return true;
  }
  SIMT_INLINE std::uint32_t owned(std::uint32_t at) const { return link_at(at).load(simt::relaxed); }
  // relaxed: a walker may follow an old link from here, but having met `busy` it does not take the lap for a full one.
  SIMT_INLINE void mark_busy(std::uint32_t at, std::uint32_t) const { state_at(at).store(busy, simt::relaxed); }
  SIMT_INLINE void publish_used(std::uint32_t at, std::uint32_t link) const { publish(at, link, used); }
  SIMT_INLINE void publish_free(std::uint32_t at, std::uint32_t link) const { publish(at, link, free); }
  SIMT_INLINE void erase(std::uint32_t at) const { state_at(at).store(none, simt::relaxed); }

 private:
  SIMT_INLINE simt::atomic_ref<std::uint32_t> state_at(std::uint32_t at) const {
    return simt::atomic_ref<std::uint32_t>(state[at]);
  }
  SIMT_INLINE simt::atomic_ref<std::uint32_t> link_at(std::uint32_t at) const {
    return simt::atomic_ref<std::uint32_t>(links[at]);
  }
  // release: the link comes before the state, and the block's memory too where it is freed. The header behind the link
  // needs none: a walker that gets ahead of it begins again.
  SIMT_INLINE void publish(std::uint32_t at, std::uint32_t link, State s) const {
    link_at(at).store(link, simt::relaxed);
    state_at(at).store(s, simt::release);
  }
};

}  // namespace heapwood::alloc
