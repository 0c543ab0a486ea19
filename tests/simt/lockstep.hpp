// SPDX-License-Identifier: MIT
// Launches kernels on simulated warps of Width CPU threads each; for tests.
#pragma once

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <source_location>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "simt/control.hpp"
#include "simt/cpu.hpp"
#include "simt/math.hpp"
#include "simt/warp.hpp"

namespace heapwood::simt {

// The Warp concept for tests: Width CPU threads that synchronize at a barrier in every collective.
// Slow, but warp-collective code is executed by concurrent threads with private variables, so
// ThreadSanitizer detects its races. Which diverged lanes together() returns depends on timing, as
// on a GPU, unless Meeting::of_all_lanes is chosen.

// How long the first lane that calls together() waits for the others: for a time that varies per
// call, from none to long enough for all lanes; or until all lanes of its warp have come, at most
// 10 s.
enum class Meeting { by_chance, of_all_lanes };

template <unsigned Width>
class LockstepWarp {
 public:
  static constexpr unsigned width = Width;

  // Source location of a call of together(): a set contains only lanes at the same location, since
  // the same collectives must follow for all of them.
  using Site = std::pair<const char*, std::uint_least32_t>;
  // A barrier for the lanes of a set.
  struct Gate {
    unsigned arrived = 0, round = 0;
  };
  // The data shared by the lanes of one warp.
  struct Group {
    std::barrier<> barrier{Width};
    std::array<std::uint64_t, Width> slot{};
    // For sets of lanes; all below is guarded by the mutex.
    std::mutex mutex;
    std::condition_variable changed;
    // together(): the lanes that have arrived, until the wait of the first of them ends ...
    std::map<Site, std::uint32_t> arriving;
    // ... and then, per lane, the resulting set; 0 while the lane waits.
    std::array<std::uint32_t, Width> formed{};
    std::uint32_t waits = 0;
    Meeting meeting = Meeting::by_chance;
    // Per set, since a lane may pass gates of other sets while the lanes of one set wait for it.
    std::map<std::uint32_t, Gate> gate;
  };

  LockstepWarp(Group& group, unsigned lane, unsigned worker, unsigned workers, Control* control)
      : group_(&group), control_(control), lane_(lane), worker_(worker), workers_(workers) {}

  unsigned lane() const { return lane_; }
  unsigned worker() const { return worker_; }
  unsigned workers() const { return workers_; }
  unsigned sm() const { return worker_; }

  void sync() const { group_->barrier.arrive_and_wait(); }

  std::uint32_t ballot(bool predicate) const {
    return exchange(predicate ? 1u : 0u, [](const auto& all) {
      std::uint32_t bits = 0;
      for (unsigned i = 0; i < Width; ++i) bits |= static_cast<std::uint32_t>(all[i]) << i;
      return bits;
    });
  }
  bool any(bool predicate) const { return ballot(predicate) != 0; }

  template <class T>
  T shfl(T value, unsigned source) const {
    static_assert(sizeof(T) <= 8);
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof(T));
    const std::uint64_t got =
        exchange(word, [source](const auto& all) { return all[source % Width]; });
    T result;
    std::memcpy(&result, &got, sizeof(T));
    return result;
  }
  std::uint32_t reduce_add(std::uint32_t value) const { return fold(value, Width, std::plus()); }
  std::uint32_t reduce_min(std::uint32_t value) const {
    return fold(value, Width, [](auto a, auto b) { return std::min(a, b); });
  }
  std::uint32_t reduce_max(std::uint32_t value) const {
    return fold(value, Width, [](auto a, auto b) { return std::max(a, b); });
  }
  std::uint32_t inclusive_add(std::uint32_t value) const {
    return fold(value, lane_ + 1, std::plus());
  }

  std::uint32_t together(std::source_location place = std::source_location::current()) const {
    std::unique_lock lock(group_->mutex);
    std::uint32_t& arriving = group_->arriving[Site(place.file_name(), place.line())];
    const bool first = arriving == 0;
    arriving |= 1u << lane_;
    group_->changed.notify_all();
    if (first) {
      std::chrono::microseconds max_wait((++group_->waits * 2654435769u) >> 26);
      if (group_->meeting == Meeting::of_all_lanes) max_wait = std::chrono::seconds(10);
      group_->changed.wait_for(lock, max_wait, [&] { return popcount(arriving) == Width; });
      for (unsigned i = 0; i < Width; ++i) {
        if ((arriving >> i & 1) != 0) group_->formed[i] = arriving;
      }
      arriving = 0;
      group_->changed.notify_all();
    } else {
      group_->changed.wait(lock, [&] { return group_->formed[lane_] != 0; });
    }
    return std::exchange(group_->formed[lane_], 0);
  }
  std::uint32_t together(const void* key,
                         std::source_location place = std::source_location::current()) const {
    const std::uint32_t lanes = together(place);
    const auto mine = reinterpret_cast<std::uintptr_t>(key);
    return exchange(lanes, mine, [=](const auto& all) {
      std::uint32_t same = 0;
      for (unsigned i = 0; i < Width; ++i)
        same |= (lanes >> i & 1) != 0 && all[i] == mine ? 1u << i : 0;
      return same;
    });
  }
  void sync(std::uint32_t lanes) const {
    std::unique_lock lock(group_->mutex);
    Gate& gate = group_->gate[lanes];
    const unsigned round = gate.round;
    if (++gate.arrived == popcount(lanes)) {
      gate.arrived = 0;
      ++gate.round;
      group_->changed.notify_all();
    } else {
      group_->changed.wait(lock, [&] { return gate.round != round; });
    }
  }
  std::uint32_t ballot(std::uint32_t lanes, bool predicate) const {
    return exchange(lanes, predicate ? 1u : 0u, [=](const auto& all) {
      std::uint32_t set = 0;
      for (unsigned i = 0; i < Width; ++i)
        set |= (lanes >> i & 1) != 0 && all[i] != 0 ? 1u << i : 0;
      return set;
    });
  }
  template <class T>
  T shfl(std::uint32_t lanes, T value, unsigned source) const {
    static_assert(std::is_integral_v<T>);
    return exchange(lanes, value,
                    [source](const auto& all) { return static_cast<T>(all[source]); });
  }
  std::uint64_t reduce_or(std::uint32_t lanes, std::uint64_t value) const {
    return exchange(lanes, value, [=](const auto& all) {
      std::uint64_t bits = 0;
      for (unsigned i = 0; i < Width; ++i) bits |= (lanes >> i & 1) != 0 ? all[i] : 0;
      return bits;
    });
  }

  void scratch_add(std::uint32_t& word, std::uint32_t value) const {
    atomic_ref<std::uint32_t>(word).fetch_add(value, relaxed);
  }

  bool aborted() const { return control_->aborted(); }
  void fail(std::uint32_t code, std::uint64_t a = 0, std::uint64_t b = 0,
            std::uint64_t c = 0) const {
    control_->fail(code, a, b, c);
  }
  void pause(unsigned turn) const {
    if (turn >= long_wait) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    } else if (turn >= 4) {
      std::this_thread::yield();
    }
  }

 private:
  // Combines the values of the first n lanes.
  template <class F>
  std::uint32_t fold(std::uint32_t value, unsigned n, F f) const {
    return exchange(value, [&](const auto& all) {
      return static_cast<std::uint32_t>(
          std::accumulate(all.begin() + 1, all.begin() + n, all.front(), f));
    });
  }
  // Every lane stores a word and reads all words; no lane returns before all have read.
  template <class Read>
  auto exchange(std::uint64_t word, Read read) const {
    group_->slot[lane_] = word;
    sync();
    const auto result = read(group_->slot);
    sync();
    return result;
  }

  template <class Read>
  auto exchange(std::uint32_t lanes, std::uint64_t word, Read read) const {
    group_->slot[lane_] = word;
    sync(lanes);
    const auto result = read(group_->slot);
    sync(lanes);
    return result;
  }

  Group* group_;
  Control* control_;
  unsigned lane_;
  unsigned worker_;
  unsigned workers_;
};

template <unsigned Width>
class Lockstep {
 public:
  using Warp = LockstepWarp<Width>;

  explicit Lockstep(unsigned warps = 2, Meeting meeting = Meeting::by_chance)
      : warps_(warps), meeting_(meeting) {}
  const DeviceId& id() const { return id_; }
  unsigned multiprocessors() const { return warps_; }

  template <class Kernel>
  unsigned resident_warps() const {
    return warps_;
  }

  template <class Kernel>
  double launch(const Kernel& kernel, unsigned warps = 0, const LaunchLimits& limits = {}) const {
    if (warps == 0) warps = warps_;
    Control control;
    std::vector<std::unique_ptr<typename Warp::Group>> groups;
    std::vector<std::unique_ptr<typename Kernel::Scratch>> scratch;
    for (unsigned i = 0; i < warps; ++i) {
      groups.push_back(std::make_unique<typename Warp::Group>());
      groups.back()->meeting = meeting_;
      scratch.push_back(std::make_unique<typename Kernel::Scratch>());
    }
    return run_threads(warps * Width, limits, control, [&](unsigned thread) {
      const unsigned worker = thread / Width;
      Warp warp(*groups[worker], thread % Width, worker, warps, &control);
      kernel(warp, *scratch[worker]);
    });
  }

  // All warps are resident: tests have few. One more than asked for, as in a GPU's last block.
  template <class Kernel>
  double launch_independent(const Kernel& kernel, unsigned warps,
                            const LaunchLimits& limits = {}) const {
    return launch(kernel, warps + 1, limits);
  }

  template <class F>
  void for_each(std::size_t n, F f) const {
    Cpu().for_each(n, f);
  }

 private:
  DeviceId id_{};
  unsigned warps_;
  Meeting meeting_;
};

}  // namespace heapwood::simt
