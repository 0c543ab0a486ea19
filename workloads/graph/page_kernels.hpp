// SPDX-License-Identifier: MIT
// Kernels that update adjacencies in linked pages; adjacency_run.hpp has the same cases for blocks.
// New edges are appended after the last one, and nothing is copied when an adjacency grows. A
// deletion fills holes from the end and returns the pages that this empties.
#pragma once

#include <cstdint>

#include "workloads/graph/adjacency_heap.hpp"
#include "workloads/graph/algorithm_kernels.hpp"
#include "workloads/graph/page_queue.hpp"

namespace heapwood::workloads::graph {

struct PageArguments {
  PagesView view;
  PageQueue queue;
  EdgeBatch inserts{}, deletes{};
  bool locks = false;
};

namespace steps_detail {

// Gives each vertex adjacent pages, so that writing its edges follows no links. A vertex that
// is refused memory gets degree 0.
struct PageRowsKernel : KernelShape {
  PagesView view;
  PageQueue queue;
  const std::uint64_t* offsets;
  RefusalTotals* totals;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t i = thread_of(warp);
    const std::uint32_t degree =
        i < view.count ? static_cast<std::uint32_t>(offsets[i + 1] - offsets[i]) : 0;
    const std::uint32_t pages = (degree + LinkedPage::capacity - 1) / LinkedPage::capacity;
    // Reserves the pages of all lanes by one addition per warp.
    const std::uint32_t before = warp.inclusive_add(pages) - pages;
    const std::uint32_t total = warp.shfl(before + pages, Warp::width - 1);
    std::uint64_t base = 0;
    if (warp.lane() == 0) base = queue.take_fresh(total);
    base = warp.shfl(base, 0);
    if (i >= view.count) return;
    PagedVertex vertex{0, LinkedPage::none, LinkedPage::none, 0};
    if (degree > 0 && base == PageQueue::none_left) {
      add_refusal(warp, totals, degree);
    } else if (degree > 0) {
      vertex.degree = degree;
      vertex.first = static_cast<std::uint32_t>(base) + before;
      vertex.last = vertex.first + pages - 1;
    }
    view.vertices[i] = vertex;
  }
};

struct PageWriteKernel : KernelShape {
  PagesView view;
  const std::uint64_t* offsets;
  const std::uint32_t* destinations;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t v = thread_of(warp);
    copy_rows(
        warp, v < view.count ? view.vertices[v].degree : 0,
        [&](unsigned owner) { return std::uint64_t{warp.worker()} * Warp::width + owner; },
        [&](std::uint64_t row, std::uint32_t i) {
          const PagedVertex& vertex = view.vertices[row];
          const std::uint32_t page = vertex.first + i / LinkedPage::capacity;
          const std::uint32_t index = i % LinkedPage::capacity;
          view.pages[page].destinations[index] = destinations[offsets[row] + i];
          if (index == 0) view.pages[page].next = page < vertex.last ? page + 1 : LinkedPage::none;
        });
  }
};

// Returns a page and all pages that follow it in its list.
template <class Thread>
HEAPWOOD_INLINE void give_back_chain(Thread& thread, const PageArguments& arguments,
                                     std::uint32_t page) {
  HEAPWOOD_ROLLED
  while (page != LinkedPage::none) {
    const std::uint32_t next = arguments.view.pages[page].next;
    arguments.queue.give_back(thread, page);
    page = next;
  }
}

// Ends the list of a vertex with page `last` (none: no page). The vertex then has `degree` edges.
HEAPWOOD_INLINE void cut_after(PagedVertex& vertex, LinkedPage* pages, std::uint32_t degree,
                               std::uint32_t last) {
  vertex.degree = degree;
  vertex.last = last;
  if (last == LinkedPage::none) {
    vertex.first = LinkedPage::none;
  } else {
    pages[last].next = LinkedPage::none;
  }
}

struct PageUpdateKernel : KernelShape {
  PageArguments arguments;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint32_t item = warp.worker();
    if (item >= arguments.inserts.groups + arguments.deletes.groups) return;
    std::uint32_t index = 0;
    const bool inserts = is_insertion(arguments.inserts, arguments.deletes, item, index);
    const EdgeBatch& batch = inserts ? arguments.inserts : arguments.deletes;
    const EdgeGroup group = group_at(warp, batch, batch.firsts[index]);
    PagedVertex& vertex = arguments.view.vertices[group.source()];
    std::uint32_t state = 0;
    if (arguments.locks && !VertexLock(vertex.lock).lock(warp, state)) return;
    GroupOutcome outcome{0, 0};
    std::uint32_t unused = LinkedPage::none;  // the first of the pages that are returned
    if (inserts) {
      insert(warp, group, vertex, outcome, unused);
    } else {
      remove(warp, group, vertex, outcome, unused);
    }
    warp.sync();  // orders all lanes' reads and writes before the release
    if (warp.lane() != 0) return;
    batch.outcomes[index] = outcome;
    if (arguments.locks) VertexLock(vertex.lock).unlock(0);
    give_back_chain(warp, arguments, unused);
  }

 private:
  // Calls visit(page, number of its entries) for a vertex's pages from the n-th on.
  template <class F>
  HEAPWOOD_INLINE void for_pages(const PagedVertex& vertex, std::uint32_t n, F visit) const {
    std::uint32_t page = vertex.first;
    std::uint64_t base = 0;
    HEAPWOOD_ROLLED
    while (base < vertex.degree) {
      const std::uint64_t left = vertex.degree - base;
      if (n > 0) {
        --n;
      } else {
        visit(page, left < LinkedPage::capacity ? static_cast<std::uint32_t>(left)
                                                : LinkedPage::capacity);
      }
      page = arguments.view.pages[page].next;
      base += LinkedPage::capacity;
    }
  }

  template <class Warp>
  HEAPWOOD_INLINE void insert(Warp& warp, const EdgeGroup& group, PagedVertex& vertex,
                              GroupOutcome& outcome, std::uint32_t& unused) const {
    const std::uint32_t source = group.source();
    LinkedPage* const pages = arguments.view.pages;
    // Mark the edges of the group that the graph has already.
    for_pages(vertex, 0, [&](std::uint32_t page, std::uint32_t n) {
      for (std::uint32_t i = warp.lane(); i < n; i += Warp::width) {
        const std::uint32_t index = group.find(edge_key(source, pages[page].destinations[i]));
        if (index != EdgeGroup::none) group.work[index] = 1;
      }
    });
    warp.sync();
    // Append the others, in groups of one edge per lane.
    std::uint32_t first = vertex.first, last = vertex.last, degree = vertex.degree;
    bool is_refused = false;
    HEAPWOOD_ROLLED
    for (std::uint64_t base = group.first; base < group.end; base += Warp::width) {
      const std::uint64_t i = base + warp.lane();
      const bool fresh = i < group.end && group.is_new(static_cast<std::uint32_t>(i));
      const std::uint32_t lanes = warp.ballot(fresh);
      outcome.changed += simt::popcount(lanes);
      if (is_refused) continue;  // the remaining edges are only counted
      const std::uint32_t index = degree + simt::popcount(lanes & lanes_below(warp));
      degree += simt::popcount(lanes);
      // A lane whose edge begins a page takes one.
      const bool takes = fresh && index % LinkedPage::capacity == 0;
      std::uint32_t taken = LinkedPage::none;
      if (takes) taken = arguments.queue.take(warp);
      const std::uint32_t takers = warp.ballot(takes);
      if (warp.any(takes && taken == LinkedPage::none)) {
        is_refused = true;
        if (taken != LinkedPage::none) arguments.queue.give_back(warp, taken);
        continue;
      }
      // A lane's edge goes to the page taken by the closest lane at or below it, or else to the
      // last page. All lanes take part.
      const std::uint32_t up_to = takers & (lanes_below(warp) | 1u << warp.lane());
      const std::uint32_t below = takers & lanes_below(warp);
      const std::uint32_t own = warp.shfl(taken, up_to == 0 ? 0 : highest(up_to));
      const std::uint32_t other = warp.shfl(taken, below == 0 ? 0 : highest(below));
      const std::uint32_t page = up_to == 0 ? last : own;
      if (takes) {
        pages[page].next = LinkedPage::none;
        if (below == 0 && last != LinkedPage::none) pages[last].next = page;
      }
      warp.sync();  // orders a page's store to `next` before its successor's
      if (takes && below != 0) pages[other].next = page;
      if (fresh)
        pages[page].destinations[index % LinkedPage::capacity] = destination_of(group.keys[i]);
      if (takers != 0) {
        const std::uint32_t newest = warp.shfl(taken, highest(takers));
        if (first == LinkedPage::none) first = warp.shfl(taken, simt::lowest_bit(takers));
        last = newest;
      }
      warp.sync();
    }
    if (is_refused) {
      outcome.flags = GroupOutcome::refused;
      // After a refusal, the pages appended so far are cut off.
      warp.sync();
      unused = vertex.last == LinkedPage::none ? first : pages[vertex.last].next;
      warp.sync();
      if (warp.lane() == 0 && vertex.last != LinkedPage::none)
        pages[vertex.last].next = LinkedPage::none;
    } else if (outcome.changed > 0) {
      warp.sync();  // all lanes have read the vertex
      if (warp.lane() == 0) {
        vertex.degree = degree;
        vertex.first = first;
        vertex.last = last;
      }
    }
  }

  static HEAPWOOD_INLINE unsigned highest(std::uint32_t lanes) {
    return simt::highest_bit(std::uint64_t{lanes});
  }

  template <class Warp>
  HEAPWOOD_INLINE void remove(Warp& warp, const EdgeGroup& group, PagedVertex& vertex,
                              GroupOutcome& outcome, std::uint32_t& unused) const {
    const std::uint32_t source = group.source(), degree = vertex.degree;
    LinkedPage* const pages = arguments.view.pages;
    const auto is_removed = [&](std::uint32_t page, std::uint32_t i) {
      return group.find(edge_key(source, pages[page].destinations[i])) != EdgeGroup::none;
    };
    // List the removed entries as holes: page x 16 + index; there are fewer than 2^28 pages.
    std::uint32_t* holes = group.work + group.first;
    std::uint32_t removed = 0;
    for_pages(vertex, 0, [&](std::uint32_t page, std::uint32_t n) {
      for (std::uint32_t base = 0; base < n; base += Warp::width) {
        const std::uint32_t i = base + warp.lane();
        const bool hit = i < n && is_removed(page, i);
        const std::uint32_t lanes = warp.ballot(hit);
        if (hit) holes[removed + simt::popcount(lanes & lanes_below(warp))] = page << 4 | i;
        removed += simt::popcount(lanes);
      }
    });
    outcome.changed = removed;
    if (removed == 0) return;
    warp.sync();
    // Fill the holes with the entries that stay beyond the new end.
    const std::uint32_t kept = degree - removed;
    // Find the page in which the kept entries end, or the page before it if they fill it.
    const std::uint32_t whole = kept / LinkedPage::capacity, rest = kept % LinkedPage::capacity;
    std::uint32_t filled = 0, last = LinkedPage::none, number = whole > 0 ? whole - 1 : 0;
    const std::uint32_t first_number = number;
    for_pages(vertex, first_number, [&](std::uint32_t page, std::uint32_t n) {
      const std::uint32_t kept_here = number < whole    ? LinkedPage::capacity
                                      : number == whole ? rest
                                                        : 0;
      if (kept_here > 0) last = page;
      for (std::uint32_t base = kept_here; base < n; base += Warp::width) {
        const std::uint32_t i = base + warp.lane();
        const bool stays = i < n && !is_removed(page, i);
        const std::uint32_t lanes = warp.ballot(stays);
        if (stays) {
          const std::uint32_t hole = holes[filled + simt::popcount(lanes & lanes_below(warp))];
          pages[hole >> 4].destinations[hole & 15] = pages[page].destinations[i];
        }
        filled += simt::popcount(lanes);
      }
      ++number;
    });
    warp.sync();
    unused = last == LinkedPage::none ? vertex.first : pages[last].next;
    warp.sync();
    if (warp.lane() != 0) return;
    cut_after(vertex, pages, kept, last);
  }
};

}  // namespace steps_detail

}  // namespace heapwood::workloads::graph
