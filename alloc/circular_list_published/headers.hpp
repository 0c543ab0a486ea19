// SPDX-License-Identifier: MIT
// Headers of the circular lists as published (RegEff section 5.2). A chunk is identified by its
// position in units of 16 bytes; its header is a flag and a link to the next chunk, in two words
// (CMalloc) or fused into one (CFMalloc).
//
// Differs from the paper: headers are in a separate table, not in front of the blocks, so they
// never become user data. A thread that pauses at a chunk while that is merged still reads a valid
// header; the paper assumes that no thread pauses for so long.
//
// A chunk may also be busy: a search has locked it and may unlock it, its owner is merging it, or
// it has been merged with the chunk before it; its link stays valid. A search that meets a large
// enough busy chunk must look again before it refuses. Only the owner stores to a header that is
// not free.
//
// The table starts as 0. Except in the laps that refuse, links are read relaxed: a thread may find
// an older header than the link's, even none, whose link leads on or, if it is 0, to the start.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "alloc/allocator.hpp"
#include "alloc/primitives/word.hpp"
#include "simt/math.hpp"

namespace heapwood::alloc::published {

// After a fence.
inline constexpr auto fenced = simt::has_device_fence ? simt::relaxed : simt::release;

// A lock sets bit 0 of a free chunk.
enum class State : std::uint32_t { none, used, free, busy };

struct Header {
  State state = State::used;
  std::uint32_t link = 0;
};

// The table. A header has 8 bytes in both representations: {link:32, flag:32}. Searches of many
// threads are at adjacent small chunks, so the headers of adjacent positions are 17 entries apart,
// in different cache lines: position p is at entry 17 p, modulo groups of 256.
struct HeaderTable {
  static constexpr std::size_t entry_bytes = 8;
  std::byte* first = nullptr;    // the header at position 0
  std::uint32_t group_mask = 0;  // 0 in a small pool: in order

  HEAPWOOD_INLINE std::byte* address(std::uint32_t position) const {
    const std::uint32_t entry = (position & ~group_mask) | (position * 17 & group_mask);
    return first + std::size_t{entry} * entry_bytes;
  }
  // Before other threads use the list.
  HEAPWOOD_INLINE void init(std::uint32_t position, State state, std::uint32_t link) const {
    const std::uint32_t words[2] = {link, static_cast<std::uint32_t>(state)};
    std::memcpy(as<std::uint64_t>(address(position)), words, sizeof(words));
  }
  // Decodes a copy of a header's 8 bytes.
  static Header decode(const std::byte* copy) {
    std::uint32_t words[2];
    std::memcpy(words, copy, sizeof(words));
    return {static_cast<State>(words[1]), words[0]};
  }
};

// CFMalloc's form: flag and link in one word. One access reads or changes both.
struct FusedHeaders : HeaderTable {
  // Locks the chunk if it is free, whatever its size, and reads its header as it was.
  HEAPWOOD_INLINE bool try_lock(std::uint32_t position, Header& h) const {
    constexpr std::uint64_t lock = std::uint64_t{1} << 32;
    // acquire: synchronizes with the last owner's release.
    h = unpacked(word(position).fetch_or(lock, simt::acquire));
    return h.state == State::free;
  }
  // Makes the locked chunk free or used. relaxed: continues the release sequence of the last owner.
  HEAPWOOD_INLINE void leave(std::uint32_t position, State state) const {
    word(position).fetch_and(packed(state, ~0u), simt::relaxed);
  }
  // Flag and link as they were together at one moment.
  HEAPWOOD_INLINE Header snapshot(std::uint32_t position) const {
    // acquire: makes the header at the link visible.
    return unpacked(word(position).load(simt::acquire));
  }
  // relaxed: only the chunk's owner stores to its link.
  HEAPWOOD_INLINE std::uint32_t link_of_owned(std::uint32_t position) const {
    return unpacked(word(position).load(simt::relaxed)).link;
  }
  // Makes the units of the locked chunk up to `rest` a block, and the others a free chunk.
  HEAPWOOD_INLINE void split(std::uint32_t position, std::uint32_t rest, std::uint32_t end) const {
    // Busy with the new link: a search that comes from the block before it sees `free` looks again.
    word(rest).store(packed(State::busy, end), simt::relaxed);
    simt::fence_acq_rel();  // one for both stores; on CPU threads each is a release
    word(rest).store(packed(State::free, end), fenced);       // publishes the memory of the rest
    word(position).store(packed(State::used, rest), fenced);  // publishes `busy`
  }
  // Frees a block and, with `merges`, the locked chunk behind it, which ends at `end`. release:
  // publishes the block's memory and the header at the end.
  HEAPWOOD_INLINE void free(std::uint32_t position, std::uint32_t end, bool /*merges*/) const {
    word(position).store(packed(State::free, end), simt::release);
  }

 private:
  static HEAPWOOD_INLINE std::uint64_t packed(State state, std::uint32_t link) {
    return static_cast<std::uint64_t>(state) << 32 | link;
  }
  static HEAPWOOD_INLINE Header unpacked(std::uint64_t word) {
    return {static_cast<State>(high(word)), low(word)};
  }
  HEAPWOOD_INLINE Word64 word(std::uint32_t position) const {
    return Word64(*as<std::uint64_t>(address(position)));
  }
};

// CMalloc's form: two words that change one after the other.
struct TwoWordHeaders : HeaderTable {
  // The load of the link and the exchange of the flag overlap. The link may then be older than the
  // flag, and is read again if the chunk is locked.
  HEAPWOOD_INLINE bool try_lock(std::uint32_t position, Header& h) const {
    h.link = link_at(position).load(simt::relaxed);
    std::uint32_t seen = raw(State::free);
    // acquire: synchronizes with the last owner's release.
    const bool locked = flag_at(position).compare_exchange_strong(seen, raw(State::busy),
                                                                  simt::acquire, simt::relaxed);
    h.state = static_cast<State>(seen);
    if (!locked) return false;
    h.link = link_at(position).load(simt::relaxed);
    return true;
  }
  // relaxed: continues the release sequence of the last owner.
  HEAPWOOD_INLINE void leave(std::uint32_t position, State state) const {
    flag_at(position).fetch_and(raw(state), simt::relaxed);
  }
  // Flag and link as they were at one moment. A header that changes meanwhile counts as busy,
  // unless both words change back.
  HEAPWOOD_INLINE Header snapshot(std::uint32_t position) const {
    // acquire, all but the last: each load is at least as new as the load before it, and the header
    // at the link is visible.
    const std::uint32_t seen = flag_at(position).load(simt::acquire);
    const std::uint32_t link = link_at(position).load(simt::acquire);
    const bool same = flag_at(position).load(simt::acquire) == seen &&
                      link_at(position).load(simt::relaxed) == link;
    return {same ? static_cast<State>(seen) : State::busy, link};
  }
  HEAPWOOD_INLINE std::uint32_t link_of_owned(std::uint32_t position) const {
    return link_at(position).load(simt::relaxed);
  }
  HEAPWOOD_INLINE void split(std::uint32_t position, std::uint32_t rest, std::uint32_t end) const {
    link_at(rest).store(end, simt::relaxed);
    simt::fence_acq_rel();  // one for both stores; on CPU threads each is a release
    // Both publish the link and memory of the rest. A thread that follows the link before it sees
    // the flag finds no used chunk, so it does not refuse.
    flag_at(rest).store(raw(State::free), fenced);
    link_at(position).store(rest, fenced);
    // release: a thread that reads `used` reads the new link.
    flag_at(position).store(raw(State::used), simt::release);
  }
  HEAPWOOD_INLINE void free(std::uint32_t position, std::uint32_t end, bool merges) const {
    if (merges) {
      // Busy while the link leads past the merged chunk: a search that it can serve looks again.
      flag_at(position).store(raw(State::busy), simt::relaxed);
      // release: publishes `busy` and the header at the end.
      link_at(position).store(end, simt::release);
    }
    flag_at(position).store(raw(State::free), simt::release);  // publishes the block's memory
  }

 private:
  static HEAPWOOD_INLINE std::uint32_t raw(State state) {
    return static_cast<std::uint32_t>(state);
  }
  HEAPWOOD_INLINE Word32 link_at(std::uint32_t position) const {
    return Word32(as<std::uint32_t>(address(position))[0]);
  }
  HEAPWOOD_INLINE Word32 flag_at(std::uint32_t position) const {
    return Word32(as<std::uint32_t>(address(position))[1]);
  }
};

// The initial chunks of a circular list as published. All are free.
//   - Heap (RegEff section 5.2, equation 1): a binary heap of chunks. Level d has 2^d chunks of
//     root/2^d units, so every level totals `root`. The root is as large as the pool allows with
//     the given smallest chunk: 16 bytes or, as in the authors' tests, that of a request. With one
//     offset per multiprocessor there are as many heaps, one after the other.
//   - Uniform (RegEff section 8): as many chunks of one size as fit, each a heap of one level. The
//     offsets are spread evenly over them.
//   - From the root, as in the authors' builders: per offset, as many as fit of 2 chunks for the
//     build's first array, 4 of 0.8 times their size, 8 of 0.64 times, and so on.
// The memory after the heaps is the last chunk. Limits: a uniform list serves no request above its
// chunk, because the last chunk is smaller, until frees have merged chunks.

struct Shape {
  std::uint32_t units = 0;  // of all chunks; also the position of the tail
  std::uint32_t heaps = 1;
  std::uint32_t levels = 0;    // per heap
  std::uint32_t smallest = 1;  // units of a chunk of the last level
  std::uint32_t offsets = 1;   // where searches begin, one every heaps/offsets heaps
  // From the root: units of the first chunk; chunks per offset, and their units.
  std::uint32_t first = 0, chunks = 0, chunk_units = 0;

  static Shape choose(std::uint32_t units, std::uint32_t offsets, std::uint32_t smallest) {
    Shape s{.units = units, .heaps = offsets, .smallest = smallest, .offsets = offsets};
    const std::uint64_t share = units / offsets;
    const auto total = [&](std::uint32_t n) { return n * (std::uint64_t{smallest} << (n - 1)); };
    while (s.levels < 28 && total(s.levels + 1) <= share) ++s.levels;
    return s;
  }

  // A uniform pre-split: chunks of `chunk` units, at most `units` together; each has <= 1 offset.
  static Shape uniform(std::uint32_t units, std::uint32_t offsets, std::uint32_t chunk) {
    const std::uint32_t chunks = units / chunk;
    return {.units = units,
            .heaps = chunks,
            .levels = 1,
            .smallest = chunk,
            .offsets = offsets < chunks ? offsets : chunks};
  }

  static Shape from_root(std::uint32_t units, std::uint32_t offsets, std::uint32_t first) {
    Shape s{.units = units, .heaps = offsets, .offsets = offsets, .first = first};
    for (std::uint32_t n = 2, size = first;; n *= 2, size = next_size(size)) {
      const std::uint32_t fitting = std::min(n, (units / offsets - s.chunk_units) / size);
      s.chunks += fitting;
      s.chunk_units += fitting * size;
      if (fitting < n) return s;
    }
  }
  HEAPWOOD_INLINE static std::uint32_t next_size(std::uint32_t size) {
    return size - size / 5;  // 0.8 of it, rounded up
  }

  HEAPWOOD_INLINE std::uint32_t root() const { return levels == 0 ? 0 : smallest << (levels - 1); }
  HEAPWOOD_INLINE std::uint32_t heap_units() const {
    return first != 0 ? chunk_units : levels * root();
  }
  HEAPWOOD_INLINE std::uint32_t heap_chunks() const {
    return first != 0 ? chunks : (1u << levels) - 1;
  }
  HEAPWOOD_INLINE std::uint32_t end_of_heaps() const { return heaps * heap_units(); }
  HEAPWOOD_INLINE std::uint32_t heaps_per_offset() const { return heaps / offsets; }
  // Units between the initial positions of two offsets.
  std::uint32_t units_per_offset() const { return heaps_per_offset() * heap_units(); }

  struct Chunk {
    std::uint32_t position, size;  // units
  };
  // Chunk i of a heap; i counts from 1, as in RegEff's equation 1.
  HEAPWOOD_INLINE Chunk chunk(std::uint32_t heap, std::uint32_t i) const {
    Chunk c{heap * heap_units(), first};
    if (first == 0) {
      const unsigned level = simt::highest_bit(i);
      c.size = root() >> level;
      c.position += level * root() + (i - (1u << level)) * c.size;
    } else {
      std::uint32_t left = i - 1;
      HEAPWOOD_ROLLED
      for (std::uint32_t n = 2; left >= n; n *= 2, c.size = next_size(c.size)) {
        c.position += n * c.size;
        left -= n;
      }
      c.position += left * c.size;
    }
    return c;
  }
  // The chunks of a heap with at least `wanted` units are 1 ... fits(wanted); none from the root,
  // so that searches draw no chunk.
  HEAPWOOD_INLINE std::uint32_t fits(std::uint32_t wanted) const {
    if (wanted > root()) return 0;
    const unsigned level = simt::highest_bit(root() / wanted);
    return (2u << (level < levels ? level : levels - 1)) - 1;
  }

  // Headers to write: those of the heaps' chunks, of the last chunk and of the tail.
  std::size_t headers() const { return std::size_t{heaps} * heap_chunks() + 2; }
};

// Writes header i.
template <class Headers>
struct WriteHeaders {
  Headers headers;
  Shape shape;

  HEAPWOOD_FN void operator()(std::size_t i) const {
    const std::uint32_t chunks = shape.heaps * shape.heap_chunks(), last = shape.end_of_heaps();
    if (i < chunks) {
      const auto heap = static_cast<std::uint32_t>(i / shape.heap_chunks());
      const auto [position, size] =
          shape.chunk(heap, static_cast<std::uint32_t>(i % shape.heap_chunks()) + 1);
      headers.init(position, State::free, position + size);
    } else if (i > chunks) {
      headers.init(shape.units, State::used, 0);  // the tail leads back to the start
    } else if (last != shape.units) {
      headers.init(last, State::free, shape.units);
    }
  }
};

}  // namespace heapwood::alloc::published
