// SPDX-License-Identifier: MIT
// Heapwood: the project's own allocator. Blocks are bump-allocated from arenas that count their
// live blocks. An arena whose count reaches 0 is free without any further step. A free is therefore
// one atomic add whose result no thread waits for. An allocation is one atomic add to a word of the
// multiprocessor, or needs no atomic operation at all for a warp with an arena of its own.
//   heapwood/arenas.hpp         the tables: arenas, superblocks, spans of them for large blocks
//   heapwood/shared_arenas.hpp  malloc and free for any lanes of any kernel
//   heapwood/private_arena.hpp  a warp's own arena, for persistent warps
//   heapwood/layout.hpp         the layout of the pool, walk
//
// docs/own-allocator.md has the correctness arguments. Related: XMalloc's and Halloc's counted
// slabs, FDGMalloc's per-warp superblocks, Gallatin's pinned blocks (PPoPP 2024). Here sizes are
// exact, there are no lists, and no free waits.
//
// Limits: a long-lived block pins its arena (4 KiB in pools from 8 MiB, 8 KiB from 48 MiB, 16 KiB
// from 96 MiB; with persistent warps 32 KiB from 384 MiB, up to 256 KiB with 950 MiB to spare).
// Blocks of more than 32 arenas occupy whole superblocks. Requests that fail scan all counts,
// cooperatively with other failing requests.
#pragma once

#include "alloc/heapwood/layout.hpp"
#include "alloc/heapwood/private_arena.hpp"

namespace heapwood::alloc {

struct Heapwood {
  static constexpr AllocatorTraits traits{
      .id = "heapwood",
      .label = "Heapwood",
      .paper = "none: own design",
      .note = "arenas that count their blocks, one open for each multiprocessor slot",
      .smallest_pool = arena::Layout::smallest_pool,
      .cache_bytes_per_warp = 384 << 10};

  template <class Device>
  static Heapwood create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);
    Heapwood h;
    h.pool_ = pool;
    h.wait_ = options.wait_when_full;
    h.shared_ =
        arena::Layout::plan(pool, options.has_persistent_warps, options.spare_bytes_for_warps);
    arena::Layout::initialize(pool, h.shared_, device);
    return h;
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) const {
    return attempt_until(thread, wait_, [&] { return shared_.allocate(thread, bytes, in_pool()); });
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) const {
    if (block != nullptr) shared_.deallocate(thread, block, in_pool());
  }

  unsigned preferred_warps(unsigned max) const { return shared_.preferred_warps(max); }

  // A warp's own arena (alloc/allocator.hpp).
  using WarpState = arena::WarpState;
  template <class Warp>
  class Context : public arena::PrivateArena<Warp> {
   public:
    HEAPWOOD_INLINE Context(const Heapwood& heap, Warp& warp, WarpState& state)
        : arena::PrivateArena<Warp>(heap.shared_, heap.in_pool(), warp, state) {}
  };

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    arena::Layout::walk(pool_, shared_, host, visit);
  }

 private:
  // Passed to functions that are not inlined: the address of a handle kept in registers must not
  // escape.
  HEAPWOOD_INLINE const arena::SharedArenas* in_pool() const {
    return reinterpret_cast<const arena::SharedArenas*>(pool_.base);
  }

  arena::SharedArenas shared_;
  Pool pool_;
  bool wait_ = false;
};

}  // namespace heapwood::alloc
