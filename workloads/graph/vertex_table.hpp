// SPDX-License-Identifier: MIT
// The dynamic graph in device memory (Ouroboros section 6.2): a table of vertices, each with one
// contiguous block of destinations. A block has 16 bytes x 2^k, the smallest such size that fits:
// there is no over-allocation, so a vertex whose degree passes a power of two moves to another
// block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "simt/atomic_ref.hpp"
#include "simt/config.hpp"
#include "simt/math.hpp"
#include "simt/warp.hpp"
#include "workloads/thread_kernels.hpp"

namespace heapwood::workloads::graph {

// Base class of kernels that need no Scratch.
using KernelShape = ThreadKernel<4>;

// An edge as one word: source in the high half, destination in the low half.
using EdgeKey = std::uint64_t;

HEAPWOOD_INLINE EdgeKey edge_key(std::uint32_t source, std::uint32_t destination) {
  return static_cast<EdgeKey>(source) << 32 | destination;
}
HEAPWOOD_INLINE std::uint32_t source_of(EdgeKey key) {
  return static_cast<std::uint32_t>(key >> 32);
}
HEAPWOOD_INLINE std::uint32_t destination_of(EdgeKey key) {
  return static_cast<std::uint32_t>(key);
}

// Hashes an edge. The sums of these hashes are equal for equal sets of edges.
HEAPWOOD_INLINE std::uint64_t edge_hash_of(EdgeKey key) {
  key = (key ^ key >> 31) * 0x9e3779b97f4a7c15u;
  key = (key ^ key >> 29) * 0xbf58476d1ce4e5b9u;
  return key ^ key >> 32;
}

// Returns the index of the first of `count` sorted entries that is not below `value`, or `count`.
template <class T, class Index>
HEAPWOOD_INLINE Index lower_bound(const T* sorted, Index count, T value) {
  Index low = 0, high = count;
  HEAPWOOD_ROLLED
  while (low < high) {
    const Index middle = low + (high - low) / 2;
    if (sorted[middle] < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Size class k has blocks for 4 x 2^k destinations.
HEAPWOOD_INLINE std::size_t block_bytes(std::uint32_t k) { return std::size_t{16} << k; }
// The smallest size class for a degree above 0.
HEAPWOOD_INLINE std::uint32_t class_of(std::uint32_t degree) {
  return degree <= 4 ? 0 : simt::highest_bit(std::uint64_t{degree} - 1) - 1;
}

// A vertex of degree 0 has no block. A vertex has a block of a larger class than its degree needs
// only if a request for a smaller block was refused.
struct Vertex {
  std::uint32_t degree;
  std::uint32_t state;  // size class, and the bit `locked`
  std::uint32_t* adjacency;

  static constexpr std::uint32_t locked = 1u << 31;

  HEAPWOOD_INLINE std::uint32_t capacity_class() const { return state & ~locked; }
};
static_assert(sizeof(Vertex) == 16);

// The lock of a vertex, held by a warp: a bit of a word whose other bits the holder may use. The
// holder is a running warp that waits for no other one, so every wait ends.
class VertexLock {
 public:
  static constexpr std::uint32_t locked = Vertex::locked;

  HEAPWOOD_INLINE explicit VertexLock(std::uint32_t& word) : state_(word) {}

  // All lanes must call this together. Returns false if the launch was aborted; then the lock is
  // not held. `state` gets the other bits of the word.
  template <class Warp>
  HEAPWOOD_INLINE bool lock(Warp& warp, std::uint32_t& state) const {
    std::uint32_t seen = 0;
    bool held = warp.lane() != 0;
    const bool won = simt::wait_until_all(warp, [&] {
      if (!held) held = try_lock(seen);
      return held;
    });
    if (!won) {
      // Lane 0 may have taken the lock in this turn.
      if (warp.lane() == 0 && held) unlock(seen);
      return false;
    }
    warp.sync();  // orders lane 0's acquire before the other lanes' reads
    state = warp.shfl(seen, 0);
    return true;
  }
  // Called by lane 0 only, after all lanes have synced.
  HEAPWOOD_INLINE void unlock(std::uint32_t state) const {
    // release: publishes the vertex and its adjacency to the next holder.
    simt::atomic_ref<std::uint32_t>(state_).store(state, simt::release);
  }

 private:
  HEAPWOOD_INLINE bool try_lock(std::uint32_t& seen) const {
    const simt::atomic_ref<std::uint32_t> word(state_);
    seen = word.load(simt::relaxed);
    // acquire: makes what the previous holder wrote visible.
    return (seen & locked) == 0 &&
           word.compare_exchange_strong(seen, seen | locked, simt::acquire, simt::relaxed);
  }

  std::uint32_t& state_;
};

// ---- the layouts of a graph as algorithms see them: a number of vertices, degrees, adjacencies --

// Contiguous adjacencies, found through a table of vertices.
struct BlocksView {
  Vertex* vertices;
  std::uint32_t count;

  HEAPWOOD_INLINE std::uint32_t degree(std::uint32_t v) const { return vertices[v].degree; }
  HEAPWOOD_INLINE std::uint32_t* adjacency(std::uint32_t v) const { return vertices[v].adjacency; }
};

// A graph in compressed sparse rows.
struct CsrView {
  std::uint64_t* offsets;  // count + 1 entries
  std::uint32_t* destinations;
  std::uint32_t count;

  HEAPWOOD_INLINE std::uint32_t degree(std::uint32_t v) const {
    return static_cast<std::uint32_t>(offsets[v + 1] - offsets[v]);
  }
  HEAPWOOD_INLINE std::uint32_t* adjacency(std::uint32_t v) const {
    return destinations + offsets[v];
  }
};

// Adjacencies in linked pages of 64 bytes, all of them full except a vertex's last one.
struct LinkedPage {
  static constexpr std::uint32_t capacity = 15, none = ~std::uint32_t{0};
  std::uint32_t destinations[capacity];
  std::uint32_t next;  // number of the next page, or `none`
};
static_assert(sizeof(LinkedPage) == 64);

struct PagedVertex {
  std::uint32_t degree, first, last;  // number of the first and the last page, or LinkedPage::none
  std::uint32_t lock;
};

struct PagesView {
  PagedVertex* vertices;
  LinkedPage* pages;
  std::uint32_t count;

  HEAPWOOD_INLINE std::uint32_t degree(std::uint32_t v) const { return vertices[v].degree; }
};

using GraphView = std::variant<BlocksView, CsrView, PagesView>;

// Calls f(destination) for the entries begin, begin + step, ... below `end` of v's adjacency. To
// share them, a warp's lanes pass their number as `begin` and its width as `step`.
template <class View, class F>
HEAPWOOD_INLINE void for_neighbours(const View& view, std::uint32_t v, std::uint32_t begin,
                                    std::uint32_t end, std::uint32_t step, F f) {
  const std::uint32_t* adjacency = view.adjacency(v);
  HEAPWOOD_ROLLED
  for (std::uint64_t i = begin; i < end; i += step) f(adjacency[i]);
}
template <class F>
HEAPWOOD_INLINE void for_neighbours(const PagesView& view, std::uint32_t v, std::uint32_t begin,
                                    std::uint32_t end, std::uint32_t step, F f) {
  std::uint32_t page = view.vertices[v].first, base = 0;
  HEAPWOOD_ROLLED
  for (std::uint64_t i = begin; i < end; i += step) {
    while (i >= std::uint64_t{base} + LinkedPage::capacity) {
      page = view.pages[page].next;
      base += LinkedPage::capacity;
    }
    f(view.pages[page].destinations[i - base]);
  }
}

}  // namespace heapwood::workloads::graph
