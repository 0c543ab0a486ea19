// SPDX-License-Identifier: MIT
// A warp's own arena, for kernels whose warps allocate and free continuously: blocks are allocated,
// and usually freed, without access to shared memory locations. Implements the Context of an
// allocator (alloc/allocator.hpp). Its state is in the warp's fast memory, because such kernels are
// short of registers and of instruction cache: only the fast path is inlined.
//
// Frees of blocks of the warp's own arena stay local. If all of its blocks are free it is reused
// from its start. This is safe because `live` counts the blocks that were allocated and not freed
// by this warp: if it is 0, this warp has freed all of them, so no other thread has changed the
// arena's count or will change it.
//
// Other frees of up to one arena are deferred in a list. The list is flushed when it is full or
// when the warp needs another arena. Its blocks are handed over together: the release of a free
// waits for the warp's own stores, and one wait covers as many words as there are lanes.
#pragma once

#include "alloc/heapwood/run_collector.hpp"
#include "alloc/heapwood/shared_pages.hpp"
#include "simt/scratch.hpp"

namespace heapwood::alloc::arena {

// An arena owned by a warp. The initial state stands for no arena: it has no space, contains no
// block, and is never empty.
struct alignas(16) WarpArena {
  std::uint32_t used = 1u << 26;  // granules allocated
  std::uint32_t live = 1;         // blocks allocated and not freed by this warp
  std::byte* base = nullptr;

  HEAPWOOD_INLINE bool contains(const void* block, const Arenas& arenas) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(block) - base) <
           std::size_t{arenas.granules} * granule;
  }
};

struct WarpState {
  // With the warp's own arena, the counts to change are as many as a GPU's warp has lanes, and a
  // flush changes all of them in one step.
  static constexpr std::uint32_t max_deferred = 31;

  WarpArena own;
  std::uint32_t known_used = 0;  // arenas that have been in use, as far as this warp knows
  std::uint32_t deferred_count = 0;
  // Arenas are ample (SharedPages::max_ample_warps), so a warp may hold its own while it waits.
  bool has_ample_arenas = false;
  // Arenas are ample and the reserve is not used up, as far as this warp knows.
  bool has_reserve = false;
  std::byte* deferred[max_deferred];  // frees of other arenas' blocks, not applied yet
  const SharedPages* self = nullptr;  // the copy in the pool
  // A copy of its arenas, which saves an access to L2 after each acquire.
  Arenas arenas;
};

// Claims one arena for a whole warp without a search. Reads 32 adjacent counts, chosen by `seed`
// among those of the first `known` arenas, and tries to take a free one. If none is free there,
// takes the next fresh arena and updates `known`, which the warp keeps in its fast memory. Once 3/8
// of the pool has been used it first tries three more times: single used arenas spread all over the
// pool would leave no space for large blocks.
template <class Warp>
HEAPWOOD_INLINE std::uint32_t claim_for_warp(const Arenas& arenas, Warp& warp, std::uint32_t value,
                                             std::uint32_t seed, std::uint32_t& known) {
  constexpr std::uint32_t per_superblock = Arenas::per_superblock;
  const Arenas::Word high_water(*arenas.high_water);
  const WholeWarp<Warp> team(warp);
  const std::uint32_t used = known;
  team.sync();  // all lanes have read `known`
  std::uint32_t taken = none;
  HEAPWOOD_ROLLED
  for (std::uint32_t attempt = 0; attempt < Arenas::attempts && taken == none; ++attempt) {
    const std::uint32_t hash = Arenas::hashed(seed + used + attempt);
    std::uint32_t a = Arenas::scaled(hash, used) & ~(per_superblock - 1);
    std::uint32_t* const words = arenas.counts + a;
    // relaxed: only a candidate; the exchange decides.
    const std::uint32_t bits =
        team.mask([&](std::uint32_t i) { return Arenas::Word(words[i]).load(simt::relaxed) == 0; });
    const std::uint32_t behind = bits & ~0u << (hash >> 8) % per_superblock;
    a += simt::lowest_bit(behind != 0 ? behind : bits);
    taken = team.once([&] {
      if (bits == 0) {
        if (used > arenas.arenas / 8 * 3 && attempt + 1 < Arenas::attempts) return none;
        // relaxed: the counts decide.
        a = used < arenas.arenas ? high_water.fetch_add(1, simt::relaxed) : none;
        if (a - arenas.run_first < arenas.reserve)
          high_water.fetch_max(arenas.run_first + arenas.reserve, simt::relaxed);
        known = a < arenas.arenas ? a + 1 : arenas.arenas;
      }
      if (a >= arenas.arenas) return none;
      if (bits == 0 && a < arenas.fresh_end) {
        arenas.count(a).store(value, simt::relaxed);  // relaxed: as in Arenas::take_unused()
        return a;
      }
      return arenas.take_arena(a, value) ? a : none;
    });
  }
  return taken;
}

// alloc/allocator.hpp says what the functions of a Context do.
template <class Warp>
class PrivateArena {
 public:
  // `self` is the copy of `shared` in the pool.
  HEAPWOOD_INLINE PrivateArena(const SharedPages& shared, const SharedPages* self, Warp& warp,
                               WarpState& state)
      : arenas_(shared.pages.arenas), state_(state) {
    if (warp.lane() == 0) {
      state_.own = {};
      state_.known_used = state_.deferred_count = 0;
      state_.has_ample_arenas = warp.workers() <= shared.max_ample_warps;
      state_.has_reserve = state_.has_ample_arenas && arenas_.reserve != 0;
      state_.arenas = arenas_;
      state_.self = self;
    }
    warp.sync();
  }
  HEAPWOOD_INLINE void begin(Warp& warp) {
    if (state_.has_ample_arenas && arenas_.fresh_end == 0) claim_initial_arena(warp);
    const bool warms_cache = warp.worker() % 2 == 1 && warp.worker() < warp.workers() / 8 + 2;
    if (state_.has_reserve && warms_cache) warm_instruction_cache(warp);
  }

  HEAPWOOD_INLINE BlockPair allocate_pair(Warp& warp, std::uint32_t first, std::uint32_t second) {
    const WarpArena from = state_.own;
    const std::uint32_t used = from.used + first + second;
    if (used > arenas_.granules) {
      if (first + second <= arenas_.granules)
        return allocate_pair_in_next(warp, state_, first, second);
      return state_.has_reserve ? allocate_pair_from_reserve(warp, state_, first, second)
                                : allocate_pair_as_runs(warp, state_, first, second);
    }
    set_own(warp, state_, used, from.live + (first != 0 ? 1 : 0) + (second != 0 ? 1 : 0));
    std::byte* const block = from.base + std::size_t{from.used} * granule;
    return {block, block + std::size_t{first} * granule};
  }
  // An arena counts its blocks and does not know their sizes.
  HEAPWOOD_INLINE bool may_shrink(std::uint32_t n) const { return n <= arenas_.granules; }
  HEAPWOOD_INLINE bool try_allocate(Warp& warp, std::uint32_t n, void*& block) {
    const WarpArena own = state_.own;
    const std::uint32_t used = own.used + n;
    if (used > arenas_.granules) return false;
    set_own(warp, state_, used, own.live + (n != 0 ? 1 : 0));
    block = own.base + std::size_t{own.used} * granule;
    return true;
  }
  // Replaces the arena by one with room for n granules, if one is found without a search.
  HEAPWOOD_INLINE bool make_room(Warp& warp, std::uint32_t n) {
    return n <= arenas_.granules && make_room_slow(warp, state_, n);
  }
  HEAPWOOD_INLINE bool try_deallocate(Warp& warp, void* block, std::uint32_t n) {
    const WarpArena own = state_.own;
    if (!own.contains(block, arenas_)) return defer_free(warp, block, n);
    const std::uint32_t live = own.live - 1;
    set_own(warp, state_, live == 0 ? 0 : own.used, live);
    return true;
  }
  HEAPWOOD_INLINE void* allocate(Warp& warp, std::uint32_t n) {
    return allocate_one_block_or_run(warp, state_, n == 0 ? 1 : n);
  }
  HEAPWOOD_INLINE void deallocate(Warp& warp, void* block, std::uint32_t n) {
    if (!try_deallocate(warp, block, n)) deallocate_slow(warp, state_, block, n);
    warp.sync();
  }
  // Where arenas are scarce, a waiting warp holds none.
  HEAPWOOD_INLINE void release_if_scarce(Warp& warp) {
    if (!state_.has_ample_arenas) hand_over(warp, state_, true);
  }
  HEAPWOOD_INLINE bool may_delay_frees() const { return arenas_.reserve != 0; }
  // Also clears the failed searches of the warp's slot, because other warps may have freed memory
  // since. A warp that ends without this call keeps its arena until the pool is initialized again.
  HEAPWOOD_INLINE void end(Warp& warp) {
    hand_over(warp, state_, true);
    if (warp.lane() == 0) state_.self->refusals_of(PageSlots::slot_index(warp, 1)).clear();
  }

 private:
  // The form in which out-of-line functions receive the state; saves registers
  // (docs/own-allocator.md). Renaming a function may change the machine code of a kernel: ptxas
  // assigns registers in the order of mangled names.
  using State = simt::ScratchRef<WarpState>;

  HEAPWOOD_INLINE static void set_own(Warp& warp, WarpState& state, std::uint32_t used,
                                      std::uint32_t live) {
    warp.sync();  // all lanes have read
    if (warp.lane() == 0) {
      state.own.used = used;
      state.own.live = live;
    }
  }
  // Defers the free of a block outside the warp's arena. Returns false if the list is full or the
  // block spans several arenas.
  HEAPWOOD_INLINE bool defer_free(Warp& warp, void* block, std::uint32_t n) {
    const std::uint32_t deferred = state_.deferred_count;
    if (n > arenas_.granules || deferred == WarpState::max_deferred) return false;
    warp.sync();  // all lanes have read
    if (warp.lane() == 0) {
      state_.deferred[deferred] = static_cast<std::byte*>(block);
      state_.deferred_count = deferred + 1;
    }
    return true;
  }

  // Arenas are assigned by warp number. A warp whose arena is already taken starts without one.
  HEAPWOOD_INLINE void claim_initial_arena(Warp& warp) {
    if (warp.lane() == 0) {
      const std::uint32_t a = warp.worker();
      if (a < arenas_.arenas && arenas_.take_arena(a, open))
        state_.own = {0, 0, arenas_.address(a, 0)};
      // relaxed: a hint.
      if (a == 1) Arenas::Word(*arenas_.high_water).fetch_max(warp.workers(), simt::relaxed);
    }
    warp.sync();  // makes the claim's acquire visible to all lanes
  }
  // Allocates and frees a run, so that the code is in the multiprocessor's instruction cache before
  // all warps wait for the warp that splits the first large nodes there. In a kernel of at least 16
  // warps per multiprocessor, at least one per multiprocessor does this.
  HEAPWOOD_INLINE void warm_instruction_cache(Warp& warp) {
    const std::uint32_t n = arenas_.granules + 1;
    void* const block = allocate_pair_from_reserve(warp, state_, n, 0).first;
    if (block != nullptr) deallocate_slow(warp, state_, block, n);
  }
  static HEAPWOOD_OUTLINE bool make_room_slow(Warp warp, State warp_state, std::uint32_t n) {
    return n < (*warp_state).own.used && claim_next(warp, warp_state, true, 0, 0) != nullptr;
  }
  // Allocates two blocks that do not fit the warp's arena from another one.
  static HEAPWOOD_OUTLINE BlockPair allocate_pair_in_next(Warp warp, State warp_state,
                                                          std::uint32_t first,
                                                          std::uint32_t second) {
    const std::uint32_t total = first + second,
                        blocks = (first != 0 ? 1 : 0) + (second != 0 ? 1 : 0);
    const bool replace_own = total < (*warp_state).own.used;
    std::byte* const base = claim_next(warp, warp_state, replace_own, total, blocks);
    if (base == nullptr) return allocate_pair_individually(warp, warp_state, first, second);
    return {base, base + std::size_t{first} * granule};
  }
  // Claims an arena and allocates its first `used` granules, for `blocks` blocks. With
  // `replace_own` it becomes the warp's arena, and the old one is closed; without, the warp's arena
  // has more space left than this one would have, and stays. Flushes the deferred frees.
  // Returns the arena's start, or nullptr if none is found without a search.
  static HEAPWOOD_OUTLINE std::byte* claim_next(Warp warp, State warp_state, bool replace_own,
                                                std::uint32_t used, std::uint32_t blocks) {
    WarpState& state = *warp_state;
    const Arenas& arenas = state.arenas;
    const std::uint32_t seed = search_seed(warp, state);
    hand_over(warp, warp_state, replace_own);
    const std::uint32_t a =
        claim_for_warp(arenas, warp, replace_own ? open : blocks, seed, state.known_used);
    std::byte* const base = a != none ? arenas.address(a, 0) : nullptr;
    warp.sync();  // all lanes have read; makes the claim's acquire visible to them
    if (warp.lane() == 0 && replace_own && base != nullptr) state.own = {used, blocks, base};
    return base;
  }
  // Allocates two blocks that together exceed an arena, while the reserve lasts.
  static HEAPWOOD_OUTLINE BlockPair allocate_pair_from_reserve(Warp warp, State warp_state,
                                                               std::uint32_t first,
                                                               std::uint32_t second) {
    WarpState& state = *warp_state;
    const Arenas& arenas = state.arenas;
    const std::uint32_t n = arenas.arenas_for(first), all = n + arenas.arenas_for(second);
    if (all > arenas.reserve / 4) return allocate_pair_as_runs(warp, warp_state, first, second);
    // Take a ticket for the arenas. relaxed: each ticket is handed out once.
    const WholeWarp<Warp> team(warp);
    const std::uint64_t ticket = team.once(
        [&] { return simt::global_ref(arenas.run_tickets[0]).fetch_add(all, simt::relaxed); });
    const auto below = static_cast<std::uint32_t>(ticket);
    if (ticket >= arenas.reserve || !arenas.take_reserved(team, below, n, all - n)) {
      if (warp.lane() == 0) state.has_reserve = false;
      return allocate_pair_as_runs(warp, warp_state, first, second);
    }
    warp.sync();
    std::byte* const block = arenas.address(arenas.run_first + below, 0);
    return {block, block + (std::size_t{n} << arenas.shift)};
  }
  // Allocates two blocks that together exceed an arena, without the reserve.
  static HEAPWOOD_OUTLINE BlockPair allocate_pair_as_runs(Warp warp, State warp_state,
                                                          std::uint32_t first,
                                                          std::uint32_t second) {
    WarpState& state = *warp_state;
    if (takes_own_run(state.arenas, first) && takes_own_run(state.arenas, second)) {
      const BlockPair blocks = claim_runs(warp, warp_state, first, second);
      if (blocks.first != nullptr) return blocks;
    }
    return allocate_pair_individually(warp, state, first, second);
  }
  static HEAPWOOD_OUTLINE BlockPair claim_runs(Warp warp, State warp_state, std::uint32_t first,
                                               std::uint32_t second) {
    WarpState& state = *warp_state;
    const Arenas& arenas = state.arenas;
    if (arenas.arenas_for(first) + arenas.arenas_for(second) > Arenas::per_superblock)
      return claim_superblock_runs(warp, warp_state, first, second);
    return arenas.claim_runs(warp, first, second, search_seed(warp, state));
  }
  static HEAPWOOD_OUTLINE BlockPair claim_superblock_runs(Warp warp, State warp_state,
                                                          std::uint32_t first,
                                                          std::uint32_t second) {
    return (*warp_state).arenas.claim_superblock_runs(warp, first, second);
  }
  // Whether a block that does not fit the warp's arena together with a second one gets a run
  // without first trying that arena. True for a block of several arenas, and for any block where
  // arenas have at least 32 KiB, as in the large pools of builders: space for 1,024 clipped refs,
  // the largest node that one warp splits alone, so few blocks are of this kind.
  HEAPWOOD_INLINE static bool takes_own_run(const Arenas& arenas, std::uint32_t n) {
    return arenas.shift >= 15 || n == 0 || n > arenas.granules;
  }
  static HEAPWOOD_OUTLINE BlockPair allocate_pair_individually(Warp warp, State warp_state,
                                                               std::uint32_t first,
                                                               std::uint32_t second) {
    void* const block = first != 0 ? allocate_one_block_or_run(warp, warp_state, first) : nullptr;
    if (second == 0 || (first != 0 && block == nullptr)) return {block, block};
    void* const other = allocate_one_block_or_run(warp, warp_state, second);
    if (other != nullptr) return {first != 0 ? block : other, other};
    if (block != nullptr) deallocate_slow(warp, warp_state, block, first);
    return {};
  }
  static HEAPWOOD_OUTLINE void* allocate_one_block_or_run(Warp warp, State warp_state,
                                                          std::uint32_t n) {
    WarpState& state = *warp_state;
    warp.sync();  // lane 0 has written
    // Several arenas; the warp's own arena; the next one; or any, by a search.
    if (n > state.arenas.granules) return allocate_run(warp, state, n);
    const WarpArena own = state.own;
    if (own.used + n <= state.arenas.granules) {
      set_own(warp, state, own.used + n, own.live + 1);
      warp.sync();
      return own.base + std::size_t{own.used} * granule;
    }
    void* block = claim_next(warp, warp_state, n < own.used, n, 1);
    warp.sync();  // lane 0 has written
    return block != nullptr ? block : claim_with_full_search(warp, state, n);
  }
  static HEAPWOOD_OUTLINE void* allocate_run(Warp warp, State warp_state, std::uint32_t n) {
    WarpState& state = *warp_state;
    // A few arenas first, then the whole pool, then with the reserve; at last collect single
    // arenas.
    void* block = claim_runs(warp, warp_state, n, 0).first;
    if (block == nullptr) block = search_for_span(warp, state, n);
    if (block == nullptr && state.arenas.release_reserve(WholeWarp<Warp>(warp)) != 0)
      block = search_for_span(warp, state, n);
    return block != nullptr ? block : collect_run(warp, state, n);
  }
  HEAPWOOD_INLINE static std::uint32_t search_seed(Warp& warp, const WarpState& state) {
    return warp.worker() + state.arenas.index(state.own.base) * seed_stride;
  }
  // Claims an arena with a search, for the block alone or to replace the warp's arena. Searches
  // the whole pool only if the warp's slot has not just refused a request of this size.
  static HEAPWOOD_OUTLINE void* claim_with_full_search(Warp warp, State warp_state,
                                                       std::uint32_t n) {
    WarpState& state = *warp_state;
    const Arenas& arenas = state.arenas;
    const WholeWarp<Warp> team(warp);
    const Refusals refusals = state.self->refusals_of(PageSlots::slot_index(warp, 1));
    const bool replace_own = n < state.own.used;
    const std::uint32_t value = replace_own ? open : 1;
    // Count the request in the warp's slot, which says whether a search is due.
    const std::uint32_t refusal =
        arenas.superblocks <= Refusals::small_pool_superblocks
            ? 0
            : team.once([&] { return refusals.refuse(n, arenas.superblocks); });
    const std::uint32_t seed = search_seed(warp, state) + refusal * seed_stride;
    const bool thorough = Refusals::search_due(refusal);
    // Claim an arena, if need be with the reserve.
    std::uint32_t a = arenas.claim(team, 1, value, seed, thorough);
    if (a == none && thorough && arenas.release_reserve(team) != 0)
      a = arenas.claim(team, 1, value, seed, true);
    warp.sync();  // all lanes have read; makes the claim's acquire visible to them
    if (warp.lane() == 0) {
      if (a == none && thorough) refusals.record_failed_search(n);
      if (a != none && refusal != 0) refusals.clear();
      if (a != none && replace_own) state.own = {n, 1, arenas.address(a, 0)};
    }
    warp.sync();
    return a != none ? arenas.address(a, 0) : nullptr;
  }
  static HEAPWOOD_OUTLINE void* search_for_span(Warp warp, State warp_state, std::uint32_t n) {
    WarpState& state = *warp_state;
    void* const block = state.arenas.claim_span(WholeWarp<Warp>(warp), std::size_t{n} * granule,
                                                search_seed(warp, state), true);
    warp.sync();  // makes the claim's acquire visible to all lanes
    return block;
  }
  // Collects a run for a block of more arenas than a superblock has.
  static HEAPWOOD_OUTLINE void* collect_run(Warp warp, State warp_state, std::uint32_t n) {
    const Arenas& arenas = (*warp_state).arenas;
    const std::uint32_t r = arenas.arenas_for(n);
    if (r <= Arenas::per_superblock || r > arenas.arenas / 8) return nullptr;
    hand_over(warp, warp_state, true);  // its arena and blocks may be in the way
    const std::uint32_t a = RunCollector<Warp>(arenas, warp, r).collect();
    return a == none ? nullptr : arenas.address(a, 0);
  }
  // Frees a block for which the list has no space, or a block of several arenas, which is returned
  // immediately.
  static HEAPWOOD_OUTLINE void deallocate_slow(Warp warp, State warp_state, void* block,
                                               std::uint32_t n) {
    WarpState& state = *warp_state;
    const Arenas& arenas = state.arenas;
    const std::uint32_t r = arenas.arenas_for(n);
    warp.sync();  // all lanes are done with the block
    if (r > 1) {
      arenas.free_run(WholeWarp<Warp>(warp), arenas.index(block), r);
      warp.sync();
      return;
    }
    hand_over(warp, warp_state, false);
    if (warp.lane() == 0) {
      state.deferred[0] = static_cast<std::byte*>(block);
      state.deferred_count = 1;
    }
    warp.sync();
  }
  // Hands over the deferred frees, and with `closes_own` the warp's arena: one word per lane. A
  // deferred block of that arena is still included in its `live`, so it is subtracted as well.
  static HEAPWOOD_OUTLINE void hand_over(Warp warp, State warp_state, bool closes_own) {
    WarpState& state = *warp_state;
    const Arenas& arenas = state.arenas;
    warp.sync();  // all lanes are done with the blocks, and lane 0 has written
    const std::uint32_t deferred = state.deferred_count;
    HEAPWOOD_ROLLED
    for (std::uint32_t i = warp.lane(); i < WarpState::max_deferred + 1; i += Warp::width) {
      const std::byte* address = nullptr;
      std::uint32_t blocks = 1;
      if (i < deferred) address = state.deferred[i];
      if (i == WarpState::max_deferred && closes_own) {
        address = state.own.base;
        blocks = open - state.own.live;
      }
      // release: hands over the blocks that this warp has freed.
      if (address != nullptr) arenas.count(arenas.index(address)).fetch_sub(blocks, simt::release);
    }
    warp.sync();  // all lanes have read
    if (warp.lane() == 0) {
      state.deferred_count = 0;
      if (closes_own) state.own = {};
    }
    warp.sync();
  }

  const Arenas& arenas_;
  WarpState& state_;
};

}  // namespace heapwood::alloc::arena
