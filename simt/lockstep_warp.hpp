// SPDX-License-Identifier: MIT
// The Warp concept for tests: Width CPU threads that meet at a barrier in every collective. Slow, but warp-collective code
// is really run by racing threads, with a lane's private variables private, so that ThreadSanitizer sees what a GPU would do.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstring>
#include <thread>

#include "simt/control.hpp"

namespace heapwood::simt {

template <unsigned Width>
class LockstepWarp {
 public:
  static constexpr unsigned width = Width;

  // What the lanes of one warp share.
  struct Group {
    std::barrier<> barrier{Width};
    std::array<std::uint64_t, Width> slot{};
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
    const std::uint64_t got = exchange(word, [source](const auto& all) { return all[source % Width]; });
    T result;
    std::memcpy(&result, &got, sizeof(T));
    return result;
  }
  std::uint32_t reduce_add(std::uint32_t value) const {
    return exchange(value, [](const auto& all) {
      std::uint32_t sum = 0;
      for (const auto v : all) sum += static_cast<std::uint32_t>(v);
      return sum;
    });
  }
  std::uint32_t reduce_min(std::uint32_t value) const {
    return exchange(
        value, [](const auto& all) { return static_cast<std::uint32_t>(*std::min_element(all.begin(), all.end())); });
  }
  std::uint32_t reduce_max(std::uint32_t value) const {
    return exchange(
        value, [](const auto& all) { return static_cast<std::uint32_t>(*std::max_element(all.begin(), all.end())); });
  }
  std::uint32_t inclusive_add(std::uint32_t value) const {
    return exchange(value, [this](const auto& all) {
      std::uint32_t sum = 0;
      for (unsigned i = 0; i <= lane_; ++i) sum += static_cast<std::uint32_t>(all[i]);
      return sum;
    });
  }

  void scratch_add(std::uint32_t& word, std::uint32_t value) const {
    atomic_ref<std::uint32_t>(word).fetch_add(value, relaxed);
  }

  bool aborted() const { return control_->aborted(); }
  void fail(std::uint32_t code, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0) const {
    control_->fail(code, a, b, c);
  }
  void pause(unsigned turn) const {
    if (turn >= 4) std::this_thread::yield();
  }

 private:
  // Every lane deposits a word, sees all of them, and leaves only when all have looked.
  template <class Read>
  auto exchange(std::uint64_t word, Read read) const {
    group_->slot[lane_] = word;
    sync();
    const auto result = read(group_->slot);
    sync();
    return result;
  }

  Group* group_;
  Control* control_;
  unsigned lane_;
  unsigned worker_;
  unsigned workers_;
};

}  // namespace heapwood::simt
