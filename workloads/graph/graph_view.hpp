// SPDX-License-Identifier: MIT
// The layouts of a graph as algorithms see them: a number of vertices, degrees and adjacencies.
#pragma once

#include <cstdint>
#include <variant>

#include "workloads/graph/vertex_table.hpp"

namespace heapwood::workloads::graph {

// Contiguous adjacencies, found through a table of vertices.
struct BlocksView {
  Vertex* vertices;
  std::uint32_t count;

  HEAPWOOD_INLINE std::uint32_t degree(std::uint32_t v) const { return vertices[v].degree; }
  HEAPWOOD_INLINE std::uint32_t* adjacency(std::uint32_t v) const { return vertices[v].adjacency; }
};

// Compressed sparse rows.
struct CsrView {
  std::uint64_t* offsets;  // count + 1
  std::uint32_t* destinations;
  std::uint32_t count;

  HEAPWOOD_INLINE std::uint32_t degree(std::uint32_t v) const {
    return static_cast<std::uint32_t>(offsets[v + 1] - offsets[v]);
  }
  HEAPWOOD_INLINE std::uint32_t* adjacency(std::uint32_t v) const {
    return destinations + offsets[v];
  }
};

// Linked pages of 64 bytes, all of them full but the last one of a vertex.
struct LinkedPage {
  static constexpr std::uint32_t capacity = 15, none = ~std::uint32_t{0};
  std::uint32_t destinations[capacity];
  std::uint32_t next;  // index of a page, or `none`
};
static_assert(sizeof(LinkedPage) == 64);

struct PagedVertex {
  std::uint32_t degree, first, last;  // pages, or LinkedPage::none
  std::uint32_t lock;
};

struct PagesView {
  PagedVertex* vertices;
  LinkedPage* pages;
  std::uint32_t count;

  HEAPWOOD_INLINE std::uint32_t degree(std::uint32_t v) const { return vertices[v].degree; }
};

using GraphView = std::variant<BlocksView, CsrView, PagesView>;

// Calls f(destination) for the entries begin, begin + step, ... below `end` of v's adjacency. The
// lanes of a warp share them if each begins at its number and `step` is the width of the warp.
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
