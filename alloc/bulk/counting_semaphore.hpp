// SPDX-License-Identifier: MIT
// Counting semaphore for two-stage allocation (Gelado and Garland 2019, section 3.2, after Stuart
// and Owens): counts the units of a resource that grows in batches, one batch at a time. A thread
// that finds fewer units than it wants takes the remaining ones and fetches the next batch; all
// other threads wait for that batch. This is the baseline for the bulk semaphore
// (bulk_semaphore.hpp), where as many threads grow the resource as batches are needed.
//
// Differs from the paper: "growing" is a separate bit, not the value -1, so that units can be
// returned while the resource grows. Limits: 2^31 - 1 units.
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

  // Takes n units, or as many as there are, and returns the number taken. If it is less than n, the
  // caller must fetch a batch and call grown(). Returns `failed` if the launch is aborted. Waits
  // only for a thread that fetches a batch, which is running.
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
      // acquire: synchronizes with signal(), which hands over what the units represent.
      if (word.compare_exchange_weak(seen, taken < n ? growing : seen - n, simt::acquire,
                                     simt::relaxed))
        return taken;
    }
  }

  // Returns units. release: hands over what they represent.
  SIMT_INLINE void signal(std::uint32_t n) const {
    simt::atomic_ref<std::uint32_t>(*word_).fetch_add(n, simt::release);
  }
  // Ends the caller's growth, with n units of the batch for other threads; 0 also if there is no
  // batch. release: as in signal().
  SIMT_INLINE void grown(std::uint32_t n) const {
    simt::atomic_ref<std::uint32_t>(*word_).fetch_add(n - growing, simt::release);
  }

 private:
  static constexpr std::uint32_t growing = 1u << 31;

  std::uint32_t* word_;
};

}  // namespace heapwood::alloc
