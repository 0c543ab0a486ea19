// SPDX-License-Identifier: MIT
// Model checker for the builder's work queue (kdtree/build/task_queue.hpp) with private stacks and
// deferred nodes: explores all interleavings of a few warps that split a complete binary tree. Each
// node has one block of memory; a split needs two more and then frees its node's. A warp may cache
// a freed block. Before it waits, a warp may push an item that makes another warp retry a deferred
// node, as BuildWorker does after the split of a shared node. A step is one atomic operation or one
// access to a payload; names are those of TaskQueue, DeferredNodes and BuildWorker.
//
// Checks in every state that no node is taken twice and that some warp can go on; that no node
// becomes a leaf for lack of memory if one warp alone would have had enough, or while warps that
// wait cache memory; in every final state that no node and no memory is lost; and that a final
// state can be reached from every state.
//
// Limits: a warp that is about to wait may miss a round of trimming, because another one takes two
// of its items, and then keeps what it caches. The model is sequentially consistent: memory orders
// are covered by ThreadSanitizer.
#pragma once

#include <cstdint>

namespace heapwood::queue_model {

inline constexpr int max_warps = 3, max_ring = 16, max_stack = 5, max_places = 2;
inline constexpr std::int8_t none = -1, root = 1;

enum class Bug {
  no,
  writes_into_used_entry,  // does not wait for the warp that reads the entry's last item
  ignores_lap,             // takes an item of an earlier lap
  frees_entry_early,       // before the payload has been read
  flag_before_payload,
  counts_unit_late,      // after the task can be taken
  ends_with_deferred,    // sends exit although nodes are deferred
  deferred_has_no_unit,  // a node that is taken again belongs to no unit
  reads_place_early,     // does not wait for the warp that stores the node
  retries_forever,       // a last try that is refused is deferred again
  sends_one_exit_less,
  keeps_room,            // room is not given back
  trims_after_end,       // although the last node has been taken and finished meanwhile
  undo_drops_units,      // whose end no warp then notices
  retries_without_unit,  // so that the build may end before the item is published
};

struct Setting {
  const char* what;
  int warps, ring, depth, blocks;
  bool caches;
  int places;        // for deferred nodes
  bool is_complete;  // the memory is sufficient: no node may become a leaf for lack of it
  int retries = 0;   // each warp makes another one retry so often before it waits
};

enum class Kind : std::int8_t { none, task, retry, trim, exit };

enum class At : std::int8_t {
  load_tickets,
  split,
  free_parent,
  // push_task()
  add_pending,
  take_ticket,
  wait_free,
  write_task,
  set_flag,
  // pop()
  pop,
  wait,
  read,
  clear,
  return_room,
  // finish()
  finish,
  load_end,
  exit_wait_free,
  exit_flag,
  ended,
  // defer()
  count_deferred,
  reset_trimmed,
  put_busy,
  put_full,
  // take_deferred()
  count_taken,
  take_busy,
  take_free,
  // trim()
  load_trimmed,
  set_trimmed,
  trim_units,
  reserve_room,
  trim_tickets,
  trim_wait_free,
  trim_flag,
  undo_room,
  undo_units,
  undo_trimmed,
  release_cache,
  // BuildWorker::release_emptied(), push_retry()
  look_deferred,
  hold_unit,
  retry_room,
  retry_undo,
  retry_ticket,
  retry_wait_free,
  retry_flag,
};

// These consist of bytes only, so that a state is its own key.
struct Entry {
  Kind kind = Kind::none;
  std::int8_t lap = 0, task = none;
};
struct Place {
  std::int8_t state = 0, node = none;  // free, busy, full
};
struct Warp {
  At at = At::pop;
  std::int8_t node = none, size = 0, stack[max_stack] = {none, none, none, none, none};
  std::int8_t units = 0, ticket = 0, k = 0, place = 0, cached = 0;
  std::int8_t sees_waiting = 0, refused = 0, last_try = none, all_idle = 0, kind = 0, trims = 0,
              released = 0, retries = 0;
};
struct State {
  std::int8_t pushed = 0, taken = 0, room = 0, units = 0, deferred = 0, trimmed = 0, free = 0;
  std::int8_t missed = 0;    // trimming has missed a warp: another one took two of its items
  std::int8_t done[4] = {};  // a bit per node
  Entry ring[max_ring];
  Place place[max_places];
  Warp warp[max_warps];
};

}  // namespace heapwood::queue_model
