// SPDX-License-Identifier: MIT
// Free pages for which their class's queue has no slot: one list per chunk, whose links are stored
// in the pages themselves. (The published queues overflow: the static one stops the program, a
// virtualized one needs memory that may not be available.) With these lists a free needs no memory,
// and a queue does not need a slot for every page of its class, which for 16-byte pages would take
// a quarter of the memory.
//
// Pages are added one at a time or as a row, and a list is always taken as a whole by one exchange.
// No thread therefore follows a link into a page that it does not own, and no page is reused while
// it is read. The first page, the last page and the length are in one word, so a list is returned
// in part without reading its rest.
//
// One bitmap per class holds the chunks with such pages. The thread that adds the first page of a
// list sets the bit; the thread that takes the bit takes the list, and sets the bit again if it
// returns a part of it. Overhead: 4 bytes and 10 bits per chunk.
#pragma once

#include <cstring>
#include <vector>

#include "alloc/ouroboros/chunks.hpp"
#include "alloc/primitives/lane_group.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc::ouroboros {

class PageSpill {
 public:
  // Its bitmaps are Chunks::map(q).
  std::size_t plan(const Shape& shape, std::size_t at) {
    lists_at_ = at;
    return at + shape.chunks * sizeof(std::uint32_t);
  }

  // Adds pages [i, i + n) of chunk c, of class q; the lanes of the group share the work.
  template <class Thread>
  HEAPWOOD_INLINE void put(const Chunks& chunks, const LaneGroup<Thread>& group, std::uint32_t q,
                           std::uint32_t c, std::uint32_t i, std::uint32_t n) const {
    for (std::uint32_t k = group.rank(); k + 1 < n; k += group.size())
      *link(chunks, q, c, i + k) = i + k + 2;
    group.sync();
    if (group.rank() == 0) add_list(chunks, q, c, make_list(i, i + n - 1, n));
  }

  // Takes all pages of one chunk, {chunk:32, list:32}, or returns 0. Each thread searches from its
  // own place, so that threads do not contend for the first list.
  template <class Thread>
  HEAPWOOD_INLINE std::uint64_t take_list(const Chunks& chunks, const Thread& thread,
                                          std::uint32_t q) const {
    const SumMap map = chunks.map(q);
    HEAPWOOD_ROLLED
    for (std::uint32_t c = scaled(seed_of(thread), chunks.shape().chunks);
         (c = map.find(c)) != SumMap::none;) {
      if (map.take(c) == 0) continue;
      // acquire: the links, and the pages' last users.
      const std::uint32_t list = Word32(*list_at(chunks, c)).exchange(0, simt::acquire);
      if (list != 0) return std::uint64_t{c} << 32 | list;
    }
    return 0;
  }
  static HEAPWOOD_INLINE std::uint32_t chunk_of(std::uint64_t found) { return high(found); }
  static HEAPWOOD_INLINE std::uint32_t list_of(std::uint64_t found) { return low(found); }
  static HEAPWOOD_INLINE std::uint32_t first_of(std::uint32_t list) {
    return (list & (max_pages - 1)) - 1;
  }
  static HEAPWOOD_INLINE std::uint32_t length_of(std::uint32_t list) {
    return list >> 2 * page_bits;
  }
  // The page after page `at` of a list that has been taken; the last one has no next.
  HEAPWOOD_INLINE std::uint32_t next(const Chunks& chunks, std::uint32_t q, std::uint32_t c,
                                     std::uint32_t at) const {
    return *link(chunks, q, c, at) - 1;
  }
  // Returns the pages of a list from page `at` on, of which there are n.
  HEAPWOOD_INLINE void put_back(const Chunks& chunks, std::uint32_t q, std::uint32_t c,
                                std::uint32_t at, std::uint32_t n, std::uint32_t list) const {
    add_list(chunks, q, c, make_list(at, last_of(list), n));
  }

  // Whether there may be any pages.
  HEAPWOOD_INLINE bool may_have_pages(const Chunks& chunks, std::uint32_t q) const {
    return chunks.map(q).hinted();
  }

  // Calls visit(chunk, page) on the host.
  template <class Visitor>
  void read(const HostView& host, const Chunks& chunks, Visitor visit) const {
    const auto lists = host.read(list_at(chunks, 0), chunks.shape().chunks);
    const auto states = chunks.read_states(host);
    for (std::uint32_t c = 0; c < chunks.shape().chunks; ++c) {
      if (lists[c] == 0) continue;
      const std::uint32_t q = Chunks::kind_of(states[c]) - 1, shift = chunks.shape().page_shift(q);
      const auto copy = host.read(chunks.chunk(c), std::size_t{1} << chunks.shape().chunk_shift);
      for (std::uint32_t at = first_of(lists[c]);;) {
        visit(c, at);
        if (at == last_of(lists[c])) break;
        std::uint32_t next = 0;
        std::memcpy(&next, copy.data() + (std::size_t{at} << shift), sizeof(next));
        at = next - 1;
      }
    }
  }

 private:
  // A list: {length:10, last page:10, first page + 1:10}, 0: empty. The link of a page is the next
  // page + 1; that of the last page is undefined.
  static constexpr unsigned page_bits = 10;
  static constexpr std::uint32_t max_pages = 1u << page_bits;  // of a chunk, exclusive
  static HEAPWOOD_INLINE std::uint32_t make_list(std::uint32_t first, std::uint32_t last,
                                                 std::uint32_t length) {
    return length << 2 * page_bits | last << page_bits | (first + 1);
  }
  static HEAPWOOD_INLINE std::uint32_t last_of(std::uint32_t list) {
    return list >> page_bits & (max_pages - 1);
  }
  HEAPWOOD_INLINE std::uint32_t* list_at(const Chunks& chunks, std::uint32_t c) const {
    return as<std::uint32_t>(chunks.base() + lists_at_) + c;
  }
  static HEAPWOOD_INLINE std::uint32_t* link(const Chunks& chunks, std::uint32_t q, std::uint32_t c,
                                             std::uint32_t i) {
    return as<std::uint32_t>(chunks.page(c, q, i));
  }

  // Prepends the list to the present one.
  HEAPWOOD_INLINE void add_list(const Chunks& chunks, std::uint32_t q, std::uint32_t c,
                                std::uint32_t list) const {
    const Word32 word(*list_at(chunks, c));
    std::uint32_t seen = word.load(simt::relaxed), next = 0;
    HEAPWOOD_ROLLED
    do {
      next = list;
      if (seen != 0) {
        *link(chunks, q, c, last_of(list)) = first_of(seen) + 1;
        next = make_list(first_of(list), last_of(seen), length_of(list) + length_of(seen));
      }
      // release: hands pages and links over. As a read-modify-write it continues the release
      // sequence of the pages already there.
    } while (!word.compare_exchange_weak(seen, next, simt::release, simt::relaxed));
    chunks.map(q).set(c);
  }

  std::size_t lists_at_ = 0;
};

}  // namespace heapwood::alloc::ouroboros
