// SPDX-License-Identifier: MIT
// Launches kernels on CPU threads: one std::jthread per warp, of width 1.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "simt/control.hpp"
#include "simt/device.hpp"
#include "simt/host_clock.hpp"
#include "simt/launch.hpp"
#include "simt/stream.hpp"
#include "simt/warp.hpp"

namespace heapwood::simt {

// Runs body(index) on `threads` threads and raises control.abort at the time limit, on Ctrl-C, and
// if a thread throws or cannot be started. Rethrows that exception when all threads have ended.
// Returns milliseconds.
template <class Body>
double run_threads(unsigned threads, const LaunchLimits& limits, Control& control, Body body) {
  check_interruption(limits);
  std::mutex mutex;
  std::condition_variable finished;
  unsigned running = threads;
  bool stopped = false;
  bool was_interrupted = false;
  // The first exception of a thread, or of starting one; guarded by the mutex.
  std::exception_ptr failure;
  const auto start = HostClock::now();
  const auto abort = [&] { system_atomic_ref<std::uint32_t>(control.abort).store(1, relaxed); };
  // Records the current exception for `ended` threads, which have ended or were never started, and
  // raises the abort flag, since other threads may wait for them.
  const auto fail = [&](unsigned ended) {
    abort();
    const std::lock_guard lock(mutex);
    if (!failure) failure = std::current_exception();
    running -= ended;
    if (running == 0) finished.notify_one();
  };
  {
    std::vector<std::jthread> pool;
    pool.reserve(threads);
    try {
      for (unsigned i = 0; i < threads; ++i) {
        pool.emplace_back([&, i] {
          try {
            body(i);
          } catch (...) {
            return fail(1);
          }
          const std::lock_guard lock(mutex);
          if (--running == 0) finished.notify_one();
        });
      }
    } catch (...) {
      fail(threads - static_cast<unsigned>(pool.size()));
    }
    std::unique_lock lock(mutex);
    while (!finished.wait_for(lock, std::chrono::milliseconds(20), [&] { return running == 0; })) {
      const bool late = seconds_since(start) > limits.seconds;
      if (!stopped && (late || interrupted())) {
        stopped = true;
        was_interrupted = !late;
        abort();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
  const double ms = 1e3 * seconds_since(start);
  check_outcome(control.code, control.operand, stopped, was_interrupted, limits);
  return ms;
}

class Cpu {
 public:
  using Warp = SerialWarp;

  explicit Cpu(const DeviceId& id = {}) : id_(id) {}
  const DeviceId& id() const { return id_; }
  unsigned threads() const {
    return id_.threads > 0 ? static_cast<unsigned>(id_.threads)
                           : std::max(1u, std::thread::hardware_concurrency());
  }
  unsigned multiprocessors() const { return threads(); }

  template <class Kernel>
  unsigned resident_warps() const {
    return threads();
  }

  template <class Kernel>
  double launch(const Kernel& kernel, unsigned warps = 0, const LaunchLimits& limits = {}) const {
    if (warps == 0) warps = threads();
    Control control;
    return run_threads(warps, limits, control, [&](unsigned worker) {
      const auto scratch = std::make_unique<typename Kernel::Scratch>();
      SerialWarp warp(worker, warps, &control);
      kernel(warp, *scratch);
    });
  }

  // Each thread runs several warps, one after another.
  template <class Kernel>
  double launch_independent(const Kernel& kernel, unsigned warps,
                            const LaunchLimits& limits = {}) const {
    const unsigned workers = std::max(1u, std::min(warps, threads()));
    Control control;
    return run_threads(workers, limits, control, [&](unsigned worker) {
      const auto scratch = std::make_unique<typename Kernel::Scratch>();
      for (unsigned i = worker; i < warps && !control.aborted(); i += workers) {
        SerialWarp warp(i, warps, &control);
        kernel(warp, *scratch);
      }
    });
  }

  HostStream<Cpu> stream(const LaunchLimits& limits) const { return {*this, limits}; }

  // Fewer than `min_items` items are not worth starting threads for.
  template <class F>
  void for_each(std::size_t n, F f, std::size_t min_items = 4096) const {
    const unsigned warps = n < min_items ? 1 : threads();
    Control control;
    run_threads(warps, {.seconds = 1e9}, control, [&](unsigned worker) {
      const std::size_t share = (n + warps - 1) / warps;
      const std::size_t end = std::min(n, share * (worker + 1));
      for (std::size_t i = share * worker; i < end; ++i) f(i);
    });
  }

 private:
  DeviceId id_;
};

}  // namespace heapwood::simt
