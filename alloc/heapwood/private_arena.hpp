// SPDX-License-Identifier: MIT
// A warp's own arenas, for kernels whose warps allocate and free continuously: blocks are
// allocated, and usually freed, without access to shared memory locations. Implements the Context
// of an allocator (alloc/allocator.hpp). Its state is in the warp's fast memory, because such
// kernels are short of registers. They are also short of instruction cache, so only the fast path
// is inlined; everything else is called out of line.
//
// If the pool has enough arenas, a warp owns two: the current one, from which blocks are allocated,
// and the previous one, which is full. Frees of a warp's own blocks stay local. An arena whose
// blocks are all free is reused from its start. This is safe because `live` counts the blocks that
// were allocated and not freed by this warp: if it is 0, this warp has freed all of them, so no
// other thread has changed the arena's count or will change it.
//
// Other frees of up to one arena are deferred in a list. The list is flushed when it is full or
// when the warp needs another arena. Blocks of other arenas are handed over together: the release
// of a free waits for the warp's own stores, and one wait covers as many words as there are lanes.
#pragma once

#include "alloc/heapwood/warp_state.hpp"
#include "simt/scratch_ref.hpp"

namespace heapwood::alloc::arena {

template <class Warp>
class PrivateArena {
 public:
  // `self` is the copy of `shared` in the pool.
  SIMT_INLINE PrivateArena(const SharedArenas& shared, const SharedArenas* self, Warp& warp,
                           WarpState& state)
      : arenas_(shared.arenas), state_(state) {
    if (warp.lane() == 0) {
      state_.own[0] = state_.own[1] = {};
      state_.known_used = state_.deferred_count = 0;
      state_.has_ample_arenas = warp.workers() <= shared.max_ample_warps;
      state_.keeps_two_arenas =
          state_.has_ample_arenas || !has_fewer_per_warp(shared.arenas, warp, 3);
      state_.allocates_runs_directly = state_.has_ample_arenas && shared.arenas.runs_begin_split();
      state_.arenas = shared.arenas;
      state_.self = self;
    }
    warp.sync();
  }
  // Claims arenas before the warp waits for its first work. Optional; called at most once.
  SIMT_INLINE void begin(Warp& warp) {
    if (state_.has_ample_arenas && arenas_.fresh_end == 0)
      claim_initial_arenas(arenas_, warp, state_, state_.self->slot_mask + 1);
    const bool warms_cache = warp.worker() % 2 == 1 && warp.worker() < warp.workers() / 8 + 2;
    if (state_.allocates_runs_directly && warms_cache) warm_instruction_cache(warp);
  }

  // Allocates two blocks. If either cannot be allocated, allocates none and returns nullptr as the
  // first. A block of 0 granules gets an arbitrary address.
  SIMT_INLINE BlockPair allocate_pair(Warp& warp, std::uint32_t first, std::uint32_t second) {
    const WarpArena from = state_.own[0];
    const std::uint32_t used = from.used + first + second;
    if (used > arenas_.granules()) {
      return first + second > arenas_.granules()
                 ? allocate_pair_as_ticket_runs(warp, state_, first, second)
                 : allocate_pair_in_next(warp, state_, first, second);
    }
    const std::uint32_t live = from.live + (first != 0 ? 1 : 0) + (second != 0 ? 1 : 0);
    warp.sync();  // all lanes have read
    if (warp.lane() == 0) {
      state_.own[0].used = used;
      state_.own[0].live = live;
    }
    std::byte* const at = from.base + std::size_t{from.used} * granule;
    return {at, at + std::size_t{first} * granule};
  }
  // Whether a block of n granules may be freed by any address inside it: an arena counts its blocks
  // and does not know their sizes.
  SIMT_INLINE bool may_shrink(std::uint32_t n) const { return n <= arenas_.granules(); }
  // Allocates a block of n granules, if that needs no call out of line. Returns false if it does;
  // then nothing has happened. A block of 0 granules gets an arbitrary address.
  SIMT_INLINE bool try_allocate(Warp& warp, std::uint32_t n, void*& block) {
    const WarpArena own = state_.own[0];
    const std::uint32_t used = own.used + n;
    if (used > arenas_.granules()) return false;
    const std::uint32_t live = own.live + (n != 0 ? 1 : 0);
    warp.sync();  // all lanes have read
    if (warp.lane() == 0) {
      state_.own[0].used = used;
      state_.own[0].live = live;
    }
    block = own.base + std::size_t{own.used} * granule;
    return true;
  }
  // After a failed try_allocate() for n granules: makes room for them in the current arena, and for
  // some blocks in the list of deferred frees. Returns false if they need an arena of their own or
  // several ones, or no arena is found at once: then allocate() is needed.
  SIMT_INLINE bool make_room(Warp& warp, std::uint32_t n) {
    return n <= arenas_.granules() && make_room_slow(warp, state_, n);
  }
  // Frees a block under the same conditions.
  SIMT_INLINE bool try_deallocate(Warp& warp, void* block, std::uint32_t n) {
    const WarpArena own = state_.own[0];
    if (!own.contains(block, arenas_)) return defer_free(warp, block, n);
    const std::uint32_t live = own.live - 1;
    warp.sync();  // all lanes have read
    if (warp.lane() == 0) {
      state_.own[0].used = live == 0 ? 0 : own.used;
      state_.own[0].live = live;
    }
    return true;
  }
  // Allocates one block; a request of 0 granules gets 1.
  SIMT_INLINE void* allocate(Warp& warp, std::uint32_t n) {
    return allocate_one_block_or_run(warp, state_, n == 0 ? 1 : n);
  }
  // Frees a block of n granules, the size it was allocated with. Syncs: after the call all lanes
  // are done with the block.
  SIMT_INLINE void deallocate(Warp& warp, void* block, std::uint32_t n) {
    if (!try_deallocate(warp, block, n)) deallocate_slow(warp, state_, block, n);
    warp.sync();
  }

  // Called before the warp waits: where arenas are scarce, a waiting warp holds none.
  SIMT_INLINE void release_if_scarce(Warp& warp) {
    if (!state_.has_ample_arenas) release_arenas_and_frees(warp, state_);
  }
  // Whether blocks that are no longer needed may be freed a little later. True where memory is
  // spare.
  SIMT_INLINE bool may_delay_frees() const { return arenas_.reserve != 0; }
  // Releases the warp's arenas, at the end of the kernel or when holding them is no longer useful.
  // Also clears the failed searches of its slot, because other warps may have freed memory since. A
  // warp that ends without this call keeps its arenas until the pool is initialized again.
  SIMT_INLINE void end(Warp& warp) {
    release_arenas_and_frees(warp, state_);
    if (warp.lane() == 0) state_.self->clear_refusals(state_.self->slot_index(warp));
  }

 private:
  // The form in which out-of-line functions receive the state; saves registers
  // (docs/own-allocator.md). ptxas places these functions, and assigns their registers, in the
  // order of their mangled names: renaming one may change the machine code of a kernel.
  using State = simt::ScratchRef<WarpState>;

  // Defers the free of a block outside the current arena. Returns false if the list is full or the
  // block spans several arenas.
  SIMT_INLINE bool defer_free(Warp& warp, void* block, std::uint32_t n) {
    const std::uint32_t deferred = state_.deferred_count;
    if (n > arenas_.granules() || deferred == WarpState::max_deferred) return false;
    warp.sync();  // all lanes have read
    if (warp.lane() == 0) {
      state_.deferred[deferred] = static_cast<std::byte*>(block);
      state_.deferred_count = deferred + 1;
    }
    return true;
  }

  // Marker in place of a block: the current arena has been replaced by one with enough space.
  SIMT_INLINE static void* retry_marker() { return reinterpret_cast<void*>(std::uintptr_t{1}); }

  // Claims both arenas, or one where arenas are scarce, before there is work: a warp that claims
  // its first arena with work in hand delays all warps that wait for the result of that work. The
  // arenas are assigned by warp number, after those that slots start with. A warp whose arena is
  // already taken starts without one.
  SIMT_INLINE static void claim_initial_arenas(const Arenas& arenas, Warp& warp, WarpState& state,
                                               std::uint32_t first) {
    const std::uint32_t per_warp = has_fewer_per_warp(arenas, warp, 12) ? 1 : 2;
    for (std::uint32_t i = warp.lane(); i < per_warp; i += Warp::width) {
      const std::uint32_t a = first + per_warp * warp.worker() + i;
      if (a < arenas.arenas && arenas.take_arena(a, open)) {
        state.own[i] = {.used = 0, .live = 0, .base = arenas.place(a, 0)};
      }
    }
    // relaxed: a hint.
    if (warp.lane() == 0 && warp.worker() == 1) {
      Arenas::Word(*arenas.high_water).fetch_max(first + per_warp * warp.workers(), simt::relaxed);
    }
    warp.sync();  // makes the claims' acquires visible to all lanes
  }
  // Allocates and frees a run, so that the code is in the multiprocessor's instruction cache before
  // all warps wait for the warp that splits the first large nodes there. In a kernel with at least
  // 16 warps per multiprocessor, in blocks of two that are distributed round-robin, one warp per
  // multiprocessor does this; in other kernels, some warps do.
  SIMT_INLINE void warm_instruction_cache(Warp& warp) {
    const std::uint32_t n = arenas_.granules() + 1;
    void* const block = allocate_pair_as_ticket_runs(warp, state_, n, 0).first;
    if (block != nullptr) deallocate_slow(warp, state_, block, n);
  }
  static SIMT_OUTLINE bool make_room_slow(Warp warp, State at, std::uint32_t n) {
    WarpState& state = *at;
    const std::uint32_t used = state.own[0].used;
    if (state.keeps_two_arenas && used + n > state.arenas.granules())
      return n < used && claim_next(warp, state, true, 0, 0) != nullptr;
    if (!ensure_capacity_of_current(warp, state, n)) return false;
    if (state.deferred_count > WarpState::max_deferred / 3 * 2)
      flush_frees_and_close_arenas(warp, state, 0);
    return true;
  }
  // Allocates two blocks that do not fit the current arena from another one.
  static SIMT_OUTLINE BlockPair allocate_pair_in_next(Warp warp, State at, std::uint32_t first,
                                                      std::uint32_t second) {
    WarpState& state = *at;
    std::byte* base = nullptr;
    if (state.keeps_two_arenas) {
      // If the current arena has more space left than a new one would have, the blocks get an arena
      // of their own and the current one stays.
      base = claim_next(warp, state, first + second < state.own[0].used, first + second,
                        (first != 0 ? 1 : 0) + (second != 0 ? 1 : 0));
    }
    if (base == nullptr) return allocate_pair_slow_fallback(warp, state, first, second);
    return {base, base + std::size_t{first} * granule};
  }
  // For a warp that keeps two arenas: claims one, of which `blocks` blocks take `used` granules.
  // With `replace_current` it becomes the current one: the previous one is closed, or is what is
  // claimed if all of its blocks are free. Flushes the deferred frees. Nearly all calls out of line
  // lead here, so this does everything in one piece. Returns the arena's start, or nullptr if none
  // is found at once.
  SIMT_INLINE static std::byte* claim_next(Warp& warp, WarpState& state, bool replace_current,
                                           std::uint32_t used, std::uint32_t blocks) {
    const Arenas& arenas = state.arenas;
    const WarpArena current = state.own[0], previous = state.own[1];
    warp.sync();  // all lanes are done with the blocks
    const std::uint32_t deferred = state.deferred_count;
    std::uint32_t freed_in_previous = 0;
    for (std::uint32_t i = warp.lane(); i < WarpState::max_deferred; i += Warp::width) {
      freed_in_previous += i < deferred && previous.contains(state.deferred[i], arenas) ? 1 : 0;
    }
    const std::uint32_t live = previous.live - warp.reduce_add(freed_in_previous);
    for (std::uint32_t i = warp.lane(); i < WarpState::max_deferred + 1; i += Warp::width) {
      std::uint32_t a = none, decrement = open - live;
      if (i < deferred) {
        decrement = 1;
        if (!previous.contains(state.deferred[i], arenas)) a = arenas.index(state.deferred[i]);
      } else if (i == WarpState::max_deferred && replace_current && live != 0 &&
                 previous.base != nullptr) {
        a = previous.index(arenas);
      }
      // release: hands over the blocks that this warp has freed.
      if (a != none) arenas.count(a).fetch_sub(decrement, simt::release);
    }
    std::byte* base = previous.base;
    if (!replace_current || live != 0) {
      const std::uint32_t a = claim_for_warp(arenas, warp, replace_current ? open : blocks,
                                             search_seed(warp, current, arenas), state.known_used);
      base = a != none ? arenas.place(a, 0) : nullptr;
    }
    warp.sync();  // all lanes have read; makes the claim's acquire visible to them
    if (warp.lane() == 0) {
      state.deferred_count = 0;
      state.own[1].live = live;
      if (replace_current) state.own[1] = base != nullptr ? current : WarpArena{};
      if (replace_current && base != nullptr)
        state.own[0] = {.used = used, .live = blocks, .base = base};
    }
    return base;
  }
  // Allocates two blocks of more than an arena together as runs of arenas, where runs are allocated
  // in turn. All warps may be waiting for a large node's split, so the latency is the minimum: one
  // access to L2.
  static SIMT_OUTLINE BlockPair allocate_pair_as_ticket_runs(Warp warp, State at,
                                                             std::uint32_t first,
                                                             std::uint32_t second) {
    WarpState& state = *at;
    const Arenas& arenas = state.arenas;
    const std::uint32_t n = arenas.arenas_for(first), all = n + arenas.arenas_for(second);
    // The reserve serves runs of any length; past it each lane takes one arena.
    const std::uint32_t most = arenas.reserve != 0 ? arenas.reserve / 4 : Warp::width;
    if (all > most || !state.allocates_runs_directly)
      return allocate_pair_slow_fallback(warp, state, first, second);
    // relaxed: within the reserve each ticket is handed out once; past it the ticket is a hint, and
    // the counts decide.
    std::uint64_t ticket =
        warp.lane() == 0 ? simt::global_ref(arenas.run_tickets[0]).fetch_add(all, simt::relaxed)
                         : 0;
    ticket = warp.shfl(ticket, 0);
    const std::uint32_t below = static_cast<std::uint32_t>(ticket) & (arenas.run_capacity - 1);
    if (ticket >= arenas.reserve) {
      return all > Warp::width ? allocate_pair_slow_fallback(warp, at, first, second)
                               : claim_runs_lane_by_lane(warp, at, first, second, below);
    }
    if (!arenas.take_reserved(WholeWarp<Warp>(warp), below, n, all - n))
      return allocate_pair_slow_fallback(warp, at, first, second);
    warp.sync();
    std::byte* const block = arenas.place(arenas.run_first + below, 0);
    return {block, block + (std::size_t{n} << arenas.shift)};
  }
  // The same once the reserve is used up: each lane takes one arena, in a single attempt.
  static SIMT_OUTLINE BlockPair claim_runs_lane_by_lane(Warp warp, State at, std::uint32_t first,
                                                        std::uint32_t second, std::uint32_t below) {
    WarpState& state = *at;
    const Arenas& arenas = state.arenas;
    const std::uint32_t n = arenas.arenas_for(first), all = n + arenas.arenas_for(second);
    const std::uint32_t i = warp.lane();
    const std::uint32_t a = arenas.run_first + below,
                        head = Arenas::head_word(i < n ? n : all - n, false);
    const std::uint32_t value = i == 0 || i == n ? head : body;
    const bool taken =
        i < all && below + i < arenas.run_capacity && arenas.take_arena_if_split(a + i, value);
    if (warp.any(i < all && !taken)) {
      if (taken) arenas.undo_claim(a + i, value);
      return allocate_pair_slow_fallback(warp, state, first, second);
    }
    warp.sync();  // makes the acquires visible to all lanes
    std::byte* const block = arenas.place(a, 0);
    return {block, block + (std::size_t{n} << arenas.shift)};
  }
  // Slow path of allocate_pair: arenas are scarce or small, or an attempt has failed.
  static SIMT_OUTLINE BlockPair allocate_pair_slow_fallback(Warp warp, State at,
                                                            std::uint32_t first,
                                                            std::uint32_t second) {
    WarpState& state = *at;
    const std::uint32_t total = first + second;
    warp.sync();  // all lanes have read
    if (total > state.arenas.granules()) {
      if (takes_own_run(state.arenas, first) && takes_own_run(state.arenas, second)) {
        const BlockPair blocks = state.arenas.claim_runs(warp, first, second);
        if (blocks.first != nullptr) return blocks;
      }
    } else if (ensure_capacity_of_current(warp, state, total)) {
      std::byte* const block =
          bump_allocate(warp, state, total, (first != 0 ? 1 : 0) + (second != 0 ? 1 : 0));
      return {block, block + std::size_t{first} * granule};
    }
    return allocate_pair_individually(warp, state, first, second);
  }
  // Whether a block that does not fit the current arena together with a second one gets a run
  // without first trying the current arena. True for a block of several arenas, and for any block
  // where arenas are so large that few blocks are of this kind.
  SIMT_INLINE static bool takes_own_run(const Arenas& arenas, std::uint32_t n) {
    return large_blocks_are_rare(arenas) || n == 0 || n > arenas.granules();
  }
  // 32 KiB, which builders get from large pools: 1,024 clipped refs, the largest node that one warp
  // splits alone.
  SIMT_INLINE static bool large_blocks_are_rare(const Arenas& arenas) { return arenas.shift >= 15; }
  // Allocates n granules, which hold `blocks` blocks, from the current arena, which has the space.
  SIMT_INLINE static std::byte* bump_allocate(Warp& warp, WarpState& state, std::uint32_t n,
                                              std::uint32_t blocks) {
    const WarpArena from = state.own[0];
    warp.sync();  // all lanes have read
    if (warp.lane() == 0) {
      state.own[0].used = from.used + n;
      state.own[0].live = from.live + blocks;
    }
    warp.sync();
    return from.base + std::size_t{from.used} * granule;
  }
  // Ensures the current arena has space for n granules. Returns false if that would need a search,
  // or if the current arena has more space left than a new one would have.
  static SIMT_OUTLINE bool ensure_capacity_of_current(Warp warp, State at, std::uint32_t n) {
    WarpState& state = *at;
    const Arenas& arenas = state.arenas;
    apply_deferred_to_previous(warp, state);
    const WarpArena current = state.own[0], previous = state.own[1];
    if (current.used + n <= arenas.granules()) return true;
    if (n > arenas.granules() || n >= current.used) return false;
    WarpArena next{.used = 0, .live = 0, .base = previous.base};
    if (previous.live != 0) {
      if (has_fewer_per_warp(arenas, warp, 1)) return false;
      flush_frees_and_close_arenas(warp, state, has_fewer_per_warp(arenas, warp, 3) ? 2 : 1);
      const std::uint32_t a =
          claim_for_warp(arenas, warp, open, search_seed(warp, current, arenas), state.known_used);
      if (a == none) return false;
      next.base = arenas.place(a, 0);
    }
    set_current(warp, state, next);
    return true;
  }
  static SIMT_OUTLINE BlockPair allocate_pair_individually(Warp warp, State at, std::uint32_t first,
                                                           std::uint32_t second) {
    WarpState& state = *at;
    void* const block = first != 0 ? allocate_one_block_or_run(warp, state, first) : nullptr;
    if (second == 0 || (first != 0 && block == nullptr)) return {block, block};
    void* const other = allocate_one_block_or_run(warp, state, second);
    if (other != nullptr) return {first != 0 ? block : other, other};
    if (block != nullptr) deallocate_slow(warp, state, block, first);
    return {};
  }
  static SIMT_OUTLINE void* allocate_one_block_or_run(Warp warp, State at, std::uint32_t n) {
    WarpState& state = *at;
    const Arenas& arenas = state.arenas;
    SIMT_ROLLED
    for (;;) {
      warp.sync();  // lane 0 has written
      if (n > arenas.granules()) {
        void* const block = allocate_run_from_tickets(warp, state, n);
        if (block != nullptr) return block;
        void* const found = search_for_span(warp, state, n);
        return found != nullptr || !retire_idle_arenas_of_slots(warp, state)
                   ? found
                   : search_for_span(warp, state, n);
      }
      if (state.own[0].used + n <= arenas.granules()) return bump_allocate(warp, state, n, 1);
      if (has_fewer_per_warp(arenas, warp, 1)) return allocate_shared(warp, state, n);
      if (ensure_capacity_of_current(warp, state, n)) continue;
      void* const block = allocate_with_fresh_arena(warp, state, n);
      if (block != retry_marker()) return block;
    }
  }
  // Whether the pool has fewer than `per_warp` arenas per warp. Each warp holds two, and some are
  // needed for large blocks. With fewer than 3 a warp holds only the current one, with fewer than 1
  // none.
  SIMT_INLINE static bool has_fewer_per_warp(const Arenas& arenas, Warp& warp,
                                             std::uint32_t per_warp) {
    return arenas.arenas / per_warp < warp.workers();
  }
  SIMT_INLINE static void* allocate_shared(Warp warp, State at, std::uint32_t n) {
    WarpState& state = *at;
    flush_frees_and_close_arenas(warp, state, 0);
    void* const block = reinterpret_cast<void*>(WholeWarp<Warp>(warp).once([&] {
      IsolatedLane<Warp> lane(warp);
      return reinterpret_cast<std::uintptr_t>(state.self->allocate_granules(lane, n, state.self));
    }));
    warp.sync();  // makes the acquire visible to all lanes
    return block;
  }
  // Allocates a block of n granules in an arena of its own, or from a slot if no arena is found; or
  // replaces the current arena. Of the new and the current arena, the one with more space left
  // stays open.
  static SIMT_OUTLINE void* allocate_with_fresh_arena(Warp warp, State at, std::uint32_t n) {
    WarpState& state = *at;
    const Arenas& arenas = state.arenas;
    const WarpArena current = state.own[0];
    const std::uint32_t seed = search_seed(warp, current, arenas);
    const bool replace_current = n < current.used;
    flush_frees_and_close_arenas(warp, state, replace_current ? 1 : 0);
    const std::uint32_t a =
        replace_current ? none : claim_for_warp(arenas, warp, 1, seed, state.known_used);
    void* const block = a != none ? arenas.place(a, 0)
                                  : claim_with_full_search(warp, state, n, seed, replace_current);
    warp.sync();  // makes the claim's acquire visible to all lanes
    return block;
  }
  SIMT_INLINE static std::uint32_t search_seed(Warp& warp, const WarpArena& current,
                                               const Arenas& arenas) {
    return warp.worker() + current.index(arenas) * 40503u;
  }
  // Allocates a block of more than an arena without a search.
  static SIMT_OUTLINE void* allocate_run_from_tickets(Warp warp, State at, std::uint32_t n) {
    WarpState& state = *at;
    return state.arenas.claim_runs(warp, n, 0).first;
  }
  // Claims an arena with a search; if there is none, allocates n granules from a slot.
  static SIMT_OUTLINE void* claim_with_full_search(Warp warp, State at, std::uint32_t n,
                                                   std::uint32_t seed, bool replace_current) {
    WarpState& state = *at;
    const WholeWarp<Warp> team(warp);
    const std::uint32_t slot = state.self->slot_index(warp);
    bool searched = false;
    const std::uint32_t a =
        state.self->claim(team, slot, n, replace_current ? open : 1, seed, searched);
    if (a != none && !replace_current) return state.self->arenas.place(a, 0);
    if (a != none) {
      set_current(warp, state, {.used = 0, .live = 0, .base = state.self->arenas.place(a, 0)});
      return retry_marker();
    }
    return reinterpret_cast<void*>(team.once([&] {
      return searched ? reinterpret_cast<std::uintptr_t>(
                            SharedArenas::allocate_from_any_slot(state.self, slot, n))
                      : std::uintptr_t{0};
    }));
  }
  static SIMT_OUTLINE void* search_for_span(Warp warp, State at, std::uint32_t n) {
    WarpState& state = *at;
    void* const block =
        state.self->arenas.claim_span(WholeWarp<Warp>(warp), std::size_t{n} * granule,
                                      search_seed(warp, state.own[0], state.arenas), true);
    warp.sync();  // makes the claim's acquire visible to all lanes
    return block;
  }
  static SIMT_OUTLINE bool retire_idle_arenas_of_slots(Warp warp, State at) {
    return (*at).self->retire(WholeWarp<Warp>(warp));
  }
  // Makes the current arena the previous one. The last sync also makes the claim's acquire visible
  // to all lanes.
  SIMT_INLINE static void set_current(Warp& warp, WarpState& state, const WarpArena& next) {
    warp.sync();  // all lanes have read
    if (warp.lane() == 0) {
      state.own[1] = state.own[0];
      state.own[0] = next;
    }
    warp.sync();
  }

  // Frees a block for which the list has no space, or a block of several arenas, which is returned
  // at once.
  static SIMT_OUTLINE void deallocate_slow(Warp warp, State at, void* block, std::uint32_t n) {
    WarpState& state = *at;
    const Arenas& arenas = state.arenas;
    const std::uint32_t r = arenas.arenas_for(n);
    warp.sync();  // all lanes are done with the block
    if (r > 1) {
      arenas.free_run(WholeWarp<Warp>(warp), arenas.index(block), r);
      warp.sync();
      return;
    }
    apply_deferred_to_previous(warp, state);
    // Flushes early, so that not every further free has to scan the list.
    if (state.deferred_count > WarpState::max_deferred / 3 * 2)
      flush_frees_and_close_arenas(warp, state, 0);
    const std::uint32_t deferred = state.deferred_count;
    warp.sync();  // all lanes have read
    if (warp.lane() == 0) {
      state.deferred[deferred] = static_cast<std::byte*>(block);
      state.deferred_count = deferred + 1;
    }
    warp.sync();
  }
  // Scans the deferred frees: blocks of the previous arena are subtracted from its `live`, the
  // others stay. The list contains no block of the current arena: deferred frees of the arena that
  // became the current one were applied when the arenas changed.
  SIMT_INLINE static void apply_deferred_to_previous(Warp& warp, WarpState& state) {
    warp.sync();  // all lanes are done with the blocks, and lane 0 has written
    const WarpArena previous = state.own[1];
    const std::uint32_t deferred = state.deferred_count, lower_lanes = (1u << warp.lane()) - 1u;
    std::uint32_t kept = 0;
    SIMT_ROLLED
    for (std::uint32_t first = 0; first < deferred; first += Warp::width) {
      const std::uint32_t i = first + warp.lane();
      std::byte* const freed = i < deferred ? state.deferred[i] : nullptr;
      const bool is_kept = i < deferred && !previous.contains(freed, state.arenas);
      const std::uint32_t kept_lanes = warp.ballot(is_kept);
      warp.sync();  // all lanes have read
      if (is_kept) state.deferred[kept + simt::popcount(kept_lanes & lower_lanes)] = freed;
      kept += simt::popcount(kept_lanes);
    }
    warp.sync();  // all lanes have read
    if (warp.lane() == 0) {
      state.deferred_count = kept;
      state.own[1].live = previous.live - (deferred - kept);
    }
    warp.sync();
  }
  // Hands over the deferred frees and both arenas. Short, because all warps call it at the same
  // time when a kernel ends, usually for the first time, when its code is not yet in the
  // instruction cache. Deferred frees of the previous arena are still included in its `live`, so
  // they are subtracted from the count like those of any other arena.
  static SIMT_OUTLINE void release_arenas_and_frees(Warp warp, State at) {
    WarpState& state = *at;
    const Arenas& arenas = state.arenas;
    warp.sync();  // all lanes are done with the blocks, and lane 0 has written
    const std::uint32_t deferred = state.deferred_count;
    SIMT_ROLLED
    for (std::uint32_t i = warp.lane(); i < WarpState::max_deferred + 2; i += Warp::width) {
      const std::byte* place = nullptr;
      std::uint32_t blocks = 1;
      if (i < deferred) place = state.deferred[i];
      if (i >= WarpState::max_deferred) {
        place = state.own[i - WarpState::max_deferred].base;
        blocks = open - state.own[i - WarpState::max_deferred].live;
      }
      // release: hands over the blocks that this warp has freed.
      if (place != nullptr) arenas.count(arenas.index(place)).fetch_sub(blocks, simt::release);
    }
    warp.sync();  // all lanes have read
    if (warp.lane() == 0) {
      state.deferred_count = 0;
      state.own[0] = state.own[1] = {};
    }
    warp.sync();
  }
  // Hands over the deferred frees; if `closing` is 1 or 2, also the previous arena; if it is 2,
  // also the current one.
  static SIMT_OUTLINE void flush_frees_and_close_arenas(Warp warp, State at,
                                                        std::uint32_t closing) {
    WarpState& state = *at;
    const Arenas& arenas = state.arenas;
    apply_deferred_to_previous(warp, state);
    const std::uint32_t deferred = state.deferred_count;
    constexpr std::uint32_t most = WarpState::max_deferred;
    SIMT_ROLLED
    for (std::uint32_t i = warp.lane(); i < most + 2; i += Warp::width) {
      std::uint32_t a = none, blocks = 0;
      if (i < deferred) {
        a = arenas.index(state.deferred[i]);
        blocks = 1;
      }
      if (i >= most && i - most < closing) {
        const WarpArena own = state.own[most + 1 - i];
        if (own.base != nullptr) a = own.index(arenas);
        blocks = open - own.live;
      }
      // release: hands over the blocks that this warp has freed.
      if (a != none) arenas.count(a).fetch_sub(blocks, simt::release);
    }
    warp.sync();  // all lanes have read
    if (warp.lane() == 0) {
      state.deferred_count = 0;
      if (closing > 0) state.own[1] = {};
      if (closing > 1) state.own[0] = {};
    }
    warp.sync();
  }

  const Arenas& arenas_;
  WarpState& state_;
};

}  // namespace heapwood::alloc::arena
