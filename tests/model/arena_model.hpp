// SPDX-License-Identifier: MIT
// The state that the model checker of the arenas (arena_model.cpp) explores: the words of a pool,
// and of each thread the step it is at and its registers.
#pragma once

#include <cstdint>

namespace heapwood::arena_model {

inline constexpr int arenas = 2, granules = 2, max_threads = 3, max_rounds = 2;
inline constexpr int open = 100, body = 50, collected = 60, run = 70;  // values of an arena's count
inline constexpr int whole = 0, split = 1, locked = 2,
                     span = 40;  // values of the superblock's word
inline constexpr std::int8_t none = -1, fruitless = -2, max_refusals = 2;

enum class Bug {
  no,
  no_look_at_superblock,
  counts_before_superblock,
  close_without_blocks,
  unsplit_without_lock,
  collect_without_look
};

struct Slot {
  std::int8_t arena = none, blocks = 0, used = granules;  // vacant
  bool operator==(const Slot&) const = default;
  bool exhausted() const { return used > granules; }
  bool refuses() const { return arena == fruitless && blocks + 1 < max_refusals; }
  bool needs_renewal() const { return exhausted() && !refuses(); }
};

// A thread's program is a list of calls, each of several steps.
enum class Call : std::int8_t {
  allocate,
  free,
  whole_block,
  free_whole,
  own_arena,
  free_own,
  collect,
  free_run,
  end
};

enum class At : std::int8_t {
  begin,
  // allocating a block from the slot
  sight,
  close_old,
  look,
  install,
  give_up,
  keep,
  // claim(), of an arena
  take,
  enter,
  enter_split,
  undo,
  // retire_idle_slots()
  idle_slot,
  idle_count,
  vacate,
  close_idle,
  // the superblock as one block
  super_look,
  super_take,
  lock,
  seize,
  unseize,
  unlock,
  give,
  super_again,
  // RunCollector, of both arenas as one block
  prepare,
  prepare_split,
  gather,
  look_again,
  make_run,
  scatter,
};

struct Thread {
  std::int8_t call = 0;
  At at = At::begin;
  Slot before;           // a register
  std::int8_t a = none;  // the arena that is examined or claimed
  std::int8_t i = 0, taken = 0, turn = 0, round = 0;
  std::int8_t mine_arena = none, mine_granule = none;  // the thread's live block
  bool mine_whole = false, crosses = false, vacant = false;
};

struct State {
  std::int16_t count[arenas] = {};
  std::int16_t super = whole;  // 16 bits: without padding
  Slot slot;
  bool live[arenas][granules] = {};
  bool live_whole = false, collects = false;
  Thread thread[max_threads];
};

}  // namespace heapwood::arena_model
