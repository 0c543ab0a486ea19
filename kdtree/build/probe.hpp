// SPDX-License-Identifier: MIT
// Probes record what each warp of the builder is doing. A kernel without one (NoProbe, the default)
// contains no code for it. TimeProbe sums the time in each phase, by level of the tree and by time
// since the start.
//
// A warp is in one phase at any time; lane 0 reads the clock when the phase changes. Phases nest
// like scopes, so their times add up to the lifetimes of the warps.
//
// The sums are in device memory, in several copies to avoid contention.
#pragma once

#include <cstdint>

#include "kdtree/build/build.hpp"
#include "simt/atomic_ref.hpp"
#include "simt/clock.hpp"

namespace heapwood::kdtree {

enum class Phase : std::uint8_t {
  bounds,    // piece of the root: copying corners and finding the scene's bounds
  init,      // piece of the root: filling its array and counting its refs in bins
  choose,    // choosing the split of a shared node
  move,      // chunk of a shared node: moving refs to the children and binning them
  binned,    // node that one warp splits by bins and refinement
  exact,     // node that one warp splits by all candidates
  leaf,      // writing ids to the output
  allocate,  // in the allocator
  free,
  give,   // publishing work for other warps
  wait,   // waiting in the queue for work
  other,  // between nodes
};
inline constexpr unsigned phase_count = static_cast<unsigned>(Phase::other) + 1;
// depths 0 to 60; the last one is for phases outside any node
inline constexpr unsigned profile_levels = 62;
inline constexpr unsigned profile_buckets = 256;
inline constexpr unsigned wait_buckets = 40;  // bucket i counts waits in [2^(i - 1), 2^i) ns

struct NoProbe {
  struct State {};
  struct Nothing {};
  template <class Warp>
  struct Of {
    HEAPWOOD_INLINE Of(const NoProbe&, Warp&, State&) {}
    HEAPWOOD_INLINE Nothing in(Phase) const { return {}; }
    HEAPWOOD_INLINE Nothing in(Phase, unsigned) const { return {}; }
    HEAPWOOD_INLINE void end() const {}
  };
};

struct TimeSums {
  std::uint64_t ns[profile_levels * phase_count];
  std::uint64_t visits[profile_levels * phase_count];
  std::uint64_t by_time[profile_buckets][phase_count];  // ns, by time since the first warp started
  std::uint64_t waits[wait_buckets];                    // number of waits, by length
};

struct WarpTimes {
  std::uint64_t begin, end;  // ns since the first warp started
};

struct TimeProbe {
  TimeSums* sums;        // `copies` of them
  std::uint32_t copies;  // a power of two
  std::uint32_t shift;   // a time bucket has 2^shift ns; later times count in the last bucket
  std::uint64_t* origin;
  WarpTimes* warps;

  // Lane 0's state. It is in the warp's fast memory because the builder has no registers to spare.
  struct State {
    TimeSums* sums;
    std::uint64_t origin, begin, since;
    std::uint32_t cell;  // of the current level and phase
    std::uint32_t shift;
  };

  template <class Warp>
  class Of {
   public:
    HEAPWOOD_INLINE Of(const TimeProbe& probe, Warp& warp, State& state)
        : state_(state), lane_(warp.lane()), times_(probe.warps + warp.worker()) {
      if (lane_ == 0) begin(probe, state, warp.worker());
    }

    // Enters a phase and leaves it at the end of the scope.
    class Scope {
     public:
      HEAPWOOD_INLINE Scope(State& state, bool mine, Phase phase, unsigned level)
          : state_(state), mine_(mine) {
        if (!mine) return;
        outer_ = state.cell;
        const unsigned kept = level == same_level ? outer_ / phase_count : level;
        const std::uint32_t cell = kept * phase_count + static_cast<unsigned>(phase);
        change(state, cell);
        add(state.sums->visits[cell], 1);
      }
      HEAPWOOD_INLINE ~Scope() {
        if (mine_) change(state_, outer_);
      }
      Scope(Scope&&) = delete;

     private:
      State& state_;
      bool mine_;
      std::uint32_t outer_ = 0;
    };
    HEAPWOOD_INLINE Scope in(Phase phase) const {
      return Scope(state_, lane_ == 0, phase, same_level);
    }
    HEAPWOOD_INLINE Scope in(Phase phase, unsigned depth) const {
      return Scope(state_, lane_ == 0, phase, depth < no_level ? depth : no_level);
    }

    HEAPWOOD_INLINE void end() const {
      if (lane_ != 0) return;
      change(state_, state_.cell);
      *times_ = {state_.begin - state_.origin, state_.since - state_.origin};
    }

   private:
    State& state_;
    unsigned lane_;
    WarpTimes* times_;
  };

 private:
  static constexpr unsigned no_level = profile_levels - 1, same_level = ~0u;

  static HEAPWOOD_OUTLINE void begin(const TimeProbe& probe, State& state, unsigned worker) {
    const std::uint64_t now = simt::device_nanoseconds();
    std::uint64_t first = 0;
    // relaxed: only the start time is shared. The first exchange wins: all warps get one time.
    if (simt::atomic_ref<std::uint64_t>(*probe.origin)
            .compare_exchange_strong(first, now, simt::relaxed, simt::relaxed)) {
      first = now;
    }
    // clamped: another warp may have read the clock later but stored its time first
    const std::uint64_t since = now < first ? first : now;
    state = {&probe.sums[worker & (probe.copies - 1)],
             first,
             since,
             since,
             no_level * phase_count + static_cast<unsigned>(Phase::other),
             probe.shift};
  }

  // Adds the time since the last change of phase to the cell of the old phase.
  static HEAPWOOD_OUTLINE void change(State& state, std::uint32_t cell) {
    const std::uint64_t now = simt::device_nanoseconds();
    const std::uint64_t length = now - state.since;
    if (now > state.since) {
      const unsigned phase = state.cell % phase_count;
      add(state.sums->ns[state.cell], length);
      add_over_time(state, phase, now - state.origin);
      state.since = now;
      if (phase == static_cast<unsigned>(Phase::wait)) count_wait(state, length);
    }
    state.cell = cell;
  }

  static HEAPWOOD_INLINE void add_over_time(State& state, unsigned phase, std::uint64_t to) {
    constexpr std::uint64_t last = profile_buckets - 1;
    std::uint64_t from = state.since - state.origin;
    HEAPWOOD_ROLLED
    while (from < to) {
      const std::uint64_t bucket = from >> state.shift < last ? from >> state.shift : last;
      const std::uint64_t edge = bucket == last ? to : (bucket + 1) << state.shift;
      const std::uint64_t until = edge < to ? edge : to;
      add(state.sums->by_time[bucket][phase], until - from);
      from = until;
    }
  }

  static HEAPWOOD_INLINE void count_wait(State& state, std::uint64_t ns) {
    unsigned k = 0;
    HEAPWOOD_ROLLED
    while (k < wait_buckets - 1 && ns >> k != 0) ++k;
    add(state.sums->waits[k], 1);
  }

  // relaxed: the counters order no other memory; the host reads them after the launch.
  static HEAPWOOD_INLINE void add(std::uint64_t& word, std::uint64_t value) {
    simt::global_ref(word).fetch_add(value, simt::relaxed);
  }
};

}  // namespace heapwood::kdtree
