// SPDX-License-Identifier: MIT
// Free pages for which their class's queue has no room: a list a chunk, whose links are in the pages themselves. (The
// published queues overflow: the static one stops the program, a virtual one needs memory that may not be there.) With
// it a free needs no memory, and a queue needs no room for every page of its class, a quarter of the memory in 16 bytes.
// Pages are put one by one or as a row, and always taken all at once by one exchange. So nobody follows a link into a page that
// is not its own, and no page comes back while it is looked at. First and last page are in one word, so that what a
// taker does not need goes back as it is.
// A bitmap a class has the chunks with such pages: who puts the first page of a list sets the bit, who takes the bit
// takes the list, and sets the bit again where it gives something back. Overhead: 4 bytes and 10 bits a chunk.
#pragma once

#include <cstring>
#include <vector>

#include "alloc/ouroboros/chunks.hpp"
#include "alloc/primitives/lane_group.hpp"

namespace heapwood::alloc::ouroboros {

class PageSpill {
 public:
  // Its bitmaps are Chunks::map(q).
  std::size_t plan(const Shape& shape, std::size_t at) {
    lists_at_ = at;
    return at + shape.chunks * sizeof(std::uint32_t);
  }

  // Pages [i, i + n) of chunk c, of class q, the lanes of the group together.
  template <class Thread>
  SIMT_INLINE void put(const Chunks& chunks, const LaneGroup<Thread>& group, std::uint32_t q, std::uint32_t c,
                       std::uint32_t i, std::uint32_t n) const {
    for (std::uint32_t k = group.rank(); k + 1 < n; k += group.size()) *link(chunks, q, c, i + k) = i + k + 2;
    group.sync();
    if (group.rank() == 0) give(chunks, q, c, list_of(i, i + n - 1));
  }

  // A page for each lane of the group, as far as one chunk has some; nullptr for the others.
  template <class Thread>
  SIMT_INLINE void* take(const Chunks& chunks, const LaneGroup<Thread>& group, std::uint32_t q) const {
    // {chunk:32, list:32}
    const std::uint64_t found = group.once([&] { return take_list(chunks, q); });
    if (found == 0) return nullptr;
    group.sync();  // passes the acquire on: the links
    const auto c = static_cast<std::uint32_t>(found >> 32), list = static_cast<std::uint32_t>(found);
    std::uint32_t at = first_of(list), k = group.rank();
    SIMT_ROLLED
    for (; k > 0 && at != last_of(list); --k) at = *link(chunks, q, c, at) - 1;
    const bool has = k == 0;
    const bool gives = has && group.rank() + 1 == group.size() && at != last_of(list);
    const std::uint32_t rest = gives ? *link(chunks, q, c, at) - 1 : 0;
    group.sync();  // the links have been read, and pages may be written
    if (gives) give(chunks, q, c, list_of(rest, last_of(list)));
    return has ? chunks.page(c, q, at) : nullptr;
  }

  // May there be any?
  SIMT_INLINE bool any(const Chunks& chunks, std::uint32_t q) const { return chunks.map(q).hinted(); }

  // visit(chunk, page) on the host.
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
  // A list: {last page:16, first page + 1:16}, 0: empty. A page's link is the next page + 1; that of the last means nothing.
  static SIMT_INLINE std::uint32_t list_of(std::uint32_t first, std::uint32_t last) { return last << 16 | (first + 1); }
  static SIMT_INLINE std::uint32_t first_of(std::uint32_t list) { return (list & 0xffffu) - 1; }
  static SIMT_INLINE std::uint32_t last_of(std::uint32_t list) { return list >> 16; }
  SIMT_INLINE std::uint32_t* list_at(const Chunks& chunks, std::uint32_t c) const {
    return reinterpret_cast<std::uint32_t*>(chunks.base() + lists_at_) + c;
  }
  static SIMT_INLINE std::uint32_t* link(const Chunks& chunks, std::uint32_t q, std::uint32_t c, std::uint32_t i) {
    return reinterpret_cast<std::uint32_t*>(chunks.page(c, q, i));
  }

  // All of a chunk's, or 0.
  SIMT_INLINE std::uint64_t take_list(const Chunks& chunks, std::uint32_t q) const {
    const SumMap map = chunks.map(q);
    SIMT_ROLLED
    for (std::uint32_t c = 0; (c = map.find(c)) != SumMap::none;) {
      if (map.take(c) == 0) continue;
      // acquire: the links, and the pages' last users.
      const std::uint32_t list = simt::atomic_ref<std::uint32_t>(*list_at(chunks, c)).exchange(0, simt::acquire);
      if (list != 0) return std::uint64_t{c} << 32 | list;
    }
    return 0;
  }

  // Puts the list in front of the one that is there.
  SIMT_INLINE void give(const Chunks& chunks, std::uint32_t q, std::uint32_t c, std::uint32_t list) const {
    const simt::atomic_ref<std::uint32_t> word(*list_at(chunks, c));
    std::uint32_t seen = word.load(simt::relaxed), next = 0;
    SIMT_ROLLED
    do {
      next = list;
      if (seen != 0) {
        *link(chunks, q, c, last_of(list)) = first_of(seen) + 1;
        next = list_of(first_of(list), last_of(seen));
      }
      // release: hands pages and links over. As a read-modify-write it keeps the chain of those that were there.
    } while (!word.compare_exchange_weak(seen, next, simt::release, simt::relaxed));
    chunks.map(q).set(c);
  }

  std::size_t lists_at_ = 0;
};

}  // namespace heapwood::alloc::ouroboros
