// SPDX-License-Identifier: MIT
// The initial chunks of a circular list as published. All are free.
//   - Heap (RegEff section 5.2, equation 1): a binary heap of chunks. Level d has 2^d chunks of
//     root/2^d units, so every level totals `root`. The root is as large as the pool allows with
//     the given smallest chunk, 16 bytes in the paper. With one offset per multiprocessor there are
//     as many heaps, one after the other.
//   - Uniform (RegEff section 8): as many chunks of one size as fit, each a heap of one level. The
//     offsets are spread evenly over them.
// The memory after the heaps is the last chunk. Limits: a uniform list serves no request above its
// chunk, because the last chunk is smaller, until frees have merged chunks.
#pragma once

#include <cstdint>

#include "alloc/circular_list_published/headers.hpp"
#include "simt/math.hpp"

namespace heapwood::alloc::published {

struct Shape {
  std::uint32_t units = 0;  // of all chunks; also the position of the tail
  std::uint32_t heaps = 1;
  std::uint32_t levels = 0;    // per heap
  std::uint32_t smallest = 1;  // units of a chunk of the last level
  std::uint32_t offsets = 1;   // where searches begin, one every heaps/offsets heaps

  static Shape choose(std::uint32_t units, std::uint32_t offsets, std::uint32_t smallest) {
    Shape s{
        .units = units, .heaps = offsets, .levels = 0, .smallest = smallest, .offsets = offsets};
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

  HEAPWOOD_INLINE std::uint32_t root() const { return levels == 0 ? 0 : smallest << (levels - 1); }
  HEAPWOOD_INLINE std::uint32_t heap_units() const { return levels * root(); }
  HEAPWOOD_INLINE std::uint32_t heap_chunks() const { return (1u << levels) - 1; }
  HEAPWOOD_INLINE std::uint32_t end_of_heaps() const { return heaps * heap_units(); }
  HEAPWOOD_INLINE std::uint32_t heaps_per_offset() const { return heaps / offsets; }
  // Units between the initial positions of two offsets.
  std::uint32_t units_per_offset() const { return heaps_per_offset() * heap_units(); }

  // The position of chunk i of a heap in units; i counts from 1, as in RegEff's equation 1.
  HEAPWOOD_INLINE std::uint32_t position(std::uint32_t heap, std::uint32_t i) const {
    const unsigned level = simt::highest_bit(i);
    return heap * heap_units() + level * root() + (i - (1u << level)) * (root() >> level);
  }
  HEAPWOOD_INLINE std::uint32_t size(std::uint32_t i) const {
    return root() >> simt::highest_bit(i);
  }
  // The chunks of a heap with at least `wanted` units are 1 ... fits(wanted).
  HEAPWOOD_INLINE std::uint32_t fits(std::uint32_t wanted) const {
    if (wanted > root()) return 0;
    const unsigned level = simt::highest_bit(root() / wanted);
    return (2u << (level < levels ? level : levels - 1)) - 1;
  }

  // Headers to write: those of the heaps' chunks, of the last chunk and of the tail.
  std::size_t headers() const { return std::size_t{heaps} * heap_chunks() + 2; }
};

// Writes header i, and the position of its previous chunk if headers record that.
template <class Headers, class Previous>
struct WriteHeaders {
  Headers headers;
  Previous previous;
  Shape shape;

  HEAPWOOD_FN void operator()(std::size_t i) const {
    const std::uint32_t chunks = shape.heaps * shape.heap_chunks(), last = shape.end_of_heaps();
    if (i < chunks) {
      const auto heap = static_cast<std::uint32_t>(i / shape.heap_chunks());
      const auto chunk = static_cast<std::uint32_t>(i % shape.heap_chunks()) + 1;
      const std::uint32_t position = shape.position(heap, chunk),
                          next = position + shape.size(chunk);
      headers.init(position, State::free, next);
      previous.store(next, position);
      if (i == 0) previous.store(0, 0);
    } else if (i == chunks) {
      if (last == shape.units) return;
      headers.init(last, State::free, shape.units);
      previous.store(shape.units, last);
      if (last == 0) previous.store(0, 0);
    } else {
      headers.init(shape.units, State::used, 0);  // the tail leads back to the start
    }
  }
};

}  // namespace heapwood::alloc::published
