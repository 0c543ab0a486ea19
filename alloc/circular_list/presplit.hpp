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
// - each piece knows how many free chunks it has, so that searches skip full pieces, and where a
//   search through it should begin.
#pragma once

#include <cstdint>

#include "alloc/circular_list/header_words.hpp"
#include "alloc/primitives/word.hpp"
#include "simt/math.hpp"

namespace heapwood::alloc {

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
