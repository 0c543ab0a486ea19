// SPDX-License-Identifier: MIT
// The kernels of stress_primitives.hpp, for any device.
#pragma once

#include <vector>

#include "alloc/bulk/baselines.hpp"
#include "alloc/bulk/bulk_semaphore.hpp"
#include "alloc/bulk/rcu.hpp"
#include "simt/launch.hpp"
#include "simt/memory.hpp"
#include "workloads/stress_primitives.hpp"

namespace heapwood::workloads::primitive_detail {

struct KernelShape {
  struct Scratch {};
  static constexpr unsigned block_threads = 256, blocks_per_multiprocessor = 1;
};

// Words that many threads change, each in a cache sector of its own.
struct Shared {
  alignas(64) std::uint64_t semaphore;
  alignas(64) std::uint32_t batches;
  alignas(64) std::uint64_t done;
  alignas(64) alloc::RcuState readers;
  alignas(64) std::uint32_t writing;  // mutex for changes of the list
  // Mutex of the threads that wait for readers, or the word of the delegation.
  alignas(64) std::uint32_t waiting;
};

template <PrimitiveTest test>
struct SemaphoreKernel : KernelShape {
  Shared* shared;
  std::uint32_t threads, batch;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    if (warp.worker() * Warp::width + warp.lane() >= threads) return;
    const auto grow = [&] {
      simt::atomic_ref<std::uint32_t>(shared->batches).fetch_add(1, simt::relaxed);
    };
    // The results of wait() that do not matter: an aborted launch reports that itself.
    if constexpr (test == PrimitiveTest::published_semaphore) {
      const alloc::PublishedBulkSemaphore semaphore(&shared->semaphore);
      semaphore.wait(warp, 1, batch, [&] {
        grow();
        semaphore.signal(batch - 1, batch - 1);
      });
    } else if constexpr (test == PrimitiveTest::bulk_semaphore) {
      const alloc::BulkSemaphore semaphore(&shared->semaphore);
      if (semaphore.wait(warp, 1, batch) != alloc::BulkSemaphore::Wait::grow) return;
      grow();
      semaphore.signal(batch - 1, batch - 1);
    } else {
      const alloc::CountingSemaphore semaphore(
          reinterpret_cast<std::uint32_t*>(&shared->semaphore));
      if (semaphore.wait(warp, 1) != 0) return;
      grow();
      semaphore.grown(batch - 1);
    }
  }

  // The units that are left at the end.
  static std::uint64_t available(std::uint64_t semaphore) {
    if constexpr (test == PrimitiveTest::published_semaphore)
      return static_cast<std::uint64_t>(alloc::PublishedBulkSemaphore::available(semaphore));
    if constexpr (test == PrimitiveTest::bulk_semaphore)
      return static_cast<std::uint64_t>(alloc::BulkSemaphore::available(semaphore));
    return semaphore & 0xffffffffu;
  }
};

struct Element {
  std::uint32_t next, previous, tag, link;  // numbers are index + 1; 0: none
};

struct RcuKernel : KernelShape {
  Shared* shared;
  Element* elements;  // elements[0] is the head, elements[i] the i-th of the list
  std::uint32_t threads, readers;
  bool delegated;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint32_t thread = warp.worker() * Warp::width + warp.lane();
    if (thread >= threads) return;
    const alloc::Rcu rcu(&shared->readers);
    const std::uint32_t section = rcu.enter();
    // Acquire, here and below: makes the element visible.
    std::uint32_t element = next_of(0).load(simt::acquire);
    HEAPWOOD_ROLLED
    while (element != 0 && elements[element].tag != thread)
      element = next_of(element).load(simt::acquire);
    rcu.leave(section);
    if (element != 0) remove(warp, rcu, element);
  }

 private:
  HEAPWOOD_INLINE simt::atomic_ref<std::uint32_t> next_of(std::uint32_t i) const {
    return simt::atomic_ref<std::uint32_t>(elements[i].next);
  }

  // Needs no check: only this thread searches for the element's tag, so no other thread removes it.
  template <class Warp>
  HEAPWOOD_INLINE void remove(Warp& warp, const alloc::Rcu& rcu, std::uint32_t i) const {
    const std::uint32_t own_lane = 1u << warp.lane();
    const alloc::CollectiveMutex writing(&shared->writing), waiting(&shared->waiting);
    if (!writing.lock(warp, own_lane)) return;
    const std::uint32_t next = elements[i].next;
    // release: publishes the next element to readers.
    next_of(elements[i].previous).store(next, simt::release);
    if (next != 0) elements[next].previous = elements[i].previous;
    writing.unlock(warp, own_lane);
    const auto reclaim = [this](std::uint32_t e) {
      elements[e].tag = ~0u;
      simt::atomic_ref<std::uint64_t>(shared->done).fetch_add(1, simt::relaxed);
    };
    if (delegated) {
      rcu.retire(
          warp, alloc::Delegation(&shared->waiting), i,
          [this](std::uint32_t e) { return &elements[e].link; }, reclaim);
    } else if (waiting.lock(warp, own_lane)) {
      rcu.barrier(warp);
      waiting.unlock(warp, own_lane);
      reclaim(i);
    }
  }
};

template <class Device>
PrimitiveResult run(const Device& device, const PrimitiveJob& job) {
  using enum PrimitiveTest;
  constexpr unsigned width = Device::Warp::width;
  const unsigned warps = (job.threads + width - 1) / width;
  const simt::LaunchLimits limits{.seconds = job.seconds, .what = "stress"};
  simt::Buffer<Shared> shared(job.device, 1);
  shared.fill(0);
  PrimitiveResult result;
  const auto run_semaphore = [&]<PrimitiveTest test>() {
    const SemaphoreKernel<test> kernel{{}, shared.data(), job.threads, job.batch};
    result.ms = device.launch_independent(kernel, warps, limits);
    const Shared end = shared.download().front();
    result.wanted = job.threads;
    result.done = std::uint64_t{end.batches} * job.batch - kernel.available(end.semaphore);
    return result;
  };
  if (job.test == counting_semaphore)
    return run_semaphore.template operator()<counting_semaphore>();
  if (job.test == bulk_semaphore) return run_semaphore.template operator()<bulk_semaphore>();
  if (job.test == published_semaphore)
    return run_semaphore.template operator()<published_semaphore>();
  const std::uint32_t count = (job.threads + job.readers - 1) / job.readers;
  std::vector<Element> list(count + 1);
  for (std::uint32_t i = 0; i <= count; ++i) {
    list[i] = {i < count ? i + 1 : 0, i == 0 ? 0 : i - 1, i == 0 ? ~0u : (i - 1) * job.readers, 0};
  }
  const simt::Buffer<Element> elements(job.device, list);
  const RcuKernel kernel{{},          shared.data(), elements.data(),
                         job.threads, job.readers,   job.test == delegated_rcu};
  result.ms = device.launch_independent(kernel, warps, limits);
  result.wanted = count;
  result.done = shared.download().front().done;
  return result;
}

}  // namespace heapwood::workloads::primitive_detail
