// SPDX-License-Identifier: MIT
// Initialization with counted size classes (Ouroboros section 6.2.1: memory requirements are first
// determined in parallel). Lists the vertices of a graph in the order of the size classes of their
// blocks. Every class begins at a multiple of the width of a warp, so that the lanes of a warp
// request blocks of one size together.
//
// Allocators that hand out runs of blocks (Ouroboros) then serve a class run by run, without a
// malloc per vertex, as in the paper. With all others each block is requested by malloc.
#pragma once

#include <cstdint>

#include "simt/atomic_ref.hpp"
#include "simt/math.hpp"
#include "workloads/graph/edge_groups.hpp"
#include "workloads/graph/vertex_table.hpp"

namespace heapwood::workloads::graph {

struct ClassOrder {
  // Class_of() is below 31; class 31 is for vertices without a block.
  static constexpr std::uint32_t classes = 32;
  static constexpr std::uint32_t no_block = classes - 1;
  static constexpr std::uint32_t no_vertex = ~std::uint32_t{0};
  // Length of the list for `vertices` vertices, including the gaps between classes.
  static constexpr std::size_t max_listed(std::uint32_t vertices) {
    return vertices + std::size_t{classes} * 32;
  }
};

// Where the vertices of each class are in the list.
struct ClassRanges {
  std::uint32_t begins[ClassOrder::classes], counts[ClassOrder::classes];
  std::uint32_t listed;  // entries in use, including the gaps
};

namespace steps_detail {

// Counts the vertices of each class or, with `order`, lists them.
struct ClassOrderKernel {
  struct Scratch {
    std::uint32_t counts[ClassOrder::classes];
    std::uint32_t next[ClassOrder::classes];  // positions of the warp's next vertices
  };
  static constexpr bool independent = true;
  static constexpr unsigned block_threads = 256, blocks_per_multiprocessor = 4;
  static constexpr std::uint32_t vertices_per_lane = 16;

  const std::uint64_t* offsets;  // count + 1 of them; degree of v = offsets[v + 1] - offsets[v]
  std::uint32_t count;
  // For each class the number of vertices that all warps have counted or, if there is an `order`,
  // the position of the next vertex to list.
  std::uint32_t* words;
  std::uint32_t* order;  // nullptr: only count

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch& scratch) const {
    for (std::uint32_t k = warp.lane(); k < ClassOrder::classes; k += Warp::width)
      scratch.counts[k] = 0;
    warp.sync();
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i < vertices_per_lane; ++i) {
      const std::uint32_t k = class_at(vertex_at(warp, i));
      if (k != ClassOrder::no_block) warp.scratch_add(scratch.counts[k], 1);
    }
    warp.sync();
    for (std::uint32_t k = warp.lane(); k < ClassOrder::classes; k += Warp::width) {
      if (scratch.counts[k] == 0) continue;
      // relaxed: counts and positions order no other memory.
      scratch.next[k] =
          simt::atomic_ref<std::uint32_t>(words[k]).fetch_add(scratch.counts[k], simt::relaxed);
    }
    if (order == nullptr) return;
    warp.sync();
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i < vertices_per_lane; ++i) {
      const std::uint64_t v = vertex_at(warp, i);
      list(warp, scratch, static_cast<std::uint32_t>(v), class_at(v));
    }
  }

 private:
  template <class Warp>
  HEAPWOOD_INLINE static std::uint64_t vertex_at(const Warp& warp, std::uint32_t i) {
    return (std::uint64_t{warp.worker()} * vertices_per_lane + i) * Warp::width + warp.lane();
  }
  HEAPWOOD_INLINE std::uint32_t class_at(std::uint64_t v) const {
    if (v >= count) return ClassOrder::no_block;
    const auto degree = static_cast<std::uint32_t>(offsets[v + 1] - offsets[v]);
    return degree == 0 ? ClassOrder::no_block : class_of(degree);
  }
  // Lists one vertex per lane; lanes of one class get adjacent positions.
  template <class Warp>
  HEAPWOOD_INLINE void list(Warp& warp, Scratch& scratch, std::uint32_t v, std::uint32_t k) const {
    std::uint32_t rest = warp.ballot(k != ClassOrder::no_block);
    HEAPWOOD_ROLLED
    while (rest != 0) {
      const unsigned first = simt::lowest_bit(rest);
      const std::uint32_t chosen = warp.shfl(k, first), mates = warp.ballot(k == chosen);
      rest &= ~mates;
      const std::uint32_t position = scratch.next[chosen];
      if (k == chosen) order[position + simt::popcount(mates & lanes_below(warp))] = v;
      warp.sync();  // all lanes have read `next`
      if (warp.lane() == first) scratch.next[chosen] = position + simt::popcount(mates);
      warp.sync();
    }
  }
};

}  // namespace steps_detail

}  // namespace heapwood::workloads::graph
