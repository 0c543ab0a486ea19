// SPDX-License-Identifier: MIT
#include "simt/cpu.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace heapwood::simt {

unsigned hardware_threads() { return std::max(1u, std::thread::hardware_concurrency()); }

double run_threads(unsigned threads, const LaunchLimits& limits, Control& control,
                   const std::function<void(unsigned)>& body) {
  check_interruption(limits);
  std::mutex mutex;
  std::condition_variable finished;
  unsigned running = threads;
  bool stopped = false;
  bool was_interrupted = false;
  // The first exception of a thread, or of starting a thread; protected by the mutex.
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

}  // namespace heapwood::simt
