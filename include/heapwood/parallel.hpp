// SPDX-License-Identifier: MIT
// One source for GPU and CPU threads, for programs without kernels of their own:
//
//   struct Work {
//     heapwood::heap_handle heap;
//     HEAPWOOD_DEVICE void operator()(unsigned thread) const { ... heap.malloc(n) ... }
//   };
//   heapwood::for_each_thread(1000, Work{heap.handle()});   // calls it for thread = 0 ... 999
//
// shared_array<T> is memory that host and threads both access.
#pragma once

#include "simt/config.hpp"  // first

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "heapwood/handle_operations.hpp"
#include "simt/stream_device.hpp"
#include "simt/this_thread.hpp"

namespace heapwood {

namespace detail {

// Calls f(i) on the host for i = first, first + step, ... < end, also if the last sum overflows.
template <class F>
void for_each_step(unsigned first, unsigned step, unsigned end, const F& f) {
  for (std::uint64_t i = first; i < end; i += step) f(static_cast<unsigned>(i));
}

}  // namespace detail

inline namespace HEAPWOOD_TARGET {

#if defined(__CUDACC__)

// Calls f(thread) once for each of `threads` threads and waits for them. With a host compiler
// fewer CPU threads run, each of which calls f for several indices one after the other: a call
// must not wait for another one.
template <class F>
void for_each_thread(unsigned threads, const F& f) {
  const simt::StreamDevice device(simt::StreamDevice::current());
  device.for_each_thread(threads, f);
  device.synchronize();
}

#else

template <class F>
void for_each_thread(unsigned threads, const F& f) {
  const unsigned workers = std::min(threads, std::max(2u, std::thread::hardware_concurrency()));
  std::vector<std::thread> pool;
  for (unsigned worker = 0; worker < workers; ++worker) {
    pool.emplace_back([=, &f] {
      const device_scope device;
      detail::for_each_step(worker, workers, threads, [&f](unsigned i) {
        simt::ThisThread::loop_index() = i;
        f(i);
      });
    });
  }
  for (std::thread& worker : pool) worker.join();
}

#endif

// An array of trivially destructible T, set to 0, in memory that the host and all threads access.
// Throws Error if there is no memory.
template <class T>
class shared_array {
  static_assert(alignof(T) <= simt::shared_alignment, "shared_array: T needs a larger alignment");

 public:
  explicit shared_array(std::size_t size)
      : size_(size),
        data_(static_cast<T*>(simt::allocate_shared(detail::multiply_sizes(size, sizeof(T))))) {}
  shared_array(shared_array&&) = delete;
  ~shared_array() { simt::free_shared(data_); }
  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  std::size_t size_;
  T* data_;
};

}  // namespace HEAPWOOD_TARGET
}  // namespace heapwood
