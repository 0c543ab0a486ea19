// SPDX-License-Identifier: MIT
// Heapwood: the project's own allocator. The pool consists of arenas. Requests of any lanes are
// served from pages, arenas divided into blocks of one size class: an allocation is one atomic add
// to a word of the multiprocessor while that has an open page, and a free sets one bit and waits
// for no result. A warp with a context has an arena of its own, which needs no atomic operation
// until it is full.
//   heapwood/arenas.hpp         the tables: arenas, superblocks, spans of them for large blocks
//   heapwood/pages.hpp          pages: marks of free blocks, claiming and releasing
//   heapwood/shared_pages.hpp   malloc and free for any lanes of any kernel
//   heapwood/private_arena.hpp  a warp's own arena, for persistent warps
//   heapwood/layout.hpp         the layout of the pool, walk
//
// docs/own-allocator.md has the correctness arguments. Related: the bitmaps of slabs in Halloc and
// ScatterAlloc, the chunks of Ouroboros-C, FDGMalloc's per-warp superblocks, XMalloc's counted
// slabs.
//
// Limits: sizes are rounded up to classes, four per doubling (12% on average), and above an arena
// (16 KiB in pools from 96 MiB) to whole arenas. Blocks of more than 32 arenas occupy whole
// superblocks. In a pool for persistent warps a block in use keeps the arena of the warp that
// allocated it, and a request without a context gets arenas of its own.
#pragma once

#include "alloc/heapwood/private_arena.hpp"
#include "alloc/heapwood/shared_pages.hpp"
#if !defined(__CUDACC_RTC__)
#include "alloc/heapwood/growth.hpp"
#include "alloc/heapwood/layout.hpp"
#endif

namespace heapwood::alloc {

struct Heapwood {
  static constexpr AllocatorTraits traits{
      "heapwood",
      "Heapwood",
      "none: own design",
      "pages of blocks of one size class; persistent warps have arenas of their own",
      Frees::individually,
      /*lower_bound=*/false,
      /*keeps_live_memory=*/true,
      /*smallest_pool=*/4096,
      /*cache_bytes_per_warp=*/384 << 10};

#if !defined(__CUDACC_RTC__)
  template <class Device>
  static Heapwood create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);
    Heapwood h;
    h.pool_ = pool;
    h.wait_ = options.wait_when_full;
    h.shared_ =
        arena::Layout::plan(pool, options.has_persistent_warps, options.spare_bytes_for_warps);
    const std::uint32_t all = h.shared_.pages.arenas.superblocks;
    if (options.initial_bytes != 0) h.shared_ = growth(pool, options.initial_bytes).shared();
    arena::Layout::initialize(pool, h.shared_, all, device);
    return h;
  }
  // For heaps that grow: the pool at its initial size.
  static arena::Growth growth(Pool pool, std::size_t initial_bytes) {
    return {pool, arena::Layout::plan(pool, false, 0, initial_bytes), initial_bytes};
  }
  // To be called when arena::Growth has changed the size of the pool.
  void resize(const arena::SharedPages& shared) { shared_ = shared; }
  unsigned preferred_warps(unsigned max) const { return shared_.preferred_warps(max); }
  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    arena::Layout::walk(pool_, shared_, host, visit);
  }
#endif

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) const {
    return attempt_until(thread, wait_, [&] { return shared_.allocate(thread, bytes, in_pool()); });
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) const {
    if (block != nullptr) shared_.deallocate(thread, block, in_pool());
  }

  // The bytes that the owner of a block of allocate() may use: those of its size class. Not
  // available in a pool for persistent warps.
  HEAPWOOD_INLINE std::size_t usable_size(const void* block) const {
    return shared_.usable_size(block);
  }

  // A warp's own arena (alloc/allocator.hpp).
  using WarpState = arena::WarpState;
  template <class Warp>
  class Context : public arena::PrivateArena<Warp> {
   public:
    HEAPWOOD_INLINE Context(const Heapwood& heap, Warp& warp, WarpState& state)
        : arena::PrivateArena<Warp>(heap.shared_, heap.in_pool(), warp, state) {}
  };

 private:
  // Passed to functions that are not inlined, instead of the address of this handle, which would
  // force the handle out of registers.
  HEAPWOOD_INLINE const arena::SharedPages* in_pool() const {
    return reinterpret_cast<const arena::SharedPages*>(pool_.base);
  }

  arena::SharedPages shared_;
  Pool pool_;
  bool wait_ = false;
};

#if !defined(__CUDACC_RTC__)
// Heapwood without its context: every request of a build goes through allocate() and deallocate(),
// as with all other allocators. The arenas are those of a program without persistent warps.
class HeapwoodGeneral {
 public:
  static constexpr AllocatorTraits traits{
      "heapwood-general", "Heapwood (general)", "none: own design",
      "heapwood without a context: malloc and free of any lanes, also in builds"};

  template <class Device>
  static HeapwoodGeneral create(Pool pool, AllocatorOptions options, const Device& device) {
    check_pool(traits, pool);
    options.has_persistent_warps = false;
    options.spare_bytes_for_warps = 0;
    HeapwoodGeneral h;
    h.heap_ = Heapwood::create(pool, options, device);
    return h;
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) const {
    return heap_.allocate(thread, bytes);
  }
  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) const {
    heap_.deallocate(thread, block);
  }
  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    heap_.walk(host, visit);
  }

 private:
  Heapwood heap_;
};
#endif

}  // namespace heapwood::alloc
