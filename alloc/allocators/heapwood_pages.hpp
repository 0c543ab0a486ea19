// SPDX-License-Identifier: MIT
// Heapwood pages: the project's own allocator for blocks of any lifetime. Arenas (as Heapwood's)
// are divided into blocks of one size class. A free sets one bit of a bitmap, whose result no
// thread waits for. An allocation is one atomic add to a word of the multiprocessor while that has
// an open page; otherwise it takes free blocks of a whole word of the bitmap by one exchange.
//   heapwood/shared_pages.hpp  malloc and free for any lanes of any kernel
//   heapwood/pages.hpp         pages: marks of free blocks, claiming and releasing
//   heapwood/arenas.hpp        the tables: arenas, superblocks, spans of them for large blocks
//   heapwood/page_layout.hpp   the layout of the pool, walk
//
// docs/own-allocator.md has the correctness arguments. Related: the bitmaps of slabs in Halloc and
// ScatterAlloc, the chunks of Ouroboros-C. Here a page has no count: which pages are free is found
// by a search, when there is no other memory left.
//
// Limits: sizes are rounded up to classes, four per doubling (12% on average), and above an arena
// (16 KiB in pools from 96 MiB) to whole arenas. Blocks of more than 32 arenas occupy whole
// superblocks. Requests that fail read all counts and marks, cooperatively with other failing
// requests.
#pragma once

#include "alloc/heapwood/page_layout.hpp"

namespace heapwood::alloc {

struct HeapwoodPages {
  static constexpr AllocatorTraits traits{
      .id = "heapwood-pages",
      .label = "Heapwood pages",
      .paper = "none: own design",
      .note = "pages of one size class, a mark per free block, a slot for each multiprocessor",
      .smallest_pool = arena::PageLayout::smallest_pool};

  template <class Device>
  static HeapwoodPages create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);
    HeapwoodPages h;
    h.pool_ = pool;
    h.wait_ = options.wait_when_full;
    h.pages_ = arena::PageLayout::plan(pool);
    arena::PageLayout::initialize(pool, h.pages_, device);
    return h;
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) const {
    return attempt_until(thread, wait_, [&] { return pages_.allocate(thread, bytes, in_pool()); });
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) const {
    if (block != nullptr) pages_.deallocate(thread, block, in_pool());
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    arena::PageLayout::walk(pool_, pages_, host, visit);
  }

 private:
  // Passed to functions that are not inlined: the address of a handle kept in registers must not
  // escape.
  HEAPWOOD_INLINE const arena::SharedPages* in_pool() const {
    return reinterpret_cast<const arena::SharedPages*>(pool_.base);
  }

  arena::SharedPages pages_;
  Pool pool_;
  bool wait_ = false;
};

}  // namespace heapwood::alloc
