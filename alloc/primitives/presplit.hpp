// SPDX-License-Identifier: MIT
// The pieces that a circular list is made of. First come the heaps: RegEff section 5 (equation 1), a binary heap of
// chunks. Level d of a heap has 2^d chunks of root/2^d units, so that every level totals `root`. What the heaps leave
// over, the rest, are pieces of one size.
// Differs from the paper:
//   - sizes are powers of two, and unless a smallest chunk is asked for, the heaps get at most half of the pool and about
//     2^13 chunks. The paper's smallest chunk of 16 bytes makes 8 million chunks of 2 GiB, and leaves nothing larger than
//     a heap's root when there is a heap a multiprocessor;
//   - a piece stays: free chunks do not grow beyond it, so that a walk can begin at any of them at any time, and what
//     thousands of threads use side by side does not melt into one chunk. Only blocks that are larger than a piece of the
//     rest take several of those, as a whole;
//   - each piece knows how many free chunks it has, so that a walk leaves out those that are full, and where a walk through
//     it best begins.
#pragma once

#include <cstdint>

#include "alloc/primitives/header_words.hpp"
#include "simt/math.hpp"

namespace heapwood::alloc {

struct Piece {
  std::uint32_t begin, end;  // units
};

struct PresplitShape {
  std::uint32_t units = 0;  // of the pool
  std::uint32_t heaps = 1;
  std::uint32_t levels = 1;  // of a heap
  std::uint32_t piece_levels =
      1;  // levels whose chunks are pieces; those of smaller chunks are in pieces of the last size
  std::uint32_t root_shift = 0;  // log2 of the units of a heap's largest chunk
  std::uint32_t rest_shift = 0;  // log2 of the units of a piece of the rest; the last one is smaller

  // smallest: units of a heap's smallest chunk, 0 = chosen. heaps: as many as wanted, fewer if the pool is small.
  static PresplitShape choose(std::uint32_t units, std::uint32_t heaps, std::uint32_t smallest) {
    constexpr std::uint32_t most_pieces = 12u << 10, most_rest_pieces = 1u << 6, smallest_piece = 16;
    PresplitShape s;
    s.units = units;
    s.heaps = heaps * smallest_piece <= units ? heaps : units / smallest_piece;
    if (s.heaps == 0) s.heaps = 1;
    const std::uint64_t share = (smallest == 0 ? units / 2 : units) / s.heaps;
    std::uint64_t least = simt::bit_floor(smallest == 0 ? smallest_piece : smallest);
    const std::uint32_t most_levels =
        simt::highest_bit(most_pieces / s.heaps + 1) > 0 ? simt::highest_bit(most_pieces / s.heaps + 1) : 1;
    const auto total = [&](std::uint64_t levels) { return levels * (least << (levels - 1)); };
    while (s.levels < (smallest == 0 ? most_levels : 28) && total(s.levels + 1) <= share) ++s.levels;
    if (smallest == 0 || total(1) > share) least = share / (std::uint64_t{s.levels} << (s.levels - 1));
    s.root_shift = (least > 0 ? simt::highest_bit(least) : 0) + s.levels - 1;
    s.piece_levels = s.levels < most_levels ? s.levels : most_levels;
    while (s.piece_levels > 1 && (s.root() >> (s.piece_levels - 1)) < smallest_piece) --s.piece_levels;
    s.rest_shift = 10;
    while (((units - s.rest()) >> s.rest_shift) >= most_rest_pieces) ++s.rest_shift;
    return s;
  }

  SIMT_INLINE std::uint32_t root() const { return 1u << root_shift; }
  SIMT_INLINE std::uint32_t heap_units() const { return levels << root_shift; }
  SIMT_INLINE std::uint32_t heap_chunks() const { return (1u << levels) - 1; }
  // Where the heaps end.
  SIMT_INLINE std::uint32_t rest() const { return heaps * heap_units(); }
  SIMT_INLINE std::uint32_t rest_piece() const { return 1u << rest_shift; }
  SIMT_INLINE std::uint32_t rest_pieces() const { return (units - rest() + rest_piece() - 1) >> rest_shift; }

  // Pieces of a heap, numbered as in equation 1, that have `wanted` units: 1 ... fits(wanted).
  SIMT_INLINE std::uint32_t fits(std::uint32_t wanted) const {
    if (wanted > root()) return 0;
    const std::uint32_t shift = wanted <= 1 ? 0 : simt::highest_bit(wanted - 1) + 1;
    const std::uint32_t level = root_shift - shift;
    return (2u << (level < piece_levels ? level : piece_levels - 1)) - 1;
  }
  SIMT_INLINE std::uint32_t position(std::uint32_t heap, std::uint32_t chunk) const {
    const unsigned level = simt::highest_bit(chunk);
    return heap * heap_units() + (level << root_shift) + ((chunk - (1u << level)) << (root_shift - level));
  }
  // The piece in which a unit lies.
  SIMT_INLINE Piece piece(std::uint32_t at) const {
    if (at >= rest()) {
      const std::uint32_t n = (at - rest()) >> rest_shift, begin = rest() + (n << rest_shift);
      return {begin, begin + rest_piece() < units ? begin + rest_piece() : units};
    }
    const std::uint32_t level = (heaps == 1 ? at : at % heap_units()) >> root_shift;
    const std::uint32_t size = root() >> (level < piece_levels ? level : piece_levels - 1);
    const std::uint32_t begin = at & ~(size - 1);
    return {begin, begin + size};
  }
  // Where the piece that begins there stands in the table of pieces.
  SIMT_INLINE std::uint32_t index(std::uint32_t begin) const {
    const std::uint32_t finest = root_shift + 1 - piece_levels;
    return begin < rest() ? begin >> finest : (rest() >> finest) + ((begin - rest()) >> rest_shift);
  }
  // The other way round, for any entry.
  SIMT_INLINE std::uint32_t begin_of(std::uint32_t index) const {
    const std::uint32_t finest = root_shift + 1 - piece_levels, in_heaps = rest() >> finest;
    return index < in_heaps ? index << finest : rest() + ((index - in_heaps) << rest_shift);
  }
  // Behind the smallest pieces that follow on the piece at `begin` before larger ones come.
  SIMT_INLINE std::uint32_t past_smaller(std::uint32_t begin) const {
    return begin < rest() ? begin - begin % heap_units() + heap_units() : units;
  }
  // Entries of the table of pieces; those in the heaps are numbered as if all were of the smallest size. The tail has one,
  // which stays 0.
  SIMT_INLINE std::uint32_t table_size() const {
    return (rest() >> (root_shift + 1 - piece_levels)) + rest_pieces() + 1;
  }

  // Headers to write: the chunks of the heaps, the pieces of the rest, the tail.
  std::size_t headers() const { return std::size_t{heaps} * heap_chunks() + rest_pieces() + 1; }
};

// What is known of each piece, in two words, and of the pieces of 256 entries together, in one.
struct PieceTable {
  std::uint32_t* words = nullptr;
  std::uint32_t* sums = nullptr;

  static constexpr std::size_t bytes(std::size_t entries) { return (2 * entries + (entries >> 8) + 1) * 4; }
  static PieceTable at(std::byte* table, std::size_t entries) {
    std::uint32_t* words = reinterpret_cast<std::uint32_t*>(table);
    return {words, words + 2 * entries};
  }

  // How many free chunks begin in it, those being claimed among them, so that 0 means that it is full. Counted up in front
  // of the release that frees, and down behind the acquire that claims: relaxed, and never below the truth.
  SIMT_INLINE simt::atomic_ref<std::uint32_t> free_chunks(std::uint32_t index) const {
    return simt::atomic_ref<std::uint32_t>(words[2 * index]);
  }
  // Where to begin, as the last one to allocate or to free there has left it: a position in the piece or anything else.
  SIMT_INLINE simt::atomic_ref<std::uint32_t> start(std::uint32_t index) const {
    return simt::atomic_ref<std::uint32_t>(words[2 * index + 1]);
  }
  // Whether none of the pieces in its 256 entries has free chunks, and the entry behind those.
  SIMT_INLINE bool none_around(std::uint32_t index) const {
    return simt::atomic_ref<std::uint32_t>(sums[index >> 8]).load(simt::relaxed) == 0;
  }
  static SIMT_INLINE std::uint32_t behind(std::uint32_t index) { return (index | 255) + 1; }

  // `more` free chunks, modulo 2^32. The sum is one, too, so it needs no order among those who count.
  SIMT_INLINE void count(std::uint32_t index, std::uint32_t more) const {
    simt::atomic_ref<std::uint32_t>(sums[index >> 8]).fetch_add(more, simt::relaxed);
    free_chunks(index).fetch_add(more, simt::relaxed);
  }
};

// Writes header i of the list, and counts it. Run once for every i < shape.headers().
template <class Headers>
struct Presplit {
  Headers headers;
  PieceTable pieces;
  PresplitShape shape;

  SIMT_FN void operator()(std::size_t i) const {
    const std::size_t chunks = std::size_t{shape.heaps} * shape.heap_chunks();
    if (i < chunks) {
      const auto heap = static_cast<std::uint32_t>(i / shape.heap_chunks());
      const auto chunk = static_cast<std::uint32_t>(i % shape.heap_chunks()) + 1;
      const std::uint32_t at = shape.position(heap, chunk);
      free(at, at + (shape.root() >> simt::highest_bit(chunk)));
    } else if (i < chunks + shape.rest_pieces()) {
      const Piece piece = shape.piece(shape.rest() + (static_cast<std::uint32_t>(i - chunks) << shape.rest_shift));
      free(piece.begin, piece.end);
    } else {
      headers.init(shape.units, 0, true);  // the tail: used for ever, leads back to the start
    }
  }

 private:
  SIMT_FN void free(std::uint32_t at, std::uint32_t next) const {
    headers.init(at, next, false);
    pieces.count(shape.index(shape.piece(at).begin), 1);
  }
};

}  // namespace heapwood::alloc
