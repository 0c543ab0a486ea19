// SPDX-License-Identifier: MIT
// PageRank and triangle counting on any layout.
#pragma once

#include <cstdint>

#include "simt/atomic_ref.hpp"
#include "workloads/graph/vertex_table.hpp"

namespace heapwood::workloads::graph::steps_detail {

// Adds to a sum that other threads also add to. On CPU threads this is a loop of compare-and-swap,
// because the oldest supported libcu++ has no fetch_add() of floats there.
template <class Float>
HEAPWOOD_INLINE void add_to_sum(Float& sum, Float value) {
  simt::atomic_ref<Float> word(sum);
  if constexpr (requires { word.fetch_add(value, simt::relaxed); }) {
    word.fetch_add(value, simt::relaxed);
  } else {
    Float seen = word.load(simt::relaxed);
    while (!word.compare_exchange_weak(seen, seen + value, simt::relaxed, simt::relaxed)) {
    }
  }
}

// Calls f(vertex, value, destination) for each edge of the lanes' vertices, one vertex per lane;
// `value` is what prepare(vertex, degree) returned. Each lane visits a short adjacency alone; then
// the warp visits the long ones together.
template <class View, class Warp, class Prepare, class F>
HEAPWOOD_INLINE void for_edges_of_warp(Warp& warp, const View& view, std::uint32_t vertex,
                                       bool valid, Prepare prepare, F f) {
  constexpr std::uint32_t max_alone = Warp::width == 1 ? ~std::uint32_t{0} : 16;
  const std::uint32_t degree = valid ? view.degree(vertex) : 0;
  const auto value = valid && degree > 0 ? prepare(vertex, degree) : decltype(prepare(0u, 0u)){};
  const bool alone = degree <= max_alone;
  if (alone) {
    for_neighbours(view, vertex, 0, degree, 1, [&](std::uint32_t to) { f(vertex, value, to); });
  }
  std::uint32_t rest = warp.ballot(!alone);
  HEAPWOOD_ROLLED
  while (rest != 0) {
    const unsigned owner = simt::lowest_bit(rest);
    rest &= rest - 1;
    const std::uint32_t from = warp.shfl(vertex, owner), n = warp.shfl(degree, owner);
    const auto shared = warp.shfl(value, owner);
    for_neighbours(view, from, warp.lane(), n, Warp::width,
                   [&](std::uint32_t to) { f(from, shared, to); });
    warp.sync();
  }
}

// Calls copy(row(lane), i) for every i below the degree of the lane's row. Each lane copies a short
// row alone; then the warp copies the long ones together.
template <class Warp, class Row, class Copy>
HEAPWOOD_INLINE void copy_rows(Warp& warp, std::uint32_t degree, Row row, Copy copy) {
  constexpr std::uint32_t max_alone = Warp::width == 1 ? ~std::uint32_t{0} : 16;
  const bool alone = degree <= max_alone;
  if (alone) {
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i < degree; ++i) copy(row(warp.lane()), i);
  }
  std::uint32_t rest = warp.ballot(!alone);
  HEAPWOOD_ROLLED
  while (rest != 0) {
    const unsigned owner = simt::lowest_bit(rest);
    rest &= rest - 1;
    const std::uint32_t n = warp.shfl(degree, owner);
    for (std::uint64_t i = warp.lane(); i < n; i += Warp::width)
      copy(row(owner), static_cast<std::uint32_t>(i));
  }
}

// Adds the hashes of all edges.
template <class View>
struct EdgeHashKernel : KernelShape {
  View view;
  std::uint64_t* total;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t v = thread_of(warp);
    std::uint64_t sum = 0;
    for_edges_of_warp(
        warp, view, static_cast<std::uint32_t>(v), v < view.count,
        [](std::uint32_t, std::uint32_t) { return 0; },
        [&](std::uint32_t from, int, std::uint32_t to) {
          sum += edge_hash_of(edge_key(from, to));
        });
    HEAPWOOD_ROLLED
    for (unsigned step = Warp::width / 2; step > 0; step /= 2)
      sum += warp.shfl(sum, warp.lane() ^ step);
    if (warp.lane() == 0)  // relaxed: a sum
      simt::atomic_ref<std::uint64_t>(*total).fetch_add(sum, simt::relaxed);
  }
};

// One PageRank iteration of the push kind: adds each vertex's share to its neighbours' ranks.
template <class View>
struct PageRankKernel : KernelShape {
  View view;
  const float* ranks;
  float* next;
  float damping;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t v = thread_of(warp);
    for_edges_of_warp(
        warp, view, static_cast<std::uint32_t>(v), v < view.count,
        [&](std::uint32_t from, std::uint32_t degree) {
          return damping * ranks[from] / static_cast<float>(degree);
        },
        [&](std::uint32_t, float share, std::uint32_t to) { add_to_sum(next[to], share); });
  }
};

// Counts the entries greater than v that are in the adjacencies of both u and v. All lanes of the
// warp search for entries of the smaller adjacency in the larger one. Returns this lane's count.
template <class View, class Warp>
HEAPWOOD_INLINE std::uint64_t common_above(const Warp& warp, const View& view, std::uint32_t u,
                                           std::uint32_t v) {
  const std::uint32_t* a = view.adjacency(u);
  const std::uint32_t* b = view.adjacency(v);
  std::uint32_t na = view.degree(u), nb = view.degree(v);
  const std::uint32_t skip_a = lower_bound(a, na, v + 1), skip_b = lower_bound(b, nb, v + 1);
  a += skip_a;
  b += skip_b;
  na -= skip_a;
  nb -= skip_b;
  if (na > nb) {
    const std::uint32_t* const c = a;
    a = b;
    b = c;
    const std::uint32_t n = na;
    na = nb;
    nb = n;
  }
  std::uint64_t count = 0;
  HEAPWOOD_ROLLED
  for (std::uint64_t i = warp.lane(); i < na; i += Warp::width) {
    const std::uint32_t index = lower_bound(b, nb, a[i]);
    count += index < nb && b[index] == a[i];
  }
  return count;
}

// A position in an adjacency that is a list of pages.
struct PageCursor {
  const LinkedPage* pages;
  std::uint32_t page, index, left;

  HEAPWOOD_INLINE PageCursor(const PagesView& view, std::uint32_t v)
      : pages(view.pages), page(view.vertices[v].first), index(0), left(view.vertices[v].degree) {}
  HEAPWOOD_INLINE std::uint32_t value() const { return pages[page].destinations[index]; }
  HEAPWOOD_INLINE void advance() {
    --left;
    if (++index == LinkedPage::capacity && left > 0) {
      page = pages[page].next;
      index = 0;
    }
  }
};
// common_above() by one lane, which merges the two lists: pages allow no binary search.
HEAPWOOD_INLINE std::uint64_t merge_above(const PagesView& view, std::uint32_t u, std::uint32_t v) {
  PageCursor a(view, u), b(view, v);
  std::uint64_t count = 0;
  HEAPWOOD_ROLLED
  while (a.left > 0 && b.left > 0) {
    const std::uint32_t x = a.value(), y = b.value();
    count += x == y && x > v;
    if (x <= y) a.advance();
    if (y <= x) b.advance();
  }
  return count;
}

// Counts triangles. Each warp handles 32 edges in the order of the vertices, so that many warps
// share a vertex of high degree.
template <class View>
struct TriangleKernel : KernelShape {
  static constexpr std::uint32_t edges_per_warp = 32;
  View view;
  const std::uint64_t* offsets;
  std::uint64_t* total;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t edges = offsets[view.count];
    std::uint64_t edge = std::uint64_t{warp.worker()} * edges_per_warp;
    if (edge >= edges) return;
    const std::uint64_t end = edge + edges_per_warp < edges ? edge + edges_per_warp : edges;
    // The vertex of the first edge: the last one whose offset is not above it.
    const std::uint32_t first = lower_bound(offsets, view.count, edge + 1) - 1;
    std::uint64_t count = 0;
    HEAPWOOD_ROLLED
    for (std::uint32_t u = first; edge < end; ++u) {
      const std::uint64_t stop = offsets[u + 1] < end ? offsets[u + 1] : end;
      if (stop <= edge) continue;
      count += count_edges(warp, u, static_cast<std::uint32_t>(edge - offsets[u]),
                           static_cast<std::uint32_t>(stop - offsets[u]));
      edge = stop;
    }
    // reduce_add() adds 32 bits. The counts of all lanes add up to at most edges_per_warp times a
    // degree, so neither the sum of their lower 16 bits nor that of the rest overflows.
    const std::uint64_t sum =
        warp.reduce_add(static_cast<std::uint32_t>(count & 0xffff)) +
        (std::uint64_t{warp.reduce_add(static_cast<std::uint32_t>(count >> 16))} << 16);
    if (warp.lane() == 0 && sum > 0)
      simt::atomic_ref<std::uint64_t>(*total).fetch_add(sum, simt::relaxed);  // relaxed: a sum
  }

 private:
  template <class Warp>
  HEAPWOOD_INLINE std::uint64_t count_edges(Warp& warp, std::uint32_t u, std::uint32_t begin,
                                            std::uint32_t end) const {
    std::uint64_t count = 0;
    if constexpr (requires { view.adjacency(u); }) {
      const std::uint32_t* adjacency = view.adjacency(u);
      HEAPWOOD_ROLLED
      for (std::uint32_t i = begin; i < end; ++i) {
        if (adjacency[i] > u) count += common_above(warp, view, u, adjacency[i]);
      }
    } else {
      for_neighbours(view, u, begin + warp.lane(), end, Warp::width, [&](std::uint32_t v) {
        if (v > u) count += merge_above(view, u, v);
      });
    }
    warp.sync();
    return count;
  }
};

}  // namespace heapwood::workloads::graph::steps_detail
