// SPDX-License-Identifier: MIT
// Counting semaphore for two-stage allocation (Gelado and Garland 2019, section 3.2, after Stuart and Owens): counts
// units of a resource that grows by batches, one batch at a time. Who finds fewer units than it wants takes those that
// are left and fetches the next batch; all others wait until that is there. What the bulk semaphore
// (bulk_semaphore.hpp) is measured against: there as many threads grow as batches are needed.
// Differs from the paper: "growing" is a bit of its own, not the value -1, so that units may also come back meanwhile.
// Limits: 2^31 - 1 units.
#pragma once

#include <cstdint>

#include "simt/atomic_ref.hpp"
#include "simt/config.hpp"

namespace heapwood::alloc {

class CountingSemaphore {
 public:
  static constexpr std::uint32_t failed = ~0u;

  SIMT_INLINE explicit CountingSemaphore(std::uint32_t* word) : word_(word) {}
  static SIMT_INLINE std::uint32_t initial(std::uint32_t available) { return available; }

  // Takes n units, or those that there are: the units taken. Fewer than n: the caller has to fetch a batch and to call
  // grown(). failed: the launch is aborted. Waits only for a thread that fetches a batch, which is running.
  template <class Thread>
  SIMT_INLINE std::uint32_t wait(Thread& thread, std::uint32_t n) const {
    const simt::atomic_ref<std::uint32_t> word(*word_);
    std::uint32_t seen = word.load(simt::relaxed);
    SIMT_ROLLED
    for (unsigned turn = 0;;) {
      if ((seen & growing) != 0) {
        thread.pause(turn++);
        if (turn % 64 == 0 && thread.aborted()) return failed;
        seen = word.load(simt::relaxed);
        continue;
      }
      const std::uint32_t taken = seen < n ? seen : n;
      // acquire: what the units stand for was handed over by who signalled.
      if (word.compare_exchange_weak(seen, taken < n ? growing : seen - n, simt::acquire, simt::relaxed)) return taken;
    }
  }

  // Units come back. release: hands over what they stand for.
  SIMT_INLINE void signal(std::uint32_t n) const {
    simt::atomic_ref<std::uint32_t>(*word_).fetch_add(n, simt::release);
  }
  // The caller's batch is there, n units of it for others; 0 also where there is none. release: as signal().
  SIMT_INLINE void grown(std::uint32_t n) const {
    simt::atomic_ref<std::uint32_t>(*word_).fetch_add(n - growing, simt::release);
  }

 private:
  static constexpr std::uint32_t growing = 1u << 31;

  std::uint32_t* word_;
};

}  // namespace heapwood::alloc
