// SPDX-License-Identifier: MIT
// The pieces of a circular list. First come the heaps of RegEff section 5 (equation 1): a heap is a
// binary tree of chunks whose level d has 2^d chunks of root/2^d units, so every level totals
// `root`. The rest of the pool after the heaps is divided into pieces of one size.
//
// Differs from the paper:
// - sizes are powers of two, and unless a smallest chunk is requested, the heaps get at most half
//   of the pool and about 2^13 chunks;
// - pieces are permanent: free chunks do not grow beyond a piece, so a search can begin at any
//   piece at any time. Only a block larger than a piece of the rest takes several, as a whole;
// - each piece records its number of free chunks, so that searches skip full pieces, and the chunk
//   where a search of the piece begins.
#pragma once

#include <cstdint>

#include "alloc/allocator.hpp"
#include "alloc/primitives/word.hpp"
#include "simt/math.hpp"

namespace heapwood::alloc {

// Headers of a circular list of chunks, stored in a table beside the memory they describe: one
// entry per unit of memory, 0 if no chunk begins there. A header consists of a state (free, used,
// busy) and a link to the next chunk, which is 0 after the last one. Two representations: both in
// one word, or one word each.
//
// busy = claimed briefly by a running thread that splits, merges or frees. Only the owner of a
// chunk stores to a header that is not free; all other threads only exchange a free header for a
// busy one. A thread with an outdated position reads 0 or a valid header, never user data.

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

// The setting `smallest` on the command line.
inline constexpr AllocatorSetting smallest_setting = setting_of<&AllocatorOptions::smallest_chunk>(
    {.key = "smallest",
     .json = "smallest_chunk",
     .about = "bytes of the smallest chunk of the pre-split",
     .min = granule,
     .max = std::size_t{1} << 30});

enum class Offsets { one, per_multiprocessor };

// Places the offsets at equal distances. Each has its own 32-byte sector.
struct FirstOffset {
  static constexpr std::uint32_t stride = 8;  // in words: 32 bytes
  std::uint32_t* offsets;
  std::uint32_t units;  // between two offsets
  HEAPWOOD_FN void operator()(std::size_t i) const {
    offsets[i * stride] = static_cast<std::uint32_t>(i) * units;
  }
};

struct Piece {
  std::uint32_t begin, end;  // units
};

struct PresplitShape {
  std::uint32_t units = 0;  // of the pool
  std::uint32_t heaps = 1;
  std::uint32_t levels = 1;  // per heap
  // Levels whose chunks are pieces of their own. The smaller chunks of the lower levels are grouped
  // in pieces of the last level's size.
  std::uint32_t piece_levels = 1;
  std::uint32_t root_shift = 0;  // log2 of the units of a heap's largest chunk
  // log2 of the units of a piece of the rest; the last piece may be smaller.
  std::uint32_t rest_shift = 0;

  // Chooses the shape. requested_min_chunk: units of a heap's smallest chunk, 0 = automatic. heaps:
  // the number wanted; a small pool gets fewer.
  static PresplitShape choose(std::uint32_t units, std::uint32_t heaps,
                              std::uint32_t requested_min_chunk) {
    constexpr std::uint32_t max_pieces = 12u << 10, max_rest_pieces = 1u << 6, min_piece = 16;
    PresplitShape s;
    s.units = units;
    s.heaps = heaps * min_piece <= units ? heaps : units / min_piece;
    if (s.heaps == 0) s.heaps = 1;
    const std::uint64_t share = (requested_min_chunk == 0 ? units / 2 : units) / s.heaps;
    std::uint64_t min_chunk =
        simt::bit_floor(requested_min_chunk == 0 ? min_piece : requested_min_chunk);
    const std::uint32_t max_levels = simt::highest_bit(max_pieces / s.heaps + 1) > 0
                                         ? simt::highest_bit(max_pieces / s.heaps + 1)
                                         : 1;
    const auto total = [&](std::uint64_t n) { return n * (min_chunk << (n - 1)); };
    while (s.levels < (requested_min_chunk == 0 ? max_levels : 28) && total(s.levels + 1) <= share)
      ++s.levels;
    if (requested_min_chunk == 0 || total(1) > share)
      min_chunk = share / (std::uint64_t{s.levels} << (s.levels - 1));
    s.root_shift = (min_chunk > 0 ? simt::highest_bit(min_chunk) : 0) + s.levels - 1;
    s.piece_levels = s.levels < max_levels ? s.levels : max_levels;
    while (s.piece_levels > 1 && (s.root() >> (s.piece_levels - 1)) < min_piece) --s.piece_levels;
    s.rest_shift = 10;
    while (((units - s.rest()) >> s.rest_shift) >= max_rest_pieces) ++s.rest_shift;
    return s;
  }

  HEAPWOOD_INLINE std::uint32_t root() const { return 1u << root_shift; }
  HEAPWOOD_INLINE std::uint32_t heap_units() const { return levels << root_shift; }
  HEAPWOOD_INLINE std::uint32_t heap_chunks() const { return (1u << levels) - 1; }
  // The position at which the heaps end and the rest of the pool begins.
  HEAPWOOD_INLINE std::uint32_t rest() const { return heaps * heap_units(); }
  HEAPWOOD_INLINE std::uint32_t rest_piece() const { return 1u << rest_shift; }
  HEAPWOOD_INLINE std::uint32_t rest_pieces() const {
    return (units - rest() + rest_piece() - 1) >> rest_shift;
  }

  // The units of n blocks of `each` units, at most all units (fewer than 2^30). Computed in 64 bits
  // because the product can overflow 32.
  HEAPWOOD_INLINE std::uint32_t units_for(std::uint32_t each, std::uint32_t n) const {
    const std::uint64_t all = std::uint64_t{each} * n;
    return all < units ? static_cast<std::uint32_t>(all) : units;
  }

  // A heap's pieces of at least `wanted` units are 1 ... fits(wanted), numbered as in equation 1.
  HEAPWOOD_INLINE std::uint32_t fits(std::uint32_t wanted) const {
    if (wanted > root()) return 0;
    const std::uint32_t shift = wanted <= 1 ? 0 : simt::highest_bit(wanted - 1) + 1;
    const std::uint32_t level = root_shift - shift;
    return (2u << (level < piece_levels ? level : piece_levels - 1)) - 1;
  }
  HEAPWOOD_INLINE std::uint32_t position(std::uint32_t heap, std::uint32_t chunk) const {
    const unsigned level = simt::highest_bit(chunk);
    return heap * heap_units() + (level << root_shift) +
           ((chunk - (1u << level)) << (root_shift - level));
  }
  // The piece that contains a unit.
  HEAPWOOD_INLINE Piece piece(std::uint32_t position) const {
    if (position >= rest()) {
      const std::uint32_t n = (position - rest()) >> rest_shift, begin = rest() + (n << rest_shift);
      return {begin, begin + rest_piece() < units ? begin + rest_piece() : units};
    }
    const std::uint32_t level = (heaps == 1 ? position : position % heap_units()) >> root_shift;
    const std::uint32_t size = root() >> (level < piece_levels ? level : piece_levels - 1);
    const std::uint32_t begin = position & ~(size - 1);
    return {begin, begin + size};
  }
  // The entry in the table of pieces for the piece that begins at `begin`.
  HEAPWOOD_INLINE std::uint32_t index(std::uint32_t begin) const {
    const std::uint32_t finest = root_shift + 1 - piece_levels;
    return begin < rest() ? begin >> finest : (rest() >> finest) + ((begin - rest()) >> rest_shift);
  }
  // The inverse of index(), for any entry.
  HEAPWOOD_INLINE std::uint32_t begin_of(std::uint32_t index) const {
    const std::uint32_t finest = root_shift + 1 - piece_levels, in_heaps = rest() >> finest;
    return index < in_heaps ? index << finest : rest() + ((index - in_heaps) << rest_shift);
  }
  // Where a search continues if the piece at `begin` is too small: after the pieces that are no
  // larger, which are the later ones of its heap, or all later ones of the rest.
  HEAPWOOD_INLINE std::uint32_t past_smaller(std::uint32_t begin) const {
    return begin < rest() ? begin - begin % heap_units() + heap_units() : units;
  }
  // Entries of the table of pieces. Those of the heaps are numbered as if all pieces had the
  // smallest size. The tail has an entry too, which stays 0.
  HEAPWOOD_INLINE std::uint32_t table_size() const {
    return (rest() >> (root_shift + 1 - piece_levels)) + rest_pieces() + 1;
  }

  // Headers to write: the chunks of the heaps, the pieces of the rest, the tail.
  std::size_t headers() const { return std::size_t{heaps} * heap_chunks() + rest_pieces() + 1; }
};

// Two words of state per piece, and one word per group of 256 pieces.
struct PieceTable {
  std::uint32_t* words = nullptr;
  std::uint32_t* sums = nullptr;

  static constexpr std::size_t bytes(std::size_t entries) {
    return (2 * entries + (entries >> 8) + 1) * 4;
  }
  static PieceTable in_table(std::byte* table, std::size_t entries) {
    std::uint32_t* words = as<std::uint32_t>(table);
    return {words, words + 2 * entries};
  }

  // The number of free chunks that begin in the piece, including chunks being claimed, so 0 means
  // that it is full. Raised before the release that frees and lowered after the acquire that
  // claims: relaxed, and never below the true number.
  HEAPWOOD_INLINE Word32 free_chunks(std::uint32_t index) const { return Word32(words[2 * index]); }
  // The position at which a search through the piece begins, stored by the last thread that
  // allocated or freed there. A hint: any value is allowed.
  HEAPWOOD_INLINE Word32 start(std::uint32_t index) const { return Word32(words[2 * index + 1]); }
  // Whether no piece in the group of 256 pieces around `index` has a free chunk. next_group: the
  // first index after that group.
  HEAPWOOD_INLINE bool is_group_full(std::uint32_t index) const {
    return Word32(sums[index >> 8]).load(simt::relaxed) == 0;
  }
  static HEAPWOOD_INLINE std::uint32_t next_group(std::uint32_t index) { return (index | 255) + 1; }

  // Adds `more` free chunks to the piece and its group, modulo 2^32, so `more` may stand for a
  // negative number. Updates need no order because the sums are modular.
  HEAPWOOD_INLINE void add_free_chunks(std::uint32_t index, std::uint32_t more) const {
    Word32(sums[index >> 8]).fetch_add(more, simt::relaxed);
    free_chunks(index).fetch_add(more, simt::relaxed);
  }
};

// Executed for every i < shape.headers(): writes header i of the list and counts its chunk.
template <class Headers>
struct Presplit {
  Headers headers;
  PieceTable pieces;
  PresplitShape shape;

  HEAPWOOD_FN void operator()(std::size_t i) const {
    const std::size_t chunks = std::size_t{shape.heaps} * shape.heap_chunks();
    if (i < chunks) {
      const auto heap = static_cast<std::uint32_t>(i / shape.heap_chunks());
      const auto chunk = static_cast<std::uint32_t>(i % shape.heap_chunks()) + 1;
      const std::uint32_t position = shape.position(heap, chunk);
      free(position, position + (shape.root() >> simt::highest_bit(chunk)));
    } else if (i < chunks + shape.rest_pieces()) {
      const Piece piece =
          shape.piece(shape.rest() + (static_cast<std::uint32_t>(i - chunks) << shape.rest_shift));
      free(piece.begin, piece.end);
    } else {
      // The tail: always used; its link leads back to the start.
      headers.init(shape.units, 0, true);
    }
  }

 private:
  HEAPWOOD_FN void free(std::uint32_t position, std::uint32_t next) const {
    headers.init(position, next, false);
    pieces.add_free_chunks(shape.index(shape.piece(position).begin), 1);
  }
};

}  // namespace heapwood::alloc
