// SPDX-License-Identifier: MIT
// Grace periods for headers that lie in the pool. A merged chunk has the header of its second half
// in its middle; it is not handed out before all searches that were under way at the merge have
// left. The paper assumes that no thread is stopped for that long between reading a link and
// following it (RegEff section 5.2).
//
// Searches are read sections (alloc/bulk/rcu.hpp) in up to 16 groups; a grace period spans all
// groups. A merged chunk carries the number of the first grace period that begins after the merge.
// The chunk may be handed out once that period has ended. Threads that meet such a chunk begin and
// end periods by polling: no thread waits for another one. Each period begins by moving the offsets
// that lead to a dead header. A thread stores a position to an offset only before the chunk there
// can be merged, so a dead position is never stored after that.
//
// Limits: 2^29 grace periods between a merge and the next use of the chunk.
#pragma once

#include <cstdint>

#include "alloc/bulk/rcu.hpp"
#include "alloc/circular_list_published/headers.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc::published {

// The words of a group of readers, stored in the pool and initially zero.
struct alignas(32) GraceGroup {
  RcuState readers;
  std::uint64_t entered;  // readers up to this grace period's begin; `all_left` once they have left
};
struct GraceWords {
  std::uint32_t periods;  // begun and ended: odd during a grace period
  std::uint32_t driver;   // 1 while a thread polls
};

struct Section {
  std::uint32_t group = 0, parity = 0;
};

class Grace {
 public:
  static constexpr std::uint32_t max_groups = 16;

  Grace() = default;
  Grace(GraceWords* words, GraceGroup* groups, std::uint32_t count)
      : words_(words), groups_(groups), count_(count) {}

  template <class Thread>
  HEAPWOOD_INLINE Section enter(Thread& thread) const {
    const std::uint32_t group = thread.sm() % count_;
    return {group, Rcu(&groups_[group].readers).enter()};
  }
  HEAPWOOD_INLINE void leave(Section section) const {
    Rcu(&groups_[section.group].readers).leave(section.parity);
  }

  // The number, never 0, of the period after which a chunk merged just now may be handed out.
  HEAPWOOD_INLINE std::uint32_t reusable_after() const {
    // A read-modify-write, because a load would not order the merge before the next period.
    // release: later readers see the merged list. acquire: keeps the order of earlier merges.
    return first_after(periods().fetch_add(0, simt::acq_rel));
  }
  // Whether a chunk with this period may be handed out: the period has ended, or is 0 (no period).
  HEAPWOOD_INLINE bool has_passed(std::uint32_t period) const {
    // acquire: synchronizes with the end of the period, and so with the searches that have left.
    return period == 0 || ((periods().load(simt::acquire) / 2 - period) & flag::period_mask) <=
                              flag::period_mask / 2;
  }

  // Begins a grace period if none is in progress; otherwise ends it if its readers have left. For
  // threads outside a read section. move_offsets() moves offsets away from dead headers.
  template <class F>
  HEAPWOOD_INLINE void poll(F move_offsets) const {
    const Word32 driver(words_->driver);
    // acquire: makes `entered` visible as the last driver left it.
    if (driver.load(simt::relaxed) != 0 || driver.exchange(1, simt::acquire) != 0) return;
    if ((periods().load(simt::relaxed) & 1) == 0) {
      periods().fetch_add(1, simt::acq_rel);  // acq_rel: see reusable_after()
      move_offsets();
      HEAPWOOD_ROLLED
      for (std::uint32_t g = 0; g < count_; ++g)
        groups_[g].entered = Rcu(&groups_[g].readers).begin_period();
    } else {
      std::uint32_t waiting = 0;
      HEAPWOOD_ROLLED
      for (std::uint32_t g = 0; g < count_; ++g) {
        if (groups_[g].entered == all_left) continue;
        if (Rcu(&groups_[g].readers).is_over(groups_[g].entered)) {
          groups_[g].entered = all_left;
        } else {
          ++waiting;
        }
      }
      // release: synchronizes with has_passed().
      if (waiting == 0) periods().fetch_add(1, simt::acq_rel);
    }
    driver.store(0, simt::release);  // release: publishes `entered`
  }

 private:
  static constexpr std::uint64_t all_left = ~std::uint64_t{0};

  static HEAPWOOD_INLINE std::uint32_t first_after(std::uint32_t periods) {
    const std::uint32_t period = ((periods + 1) / 2 + 1) & flag::period_mask;
    return period == 0 ? 1 : period;  // one period later than necessary
  }
  HEAPWOOD_INLINE Word32 periods() const { return Word32(words_->periods); }

  GraceWords* words_ = nullptr;
  GraceGroup* groups_ = nullptr;
  std::uint32_t count_ = 1;
};

}  // namespace heapwood::alloc::published
