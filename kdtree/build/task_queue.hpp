// SPDX-License-Identifier: MIT
// The work queue of the builder: one ring of entries with tickets. A warp that needs work takes the
// next ticket and waits at its own entry, so waiting warps do not disturb each other. No warp waits
// while it holds work, so every wait ends: with work, or with `exit` once nothing is pending.
//
// The ring cannot overflow. A warp reserves space before it pushes items of shared nodes, and does
// the work itself if there is none: a full ring makes a build slower but never fails it. A task is
// pushed only after a load_tickets() that saw a waiting warp, and once per load, so unclaimed tasks
// never outnumber the warps; the ring has that many entries in addition to the space for items.
//
// Nodes that were refused memory are deferred, outside the ring, until some warp has finished a
// unit of work and so freed memory. A node becomes a leaf for lack of memory only if it is refused
// while no other warp has work, or while DeferredNodes::max_nodes nodes are deferred already.
//
// All tickets are counted by fetch_add. A compare-and-swap loop on their word would succeed about
// once per round trip to L2.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kdtree/build/node_task.hpp"
#include "simt/atomic_ref.hpp"
#include "simt/warp.hpp"

namespace heapwood::kdtree {

// Stores nodes that were refused memory. TaskQueue counts the entries in use and so assigns them.
class DeferredNodes {
 public:
  // A node, as a task or as the index of a shared node.
  struct alignas(64) Entry {
    std::uint32_t state = free;
    std::uint32_t index = 0;
    NodeTask task;
  };
  static constexpr std::uint32_t max_nodes = 16384;

  DeferredNodes() = default;
  explicit DeferredNodes(Entry* entries) : entries_(entries) {}

  // Stores a node in entry i, which the warp has obtained by raising the count of deferred nodes
  // from i. One lane calls put() and take().
  template <class Warp>
  HEAPWOOD_INLINE void put(Warp& warp, std::uint32_t i, const NodeTask& task,
                           std::uint32_t index) const {
    Entry& entry = entries_[i];
    if (!change(warp, entry, free)) return;  // the kernel is aborted
    entry.task = task;
    entry.index = index;
    // release: publishes the task, and its refs or its shared node.
    simt::atomic_ref<std::uint32_t>(entry.state).store(full, simt::release);
  }
  // Takes the node from entry i, which the warp has obtained by lowering the count to i. Returns
  // false if the kernel is aborted.
  template <class Warp>
  HEAPWOOD_INLINE bool take(Warp& warp, std::uint32_t i, NodeTask& task,
                            std::uint32_t& index) const {
    Entry& entry = entries_[i];
    if (!change(warp, entry, full)) return false;
    task = entry.task;
    index = entry.index;
    // release: orders the reads of the entry before the next put().
    simt::atomic_ref<std::uint32_t>(entry.state).store(free, simt::release);
    return true;
  }

 private:
  static constexpr std::uint32_t free = 0, busy = 1, full = 2;

  // Waits until the entry's state is `from`, and marks it busy. The wait ends: puts and takes of an
  // entry alternate, and each waits only for those that were counted before it. acquire: the writes
  // of the preceding put() are visible, or the reads of the preceding take() are done.
  template <class Warp>
  HEAPWOOD_INLINE static bool change(Warp& warp, Entry& entry, std::uint32_t from) {
    const simt::atomic_ref<std::uint32_t> state(entry.state);
    return simt::wait_until(warp, [&] {
      std::uint32_t expected = from;
      return state.compare_exchange_strong(expected, busy, simt::acquire, simt::relaxed);
    });
  }

  Entry* entries_ = nullptr;
};

// task: a node to split. choose, split_chunk: phases of a shared node. retry: retry a deferred
// node. trim: release cached memory. exit: the build has ended.
enum class WorkKind : std::uint32_t { none, task, choose, split_chunk, retry, trim, exit };

struct WorkItem {
  WorkKind kind = WorkKind::none;
  std::uint32_t index = 0;  // the shared node, for `choose` and `split_chunk`
  std::uint32_t chunk = 0;
};

class TaskQueue {
 public:
  struct alignas(64) RingEntry {
    std::uint64_t flag = 0;  // 0 = free, else kind:4 | lap:8 | index:20 | chunk:32
    NodeTask task;
  };
  struct alignas(128) Counters {
    // {items pushed:32, tickets taken:32} in one word, so that one load tells how many warps wait.
    std::uint64_t tickets = 0;
    alignas(128) std::int32_t room = 0;  // number of items of shared nodes that still fit
    // {deferred nodes:32, pending units:32}. A unit is a shared node or a published task whose
    // subtree is unfinished. A deferred node belongs to no unit.
    alignas(128) std::uint64_t pending = 0;
    // 1 if all warps have released their cached memory and no node has been deferred since then
    std::uint32_t trimmed = 0;
  };
  static constexpr std::uint32_t max_shared_nodes = 1u << 20;

  // What remains to be done after units have been finished.
  enum class Remaining : std::uint32_t { work, some_deferred, only_deferred, nothing };

  // Counters for `warps` warps and a ring of `size` entries. `pending` has the root's unit.
  static Counters initial(std::size_t size, std::size_t warps) {
    Counters counters;
    counters.room = static_cast<std::int32_t>(size - (2 * warps < size ? 2 * warps : size));
    counters.pending = 1;
    return counters;
  }

  TaskQueue() = default;
  TaskQueue(Counters* counters, RingEntry* ring, std::uint32_t size, const DeferredNodes& deferred)
      : counters_(counters), ring_(ring), deferred_(deferred), size_(size) {}

  // A snapshot of the tickets, from which waiting() computes the warps that wait for work minus the
  // items that wait for a warp. relaxed: a hint.
  template <class Warp>
  HEAPWOOD_INLINE std::uint64_t load_tickets(Warp&) const {
    return simt::atomic_ref<std::uint64_t>(counters_->tickets).load(simt::relaxed);
  }
  static HEAPWOOD_INLINE std::uint32_t waiting(std::uint64_t tickets) {
    const auto more = static_cast<std::int32_t>(static_cast<std::uint32_t>(tickets) -
                                                static_cast<std::uint32_t>(tickets >> 32));
    return more > 0 ? static_cast<std::uint32_t>(more) : 0;
  }
  template <class Warp>
  static HEAPWOOD_INLINE bool is_mostly_idle(Warp& warp, std::uint32_t waiting) {
    return waiting > warp.workers() / 2;
  }

  // Takes a ticket and waits for its item, which all lanes receive. If the item is a task, `task`
  // gets it. Returns `exit` also if the kernel is aborted.
  template <class Warp>
  HEAPWOOD_INLINE WorkItem pop(Warp& warp, NodeTask& task) const {
    std::uint32_t ticket = 0;
    if (warp.lane() == 0) {
      ticket = static_cast<std::uint32_t>(
          simt::global_ref(counters_->tickets).fetch_add(1, simt::relaxed));
    }
    ticket = warp.shfl(ticket, 0);
    RingEntry& own = entry(ticket);
    const std::uint64_t lap = lap_of(ticket);
    const simt::atomic_ref<std::uint64_t> word(own.flag);
    std::uint64_t flag = 0;
    const bool got = simt::wait_until_all(warp, [&] {
      flag = word.load(simt::relaxed);
      return flag != 0 && ((flag >> 52) & 255u) == lap;
    });
    // acquire: makes all that the pusher wrote (refs, shared node, task) visible. Polling is
    // relaxed: each acquire on a GPU invalidates the multiprocessor's L1, which working warps need.
    flag = got ? word.load(simt::acquire) : static_cast<std::uint64_t>(WorkKind::exit) << 60;
    const WorkItem item{static_cast<WorkKind>(flag >> 60),
                        static_cast<std::uint32_t>(flag >> 32) & (max_shared_nodes - 1),
                        static_cast<std::uint32_t>(flag)};
    if (item.kind == WorkKind::exit) return item;
    if (item.kind == WorkKind::task) task = own.task;
    warp.sync();  // all lanes have read the entry
    if (warp.lane() == 0) {
      const simt::global_ref word(own.flag);
      if (item.kind == WorkKind::task) {
        // release: orders the reads of the task before the push of the next lap overwrites it
        word.store(0, simt::release);
      } else {
        // relaxed: only the flag was read. If an earlier item in this entry was a task, the push of
        // this item has acquired the end of its reads.
        word.clear();
        simt::atomic_ref<std::int32_t>(counters_->room).fetch_add(1, simt::relaxed);
      }
    }
    return item;
  }

  // Publishes a task, after a load_tickets() that saw a waiting warp. One lane calls this.
  template <class Warp>
  HEAPWOOD_INLINE void push_task(Warp& warp, const NodeTask& task) const {
    const std::uint32_t ticket = take_tickets(1);
    if (!wait_free(warp, ticket)) return;  // the kernel is aborted
    entry(ticket).task = task;
    publish(ticket, WorkKind::task, 0, 0);
  }

  // Publishes `count` items of a shared node, chunks 0 ... count - 1. All lanes must call this.
  // Returns false if the ring has no space.
  template <class Warp>
  HEAPWOOD_INLINE bool push_shared(Warp& warp, WorkKind kind, std::uint32_t index,
                                   std::uint32_t count) const {
    return push_shared(warp, kind, index, count, warp.lane() == 0 ? reserve_room(count) : 0);
  }
  // First step of push_shared(), for callers with other work before the second: one lane reserves
  // space, and lane 0 passes the result, the space before the reservation, to push_shared().
  HEAPWOOD_INLINE std::int32_t reserve_room(std::uint32_t count) const {
    // relaxed: only a count; the entries' flags publish the items.
    return simt::atomic_ref<std::int32_t>(counters_->room)
        .fetch_sub(static_cast<std::int32_t>(count), simt::relaxed);
  }
  template <class Warp>
  HEAPWOOD_INLINE bool push_shared(Warp& warp, WorkKind kind, std::uint32_t index,
                                   std::uint32_t count, std::int32_t room_before) const {
    std::uint32_t first = 0;
    bool fits = false;
    if (warp.lane() == 0) {
      const std::int32_t wanted = static_cast<std::int32_t>(count);
      fits = room_before >= wanted;
      if (fits) {
        first = take_tickets(count);
      } else {
        simt::atomic_ref<std::int32_t>(counters_->room).fetch_add(wanted, simt::relaxed);
      }
    }
    if (!warp.any(fits)) return false;
    first = warp.shfl(first, 0);
    warp.sync();  // orders the other lanes' stores to the shared node before the flags
    publish_all(warp, first, count, kind, index);
    return true;
  }

  // Adds pending units, which must finish before the build ends. relaxed: the caller holds a unit
  // itself, so no other warp can end the build meanwhile.
  HEAPWOOD_INLINE void add_pending(std::uint32_t units) const {
    simt::global_ref(counters_->pending).fetch_add(units, simt::relaxed);
  }
  // Whether nodes are deferred. relaxed: a hint.
  template <class Warp>
  HEAPWOOD_INLINE bool has_deferred(Warp& warp) const {
    return warp.any(simt::atomic_ref<std::uint64_t>(counters_->pending).load(simt::relaxed) >> 32 !=
                    0);
  }
  // Finishes units. If no unit and no deferred node remains, sends `exit` to every other warp. All
  // lanes must call this. If it returns only_deferred, the caller must retry a deferred node.
  template <class Warp>
  HEAPWOOD_INLINE Remaining finish(Warp& warp, std::uint32_t units) const {
    warp.sync();
    Remaining left = Remaining::work;
    if (warp.lane() == 0) {
      // acq_rel: the warp that finishes the last unit has seen the ends of all others.
      const std::uint64_t seen =
          simt::global_ref(counters_->pending).fetch_sub(units, simt::acq_rel);
      const bool last = static_cast<std::uint32_t>(seen) == units;
      left = seen >> 32 == 0 ? (last ? Remaining::nothing : Remaining::work)
                             : (last ? Remaining::only_deferred : Remaining::some_deferred);
    }
    left = static_cast<Remaining>(warp.shfl(static_cast<std::uint32_t>(left), 0));
    if (left != Remaining::nothing) return left;
    // Every other warp holds, or will take, exactly one of the tickets after the last item.
    const std::uint32_t first = static_cast<std::uint32_t>(
        simt::atomic_ref<std::uint64_t>(counters_->tickets).load(simt::relaxed) >> 32);
    publish_all(warp, first, warp.workers() - 1, WorkKind::exit, 0);
    return left;
  }

  // The functions below marked HEAPWOOD_OUTLINE are called, not inlined: they run rarely, and
  // kernels are short of instruction cache.

  // Called by the warp that finishes the last unit while nodes are deferred. Gives every warp,
  // including this one, a unit in which it releases its cached memory; if the queue has no space,
  // only this one. All lanes must call this. Returns false if all warps have already released their
  // memory, or if another warp has meanwhile taken the last deferred node and ended the build.
  template <class Warp>
  static HEAPWOOD_OUTLINE bool trim(TaskQueue queue, Warp warp) {
    bool trims = false;
    if (warp.lane() == 0) {
      const simt::atomic_ref<std::uint32_t> trimmed(queue.counters_->trimmed);
      trims = trimmed.load(simt::relaxed) == 0;  // relaxed, here and below: the units order it
      trimmed.store(trims ? 1 : 0, simt::relaxed);
      trims = trims && queue.add_pending_unless_ended(warp.workers());
    }
    if (!warp.any(trims)) return false;
    if (queue.push_shared(warp, WorkKind::trim, 0, warp.workers() - 1)) return true;
    // The caller keeps its own unit: the others may have been the last, and one must be finished.
    if (warp.lane() == 0) {
      simt::global_ref(queue.counters_->pending).fetch_sub(warp.workers() - 1, simt::relaxed);
    }
    return true;
  }
  // Makes some warp retry a deferred node, if the ring has space. Returns the number of units that
  // the caller must finish: one, without which another warp could end the build before the item is
  // published, or none if the build has ended. All lanes must call this.
  template <class Warp>
  static HEAPWOOD_OUTLINE std::uint32_t push_retry(TaskQueue queue, Warp warp) {
    if (!warp.any(warp.lane() == 0 && queue.add_pending_unless_ended(1))) return 0;
    queue.push_shared(warp, WorkKind::retry, 0, 1);
    return 1;
  }
  // Defers a node that was refused memory. The caller keeps the node's unit. Returns false if too
  // many nodes are deferred. One lane calls this.
  template <class Warp>
  HEAPWOOD_INLINE bool defer(Warp& warp, const NodeTask& task, std::uint32_t index) const {
    const simt::atomic_ref<std::uint64_t> pending(counters_->pending);
    std::uint64_t seen = pending.load(simt::relaxed);
    do {
      if (seen >> 32 == DeferredNodes::max_nodes) return false;
    } while (
        !pending.compare_exchange_weak(seen, seen + one_deferred, simt::relaxed, simt::relaxed));
    // the warps must release their cached memory again before the last retry
    simt::atomic_ref<std::uint32_t>(counters_->trimmed).store(0, simt::relaxed);
    deferred_.put(warp, static_cast<std::uint32_t>(seen >> 32), task, index);
    return true;
  }
  // Takes the node deferred last, with a unit for it; false if there is none. One lane calls.
  template <class Warp>
  HEAPWOOD_INLINE bool take_deferred(Warp& warp, NodeTask& task, std::uint32_t& index) const {
    const simt::atomic_ref<std::uint64_t> pending(counters_->pending);
    std::uint64_t seen = pending.load(simt::relaxed);
    do {
      if (seen >> 32 == 0) return false;
    } while (!pending.compare_exchange_weak(seen, seen - one_deferred + 1, simt::relaxed,
                                            simt::relaxed));
    return deferred_.take(warp, static_cast<std::uint32_t>(seen >> 32) - 1, task, index);
  }

 private:
  static constexpr std::uint64_t one_deferred = std::uint64_t{1} << 32;

  // Adds pending units for a warp without any; false if the build has ended. One lane calls.
  HEAPWOOD_INLINE bool add_pending_unless_ended(std::uint32_t units) const {
    const simt::atomic_ref<std::uint64_t> pending(counters_->pending);
    std::uint64_t seen = pending.load(simt::relaxed);
    do {
      if (seen == 0) return false;  // neither a unit nor a deferred node
    } while (!pending.compare_exchange_weak(seen, seen + units, simt::relaxed, simt::relaxed));
    return true;
  }

  HEAPWOOD_INLINE RingEntry& entry(std::uint32_t ticket) const {
    return ring_[ticket & (size_ - 1)];
  }
  HEAPWOOD_INLINE std::uint64_t lap_of(std::uint32_t ticket) const {
    return (ticket >> simt::popcount(size_ - 1)) & 255u;
  }

  HEAPWOOD_INLINE std::uint32_t take_tickets(std::uint32_t count) const {
    // relaxed: the entries' flags publish the items, so the tickets need not.
    return static_cast<std::uint32_t>(
        simt::global_ref(counters_->tickets).fetch_add(std::uint64_t{count} << 32, simt::relaxed) >>
        32);
  }
  // Waits for the warp that took the previous item of this entry and may still be reading it.
  // acquire: its reads are done.
  template <class Warp>
  HEAPWOOD_INLINE bool wait_free(Warp& warp, std::uint32_t ticket) const {
    return simt::wait_until(warp, [&] {
      return simt::atomic_ref<std::uint64_t>(entry(ticket).flag).load(simt::acquire) == 0;
    });
  }
  HEAPWOOD_INLINE std::uint64_t flag_of(std::uint32_t ticket, WorkKind kind, std::uint32_t index,
                                        std::uint32_t chunk) const {
    return static_cast<std::uint64_t>(kind) << 60 | lap_of(ticket) << 52 |
           static_cast<std::uint64_t>(index) << 32 | chunk;
  }
  // release: publishes the task, or the shared node and its refs.
  HEAPWOOD_INLINE void publish(std::uint32_t ticket, WorkKind kind, std::uint32_t index,
                               std::uint32_t chunk) const {
    simt::atomic_ref<std::uint64_t>(entry(ticket).flag)
        .store(flag_of(ticket, kind, index, chunk), simt::release);
  }
  // Publishes items 0 ... count - 1 with the tickets from `first` on. On a GPU a lane checks
  // sixteen entries together, and one fence replaces the acquires of all checks and the releases of
  // all flags.
  template <class Warp>
  HEAPWOOD_INLINE void publish_all(Warp& warp, std::uint32_t first, std::uint32_t count,
                                   WorkKind kind, std::uint32_t index) const {
    if constexpr (!simt::has_device_fence) {
      for (std::uint32_t k = warp.lane(); k < count; k += Warp::width) {
        if (wait_free(warp, first + k)) publish(first + k, kind, index, k);
      }
      return;
    }
    constexpr std::uint32_t each = 16;
    std::uint64_t taken = 0;
    HEAPWOOD_ROLLED
    for (std::uint32_t i = warp.lane(); i < count; i += each * Warp::width) {
      HEAPWOOD_UNROLLED
      for (std::uint32_t j = 0; j < each; ++j) {
        const std::uint32_t k = i + j * Warp::width;
        if (k < count)
          taken |= simt::atomic_ref<std::uint64_t>(entry(first + k).flag).load(simt::relaxed);
      }
    }
    HEAPWOOD_ROLLED
    for (std::uint32_t k = warp.lane(); taken != 0 && k < count; k += Warp::width) {
      if (!wait_free(warp, first + k)) return;  // the kernel is aborted
    }
    simt::fence_acq_rel();
    HEAPWOOD_UNROLLED_4
    for (std::uint32_t k = warp.lane(); k < count; k += Warp::width) {
      simt::atomic_ref<std::uint64_t>(entry(first + k).flag)
          .store(flag_of(first + k, kind, index, k), simt::relaxed);
    }
  }

  Counters* counters_ = nullptr;
  RingEntry* ring_ = nullptr;
  DeferredNodes deferred_;
  std::uint32_t size_ = 0;  // a power of two, at least four times the warps
};

}  // namespace heapwood::kdtree
