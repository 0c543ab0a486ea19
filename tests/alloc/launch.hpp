// SPDX-License-Identifier: MIT
// Launches functions on CPU threads and simulated warps, as kernels of tests.
#pragma once

#include <vector>

#include "alloc/allocators/heapwood.hpp"
#include "simt/cpu.hpp"
#include "tests/simt/lockstep.hpp"

namespace heapwood::alloc::test {

// What a device requires of a kernel.
struct KernelShape {
  struct Scratch {};
  static constexpr unsigned block_threads = 64, blocks_per_multiprocessor = 1;
};

// Calls f(warp) in each warp; 0 warps: as many as the device has. The test fails by simt::Stopped
// if they do not end. Simulated warps take a hundred times as long on a busy computer.
template <class Device, class F>
void launch(const Device& device, unsigned warps, const F& f, double seconds = 500) {
  struct Kernel : KernelShape {
    const F& f;
    explicit Kernel(const F& function) : f(function) {}
    void operator()(typename Device::Warp& warp, Scratch&) const { f(warp); }
  };
  device.launch(Kernel(f), warps, {.seconds = seconds, .what = "the test"});
}
// Calls f(warp) in one CPU thread.
template <class F>
void launch_alone(const F& f) {
  launch(simt::Cpu({.threads = 1}), 1, f);
}

// A pool and its allocator, laid out for a device.
template <class A>
struct OwnPool {
  template <class Device = simt::Cpu>
  explicit OwnPool(std::size_t bytes, const AllocatorOptions& options = {},
                   const Device& device = simt::Cpu({.threads = 1}))
      : memory({}, bytes), pool{memory.data(), bytes}, heap(A::create(pool, options, device)) {}

  std::vector<Region> regions() const { return regions_of(heap, {}); }

  simt::Memory memory;
  Pool pool;
  A heap;
};

// Calls f(warp, context) in each warp, with its context of the heap.
template <class Device, class F>
void launch_with_context(const Device& device, unsigned warps, const Heapwood& heap, const F& f) {
  struct Kernel : KernelShape {
    using Scratch = Heapwood::WarpState;
    const Heapwood& heap;
    const F& f;
    Kernel(const Heapwood& with, const F& function) : heap(with), f(function) {}
    void operator()(typename Device::Warp& warp, Scratch& scratch) const {
      Heapwood::Context<typename Device::Warp> own(heap, warp, scratch);
      f(warp, own);
      own.end(warp);
    }
  };
  device.launch(Kernel(heap, f), warps, {.seconds = 500, .what = "the test"});
}

// Adds to a word that other threads change too.
template <class T>
void count(T& word, T n = 1) {
  simt::atomic_ref<T>(word).fetch_add(n, simt::relaxed);
}

}  // namespace heapwood::alloc::test
