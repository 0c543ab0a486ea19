// SPDX-License-Identifier: MIT
// The initial chunks of a circular list: RegEff section 5 (equation 1), a binary heap of chunks. Level d of a heap has
// 2^d chunks of root/2^d units, so that every level totals `root`; what the heaps leave over is one last chunk.
// Differs from the paper: unless a smallest chunk is asked for, the heaps get half of the pool and at most 2^13 chunks.
// The paper's smallest chunk of 16 bytes makes 8 million chunks of 2 GiB, and one lap round the list takes seconds; and
// it leaves nothing larger than a heap's root when there is a heap a multiprocessor. These chunks, and as many of a
// finer pre-split, begin at anchors: they are never joined to what is in front of them, so that a walk can begin at any
// of them at any time, and what thousands of threads use side by side does not melt into one chunk.
#pragma once

#include <cstdint>

#include "alloc/primitives/header_words.hpp"
#include "simt/math.hpp"

namespace heapwood::alloc {

struct PresplitShape {
  std::uint32_t units = 0;  // of the pool
  std::uint32_t heaps = 1;
  std::uint32_t levels = 1;      // of a heap
  std::uint32_t root = 0;        // units of a heap's largest chunk
  std::uint32_t heap_units = 0;  // = levels * root
  std::uint32_t anchored = 1;    // levels whose chunks begin at anchors

  // smallest: units of a heap's smallest chunk, 0 = chosen. heaps: as many as wanted, fewer if the pool is small.
  static PresplitShape choose(std::uint32_t units, std::uint32_t heaps, std::uint32_t smallest) {
    constexpr std::uint32_t most_chunks = 1u << 13;
    PresplitShape s;
    s.units = units;
    s.heaps = heaps * 16 <= units ? heaps : units / 16;
    if (s.heaps == 0) s.heaps = 1;
    const std::uint64_t share = (smallest == 0 ? units / 2 : units) / s.heaps;
    std::uint64_t least = smallest == 0 ? 1 : smallest;
    const auto total = [&](std::uint32_t levels) { return levels * (least << (levels - 1)); };
    while (s.levels < 28 && total(s.levels + 1) <= share) ++s.levels;
    const auto most_levels = simt::highest_bit(most_chunks / s.heaps + 1);
    if (smallest == 0 && s.levels > most_levels) {
      s.levels = most_levels > 0 ? most_levels : 1;
      least = share / (std::uint64_t{s.levels} << (s.levels - 1));
    }
    s.anchored = s.levels < most_levels ? s.levels : most_levels > 0 ? most_levels : 1;
    s.root = static_cast<std::uint32_t>(least << (s.levels - 1));
    if (s.root > share) s.root = static_cast<std::uint32_t>(share);  // one level, and not even that
    s.heap_units = s.levels * s.root;
    return s;
  }

  // Where the last chunk begins, or the tail where there is none.
  SIMT_INLINE std::uint32_t rest() const { return heaps * heap_units; }
  // Chunks of a heap, numbered as in equation 1, that begin at anchors and have `wanted` units: 1 ... fits(wanted).
  SIMT_INLINE std::uint32_t fits(std::uint32_t wanted) const {
    if (wanted > root) return 0;
    std::uint32_t level = simt::highest_bit(root) - simt::highest_bit(wanted);
    if ((root >> level) < wanted) --level;
    if (level >= anchored) level = anchored - 1;
    return (2u << level) - 1;
  }
  SIMT_INLINE std::uint32_t position(std::uint32_t heap, std::uint32_t chunk) const {
    const unsigned level = simt::highest_bit(chunk);
    return heap * heap_units + level * root + (chunk - (1u << level)) * (root >> level);
  }

  SIMT_INLINE std::uint32_t heap_chunks() const { return (1u << levels) - 1; }
  // Headers to write: all chunks, the last chunk, the tail.
  std::size_t headers() const { return std::size_t{heaps} * heap_chunks() + 2; }
};

// Writes header i of the list. Run once for every i < shape.headers().
template <class Headers>
struct Presplit {
  Headers headers;
  PresplitShape shape;

  SIMT_FN void operator()(std::size_t i) const {
    const std::size_t chunks = std::size_t{shape.heaps} * shape.heap_chunks();
    if (i < chunks) {
      const auto heap = static_cast<std::uint32_t>(i / shape.heap_chunks());
      const auto chunk = static_cast<std::uint32_t>(i % shape.heap_chunks()) + 1;
      const unsigned level = simt::highest_bit(chunk);
      const std::uint32_t at = shape.position(heap, chunk);
      headers.init(at, (at + (shape.root >> level)) | (level < shape.anchored ? header::anchor : 0), false);
    } else if (i == chunks) {
      if (shape.rest() < shape.units) headers.init(shape.rest(), shape.units | header::anchor, false);
    } else {
      headers.init(shape.units, 0, true);  // the tail: used for ever, leads back to the start
    }
  }
};

}  // namespace heapwood::alloc
