// SPDX-License-Identifier: MIT
// A warp's own arenas, for kernels whose warps allocate and free all the time: blocks are cut off, and usually given back,
// with no access to memory that others see. The context of an allocator (alloc/allocator.hpp). Its state is in the warp's fast
// memory: such kernels are short of registers. They are short of the instruction cache, too, so that what is inlined is what
// happens nearly always; the rest is called.
//
// There are two, where the pool has enough: the present one, which blocks are cut from, and the one before, which is full.
// What the warp frees of them stays its own affair, and an arena whose blocks are all free begins anew. Why it may: `live`
// counts the blocks that were handed out and not freed by this warp; where that is 0 all have been freed here, so that nobody
// else has changed the count or will.
// Frees elsewhere, of an arena or less, are put down, and looked through when the list is full or the warp needs another arena. What is
// of other arenas is handed over together: a free's release waits for the warp's own stores, and one wait does for as many words as there
// are lanes.
#pragma once

#include "alloc/arena/shared_arenas.hpp"
#include "simt/scratch_ref.hpp"

namespace heapwood::alloc::arena {

// No arena, until there is one: it has no room, no block lies in it, and it is never empty.
struct alignas(16) WarpArena {
  std::uint32_t used = 1u << 26;  // granules handed out
  std::uint32_t live = 1;         // blocks handed out and not freed by this warp
  std::byte* base = nullptr;

  SIMT_INLINE bool contains(const void* block, const Arenas& arenas) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(block) - base) <
           std::size_t{arenas.granules()} * granule;
  }
  SIMT_INLINE std::uint32_t index(const Arenas& arenas) const { return arenas.index(base); }
};

struct WarpState {
  // Handed over side by side, with the two arenas: a GPU's warp has 32 lanes.
  static constexpr std::uint32_t most_listed = 30;

  WarpArena own[2];          // the present one, the one before
  std::uint32_t window = 0;  // arenas that have been in use, as far as this warp knows
  std::uint32_t listed_count = 0;
  bool ample = false;              // there are four arenas a warp: it may keep something while it waits
  bool runs_at_once = false;       // and pairs that are more than an arena get runs without a look at the present one
  std::byte* listed[most_listed];  // freed by this warp
  const SharedArenas* self = nullptr;  // in the pool
  Arenas arenas;                       // a copy of its arenas: a trip to L2 nearer, behind each acquire
};

template <class Warp>
class PrivateArena {
 public:
  // `self` is the copy of `shared` in the pool.
  SIMT_INLINE PrivateArena(const SharedArenas& shared, const SharedArenas* self, Warp& warp, WarpState& state)
      : arenas_(shared.arenas), state_(state) {
    if (warp.lane() == 0) {
      state_.own[0] = state_.own[1] = {};
      state_.window = state_.listed_count = 0;
      state_.ample = !fewer_than(shared.arenas, warp, 4);
      state_.runs_at_once = state_.ample && shared.arenas.runs_begin_split();
      state_.arenas = shared.arenas;
      state_.self = self;
    }
    warp.sync();
  }
  // Once, when the warp would have to wait: arenas before there is anything to do. It need not be called.
  SIMT_INLINE void begin(Warp& warp) {
    if (state_.ample) claim(arenas_, warp, state_, state_.self->slot_mask + 1);
    const bool rehearses = warp.worker() % 2 == 1 && warp.worker() < warp.workers() / 8 + 2;
    if (state_.runs_at_once && rehearses) rehearse(warp);
  }

  // Two blocks; none, the first being nullptr, if one is refused. Of 0 granules it is some address.
  SIMT_INLINE BlockPair allocate_two(Warp& warp, std::uint32_t first, std::uint32_t second) {
    const WarpArena from = state_.own[0];
    const std::uint32_t used = from.used + first + second;
    if (used > arenas_.granules()) {
      return first + second > arenas_.granules() ? two_runs(warp, state_, first, second)
                                                 : two_in_next(warp, state_, first, second);
    }
    const std::uint32_t live = from.live + (first != 0 ? 1 : 0) + (second != 0 ? 1 : 0);
    warp.sync();  // all have read
    if (warp.lane() == 0) {
      state_.own[0].used = used;
      state_.own[0].live = live;
    }
    std::byte* const at = from.base + std::size_t{from.used} * granule;
    return {at, at + std::size_t{first} * granule};
  }
  // Two blocks in exchange for one of n granules, as far as that takes no call out of line. False: nothing has happened. What is freed
  // stays as it is until this warp's next call: an arena begins anew, and the list is handed over, in no other way.
  SIMT_INLINE bool try_exchange(Warp& warp, void* block, std::uint32_t n, std::uint32_t first, std::uint32_t second,
                                BlockPair& blocks) {
    const WarpArena own = state_.own[0];
    const std::uint32_t used = own.used + first + second;
    if (used > arenas_.granules()) return false;
    std::uint32_t live = own.live + (first != 0 ? 1 : 0) + (second != 0 ? 1 : 0);
    if (own.contains(block, arenas_)) {
      --live;
    } else if (!put_down(warp, block, n)) {
      return false;
    }
    warp.sync();  // all have read
    if (warp.lane() == 0) {
      state_.own[0].used = used;
      state_.own[0].live = live;
    }
    std::byte* const at = own.base + std::size_t{own.used} * granule;
    blocks = {at, at + std::size_t{first} * granule};
    return true;
  }
  // deallocate() in the same way.
  SIMT_INLINE bool try_deallocate(Warp& warp, void* block, std::uint32_t n) {
    const WarpArena own = state_.own[0];
    if (!own.contains(block, arenas_)) return put_down(warp, block, n);
    const std::uint32_t live = own.live - 1;
    warp.sync();  // all have read
    if (warp.lane() == 0) {
      state_.own[0].used = live == 0 ? 0 : own.used;
      state_.own[0].live = live;
    }
    return true;
  }
  // One; of 0 granules it is one of 1.
  SIMT_INLINE void* allocate(Warp& warp, std::uint32_t n) { return one(warp, state_, n == 0 ? 1 : n); }
  // With as many granules as it was asked for with. Behind the call all lanes are done with the block.
  SIMT_INLINE void deallocate(Warp& warp, void* block, std::uint32_t n) {
    if (!try_deallocate(warp, block, n)) free_slowly(warp, state_, block, n);
    warp.sync();
  }

  // Before the warp waits for something: where arenas are few, none waits with it.
  SIMT_INLINE void idle(Warp& warp) {
    if (!state_.ample) hand_all_over(warp, state_);
  }
  // Whether blocks that are no longer needed may be freed a little later: where memory is spare.
  SIMT_INLINE bool may_keep() const { return arenas_.reserve != 0; }
  // At the end of the kernel, or of what is worth keeping arenas for: other warps may have freed what was in vain searched for, too.
  // A warp that stops without it keeps its arenas until the pool is laid out anew.
  SIMT_INLINE void end(Warp& warp) {
    hand_all_over(warp, state_);
    if (warp.lane() == 0) state_.self->forget(SharedArenas::slot_of(warp));
  }

 private:
  // What is called gets the state like this, for the sake of registers (docs/own-allocator.md).
  using State = simt::ScratchRef<WarpState>;

  // A block that is not the present arena's. False: there is no room in the list, or it is of several arenas.
  SIMT_INLINE bool put_down(Warp& warp, void* block, std::uint32_t n) {
    const std::uint32_t listed = state_.listed_count;
    if (n > arenas_.granules() || listed == WarpState::most_listed) return false;
    warp.sync();  // all have read
    if (warp.lane() == 0) {
      state_.listed[listed] = static_cast<std::byte*>(block);
      state_.listed_count = listed + 1;
    }
    return true;
  }

  // No block: there is another present arena, with room for what was asked for.
  SIMT_INLINE static void* try_again() { return reinterpret_cast<void*>(std::uintptr_t{1}); }

  // Both arenas, or one where there are few, before there is anything to do: a warp that claims its first one with work in hand keeps
  // those waiting that wait for what it makes of it. Which they are is agreed on: behind those that slots begin with. Who finds
  // its own taken goes without.
  SIMT_INLINE static void claim(const Arenas& arenas, Warp& warp, WarpState& state, std::uint32_t first) {
    const std::uint32_t each = fewer_than(arenas, warp, 12) ? 1 : 2;
    for (std::uint32_t i = warp.lane(); i < each; i += Warp::width) {
      const std::uint32_t a = first + each * warp.worker() + i;
      if (a < arenas.arenas && arenas.take_one(a, open)) {
        state.own[i] = {.used = 0, .live = 0, .base = arenas.place(a, 0)};
      }
    }
    // relaxed: a hint.
    if (warp.lane() == 0 && warp.worker() == 1) {
      Arenas::Word(*arenas.fresh).fetch_max(first + each * warp.workers(), simt::relaxed);
    }
    warp.sync();  // passes the claims' acquires on
  }
  // Takes a run and gives it back, so that the code has come into the multiprocessor's cache before all warps wait for who splits the
  // first large nodes there. Of a kernel with 16 warps a multiprocessor or more, in blocks of two that are dealt out in turn, one of each
  // does; of any other, some.
  SIMT_INLINE void rehearse(Warp& warp) {
    const std::uint32_t n = arenas_.granules() + 1;
    void* const block = two_runs(warp, state_, n, 0).first;
    if (block != nullptr) free_slowly(warp, state_, block, n);
  }
  // Two blocks for which the present arena has no room, of another one, where arenas are ample. Of what is called this is nearly
  // all, so it is one piece of code: it closes the arena before, hands over what is listed, and claims.
  static SIMT_OUTLINE BlockPair two_in_next(Warp warp, State at, std::uint32_t first, std::uint32_t second) {
    WarpState& state = *at;
    const Arenas& arenas = state.arenas;
    if (!state.ample) return rarely(warp, state, first, second);
    const std::uint32_t both = first + second;
    const WarpArena now = state.own[0], before = state.own[1];
    // Where the present arena has more room than a new one would have left, the blocks have that for themselves.
    const bool change = both < now.used;
    const std::uint32_t blocks = (first != 0 ? 1 : 0) + (second != 0 ? 1 : 0);
    warp.sync();  // all lanes are done with the blocks
    const std::uint32_t listed = state.listed_count;
    std::uint32_t in_before = 0;
    for (std::uint32_t i = warp.lane(); i < WarpState::most_listed; i += Warp::width) {
      in_before += i < listed && before.contains(state.listed[i], arenas) ? 1 : 0;
    }
    const std::uint32_t live = before.live - warp.reduce_add(in_before);
    for (std::uint32_t i = warp.lane(); i < WarpState::most_listed + 1; i += Warp::width) {
      std::uint32_t a = none, loss = open - live;
      if (i < listed) {
        loss = 1;
        if (!before.contains(state.listed[i], arenas)) a = arenas.index(state.listed[i]);
      } else if (i == WarpState::most_listed && change && live != 0 && before.base != nullptr) {
        a = before.index(arenas);
      }
      // release: hands the blocks over that this warp has freed.
      if (a != none) arenas.count(a).fetch_sub(loss, simt::release);
    }
    std::byte* base = before.base;
    if (!change || live != 0) {
      const std::uint32_t a =
          arenas.claim_quickly(warp, change ? open : blocks, spread_of(warp, now, arenas), state.window);
      base = a != none ? arenas.place(a, 0) : nullptr;
    }
    warp.sync();  // all have read; passes the claim's acquire on
    if (warp.lane() == 0) {
      state.listed_count = 0;
      state.own[1].live = live;
      if (change) state.own[1] = base != nullptr ? now : WarpArena{};
      if (change && base != nullptr) state.own[0] = {.used = both, .live = blocks, .base = base};
    }
    if (base == nullptr) return rarely(warp, state, first, second);
    return {base, base + std::size_t{first} * granule};
  }
  // Two blocks that are more than an arena together get arenas of their own, where such runs are handed out in turn. All warps may
  // wait for a large node's split, so this is as short as can be: one trip to L2.
  static SIMT_OUTLINE BlockPair two_runs(Warp warp, State at, std::uint32_t first, std::uint32_t second) {
    WarpState& state = *at;
    const Arenas& arenas = state.arenas;
    const std::uint32_t n = arenas.run_of(first), all = n + arenas.run_of(second);
    // The reserve has runs of any length; behind it a lane takes an arena.
    const std::uint32_t most = arenas.reserve != 0 ? arenas.reserve / 4 : Warp::width;
    if (all > most || !state.runs_at_once) return rarely(warp, state, first, second);
    // relaxed: within the reserve each ticket is handed out once; behind it a hint, and the counts decide.
    std::uint64_t ticket = warp.lane() == 0 ? simt::global_ref(arenas.runs[0]).fetch_add(all, simt::relaxed) : 0;
    ticket = warp.shfl(ticket, 0);
    const std::uint32_t below = static_cast<std::uint32_t>(ticket) & (arenas.run_room - 1);
    if (ticket >= arenas.reserve) {
      return all > Warp::width ? rarely(warp, at, first, second) : runs_in_turn(warp, at, first, second, below);
    }
    if (!arenas.take_reserved(Whole<Warp>(warp), below, n, all - n)) return rarely(warp, at, first, second);
    warp.sync();
    std::byte* const block = arenas.place(arenas.run_first + below, 0);
    return {block, block + (std::size_t{n} << arenas.shift)};
  }
  // The same where there is no reserve left: a lane an arena, and one attempt.
  static SIMT_OUTLINE BlockPair runs_in_turn(Warp warp, State at, std::uint32_t first, std::uint32_t second,
                                             std::uint32_t below) {
    WarpState& state = *at;
    const Arenas& arenas = state.arenas;
    const std::uint32_t n = arenas.run_of(first), all = n + arenas.run_of(second);
    const std::uint32_t i = warp.lane();
    const std::uint32_t a = arenas.run_first + below, head = Arenas::headed_by(i < n ? n : all - n, false);
    const std::uint32_t value = i == 0 || i == n ? head : body;
    const bool taken = i < all && below + i < arenas.run_room && arenas.take_in_split(a + i, value);
    if (warp.any(i < all && !taken)) {
      if (taken) arenas.give_up(a + i, value);
      return rarely(warp, state, first, second);
    }
    warp.sync();  // passes the acquires on
    std::byte* const block = arenas.place(a, 0);
    return {block, block + (std::size_t{n} << arenas.shift)};
  }
  // Where arenas are few or small, or the attempt was in vain.
  static SIMT_OUTLINE BlockPair rarely(Warp warp, State at, std::uint32_t first, std::uint32_t second) {
    WarpState& state = *at;
    const std::uint32_t both = first + second;
    warp.sync();  // all have read
    if (both > state.arenas.granules()) {
      if (are_runs(state.arenas, first) && are_runs(state.arenas, second)) {
        const BlockPair blocks = state.arenas.claim_runs(warp, first, second);
        if (blocks.first != nullptr) return blocks;
      }
    } else if (renew(warp, state, both)) {
      std::byte* const block = cut(warp, state, both, (first != 0 ? 1 : 0) + (second != 0 ? 1 : 0));
      return {block, block + std::size_t{first} * granule};
    }
    return apart(warp, state, first, second);
  }
  // Whether a block that does not fit the present arena together with another one gets arenas of its own without a look there: one of
  // several does, and any where arenas are so large that few blocks are of this kind.
  SIMT_INLINE static bool are_runs(const Arenas& arenas, std::uint32_t n) {
    return few_are_large(arenas) || n == 0 || n > arenas.granules();
  }
  // Of 32 KiB, which builders have from large pools: 1,024 clipped refs, as many as a node has that one warp splits.
  SIMT_INLINE static bool few_are_large(const Arenas& arenas) { return arenas.shift >= 15; }
  // n granules, with `blocks` blocks in them, of the present arena, which has room.
  SIMT_INLINE static std::byte* cut(Warp& warp, WarpState& state, std::uint32_t n, std::uint32_t blocks) {
    const WarpArena from = state.own[0];
    warp.sync();  // all have read
    if (warp.lane() == 0) {
      state.own[0].used = from.used + n;
      state.own[0].live = from.live + blocks;
    }
    warp.sync();
    return from.base + std::size_t{from.used} * granule;
  }
  // Sees to a present arena with room for n more granules. False: that would need a search, or the present arena has more room
  // than a new one would have left.
  static SIMT_OUTLINE bool renew(Warp warp, State at, std::uint32_t n) {
    WarpState& state = *at;
    const Arenas& arenas = state.arenas;
    settle(warp, state);
    const WarpArena now = state.own[0], before = state.own[1];
    if (now.used + n <= arenas.granules()) return true;
    if (n > arenas.granules() || n >= now.used) return false;
    WarpArena next{.used = 0, .live = 0, .base = before.base};
    if (before.live != 0) {
      if (fewer_than(arenas, warp, 1)) return false;
      hand_over(warp, state, fewer_than(arenas, warp, 3) ? 2 : 1);
      const std::uint32_t a = arenas.claim_quickly(warp, open, spread_of(warp, now, arenas), state.window);
      if (a == none) return false;
      next.base = arenas.place(a, 0);
    }
    change_to(warp, state, next);
    return true;
  }
  static SIMT_OUTLINE BlockPair apart(Warp warp, State at, std::uint32_t first, std::uint32_t second) {
    WarpState& state = *at;
    void* const block = first != 0 ? one(warp, state, first) : nullptr;
    if (second == 0 || (first != 0 && block == nullptr)) return {block, block};
    void* const other = one(warp, state, second);
    if (other != nullptr) return {first != 0 ? block : other, other};
    if (block != nullptr) free_slowly(warp, state, block, first);
    return {};
  }
  static SIMT_OUTLINE void* one(Warp warp, State at, std::uint32_t n) {
    WarpState& state = *at;
    const Arenas& arenas = state.arenas;
    SIMT_ROLLED
    for (;;) {
      warp.sync();  // lane 0 has written
      if (n > arenas.granules()) {
        void* const block = run(warp, state, n);
        if (block != nullptr) return block;
        void* const found = span_slowly(warp, state, n);
        return found != nullptr || !retire(warp, state) ? found : span_slowly(warp, state, n);
      }
      if (state.own[0].used + n <= arenas.granules()) return cut(warp, state, n, 1);
      if (fewer_than(arenas, warp, 1)) return shared(warp, state, n);
      if (renew(warp, state, n)) continue;
      void* const block = alone(warp, state, n);
      if (block != try_again()) return block;
    }
  }
  // Whether the pool has fewer arenas than that for each warp: two of its own, and some for large blocks. With fewer than 3 a warp
  // has only the present one, with fewer than 1 none.
  SIMT_INLINE static bool fewer_than(const Arenas& arenas, Warp& warp, std::uint32_t each) {
    return arenas.arenas / each < warp.workers();
  }
  SIMT_INLINE static void* shared(Warp warp, State at, std::uint32_t n) {
    WarpState& state = *at;
    hand_over(warp, state, 0);
    void* const block = reinterpret_cast<void*>(Whole<Warp>(warp).once([&] {
      OneLane<Warp> lane(warp);
      return reinterpret_cast<std::uintptr_t>(state.self->allocate_granules(lane, n, state.self));
    }));
    warp.sync();  // passes the acquire on
    return block;
  }
  // A block of n granules in an arena of its own, or, where none is found, in a slot's; or a new present arena: of that and the
  // present one, that with more room is kept open.
  static SIMT_OUTLINE void* alone(Warp warp, State at, std::uint32_t n) {
    WarpState& state = *at;
    const Arenas& arenas = state.arenas;
    const WarpArena now = state.own[0];
    const std::uint32_t spread = spread_of(warp, now, arenas);
    const bool change = n < now.used;
    hand_over(warp, state, change ? 1 : 0);
    const std::uint32_t a = change ? none : arenas.claim_quickly(warp, 1, spread, state.window);
    void* const block = a != none ? arenas.place(a, 0) : claim_slowly(warp, state, n, spread, change);
    warp.sync();  // passes the claim's acquire on
    return block;
  }
  SIMT_INLINE static std::uint32_t spread_of(Warp& warp, const WarpArena& now, const Arenas& arenas) {
    return warp.worker() + now.index(arenas) * 40503u;
  }
  // A block of more than an arena, as far as no search is needed.
  static SIMT_OUTLINE void* run(Warp warp, State at, std::uint32_t n) {
    WarpState& state = *at;
    return state.arenas.claim_runs(warp, n, 0).first;
  }
  // With a search; where there is none, a block of n granules from a slot.
  static SIMT_OUTLINE void* claim_slowly(Warp warp, State at, std::uint32_t n, std::uint32_t spread, bool change) {
    WarpState& state = *at;
    const Whole<Warp> team(warp);
    const std::uint32_t slot = SharedArenas::slot_of(warp);
    bool searched = false;
    const std::uint32_t a = state.self->claim(team, slot, n, change ? open : 1, spread, searched);
    if (a != none && !change) return state.self->arenas.place(a, 0);
    if (a != none) {
      change_to(warp, state, {.used = 0, .live = 0, .base = state.self->arenas.place(a, 0)});
      return try_again();
    }
    return reinterpret_cast<void*>(team.once([&] {
      return searched ? reinterpret_cast<std::uintptr_t>(SharedArenas::elsewhere(state.self, slot, n))
                      : std::uintptr_t{0};
    }));
  }
  static SIMT_OUTLINE void* span_slowly(Warp warp, State at, std::uint32_t n) {
    WarpState& state = *at;
    void* const block = state.self->arenas.claim_span(Whole<Warp>(warp), std::size_t{n} * granule,
                                                      spread_of(warp, state.own[0], state.arenas), true);
    warp.sync();  // passes the claim's acquire on
    return block;
  }
  static SIMT_OUTLINE bool retire(Warp warp, State at) { return (*at).self->retire(Whole<Warp>(warp)); }
  // The present arena becomes the one before. The sync behind it passes the claim's acquire on, too.
  SIMT_INLINE static void change_to(Warp& warp, WarpState& state, const WarpArena& next) {
    warp.sync();  // all have read
    if (warp.lane() == 0) {
      state.own[1] = state.own[0];
      state.own[0] = next;
    }
    warp.sync();
  }

  // A free for which the list has no room, or of a block of several arenas, which goes back at once.
  static SIMT_OUTLINE void free_slowly(Warp warp, State at, void* block, std::uint32_t n) {
    WarpState& state = *at;
    const Arenas& arenas = state.arenas;
    const std::uint32_t r = arenas.run_of(n);
    warp.sync();  // all lanes are done with the block
    if (r > 1) {
      arenas.give_run(Whole<Warp>(warp), arenas.index(block), r);
      warp.sync();
      return;
    }
    settle(warp, state);
    // Not one settling for each free.
    if (state.listed_count > WarpState::most_listed / 3 * 2) hand_over(warp, state, 0);
    const std::uint32_t listed = state.listed_count;
    warp.sync();  // all have read
    if (warp.lane() == 0) {
      state.listed[listed] = static_cast<std::byte*>(block);
      state.listed_count = listed + 1;
    }
    warp.sync();
  }
  // Looks through the list: what is of the warp's arena before is counted off there, the rest stays. Of the present one there
  // is nothing: what was when it was put down has been looked through when the arenas changed.
  SIMT_INLINE static void settle(Warp& warp, WarpState& state) {
    warp.sync();  // all lanes are done with the blocks, and lane 0 has written
    const WarpArena before = state.own[1];
    const std::uint32_t listed = state.listed_count, lower_lanes = (1u << warp.lane()) - 1u;
    std::uint32_t kept = 0;
    SIMT_ROLLED
    for (std::uint32_t first = 0; first < listed; first += Warp::width) {
      const std::uint32_t i = first + warp.lane();
      std::byte* const freed = i < listed ? state.listed[i] : nullptr;
      const bool keeps = i < listed && !before.contains(freed, state.arenas);
      const std::uint32_t keep_lanes = warp.ballot(keeps);
      warp.sync();  // all have read
      if (keeps) state.listed[kept + simt::popcount(keep_lanes & lower_lanes)] = freed;
      kept += simt::popcount(keep_lanes);
    }
    warp.sync();  // all have read
    if (warp.lane() == 0) {
      state.listed_count = kept;
      state.own[1].live = before.live - (listed - kept);
    }
    warp.sync();
  }
  // The list, and both arenas. Short, because all warps do so at once when a kernel ends, and have not done so before. What is listed of
  // the arena before is still among its `live`, and counted off there as by anybody.
  static SIMT_OUTLINE void hand_all_over(Warp warp, State at) {
    WarpState& state = *at;
    const Arenas& arenas = state.arenas;
    warp.sync();  // all lanes are done with the blocks, and lane 0 has written
    const std::uint32_t listed = state.listed_count;
    SIMT_ROLLED
    for (std::uint32_t i = warp.lane(); i < WarpState::most_listed + 2; i += Warp::width) {
      const std::byte* place = nullptr;
      std::uint32_t blocks = 1;
      if (i < listed) place = state.listed[i];
      if (i >= WarpState::most_listed) {
        place = state.own[i - WarpState::most_listed].base;
        blocks = open - state.own[i - WarpState::most_listed].live;
      }
      // release: hands the blocks over that this warp has freed.
      if (place != nullptr) arenas.count(arenas.index(place)).fetch_sub(blocks, simt::release);
    }
    warp.sync();  // all have read
    if (warp.lane() == 0) {
      state.listed_count = 0;
      state.own[0] = state.own[1] = {};
    }
    warp.sync();
  }
  // The list, and with `closing` the arena before, with 2 the present one, too.
  static SIMT_OUTLINE void hand_over(Warp warp, State at, std::uint32_t closing) {
    WarpState& state = *at;
    const Arenas& arenas = state.arenas;
    settle(warp, state);
    const std::uint32_t listed = state.listed_count;
    constexpr std::uint32_t most = WarpState::most_listed;
    SIMT_ROLLED
    for (std::uint32_t i = warp.lane(); i < most + 2; i += Warp::width) {
      std::uint32_t a = none, blocks = 0;
      if (i < listed) {
        a = arenas.index(state.listed[i]);
        blocks = 1;
      }
      if (i >= most && i - most < closing) {
        const WarpArena own = state.own[most + 1 - i];
        if (own.base != nullptr) a = own.index(arenas);
        blocks = open - own.live;
      }
      // release: hands the blocks over that this warp has freed.
      if (a != none) arenas.count(a).fetch_sub(blocks, simt::release);
    }
    warp.sync();  // all have read
    if (warp.lane() == 0) {
      state.listed_count = 0;
      if (closing > 0) state.own[1] = {};
      if (closing > 1) state.own[0] = {};
    }
    warp.sync();
  }

  const Arenas& arenas_;
  WarpState& state_;
};

}  // namespace heapwood::alloc::arena
