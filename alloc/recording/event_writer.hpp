// SPDX-License-Identifier: MIT
// Writes events into a buffer of fixed capacity, from any thread of a kernel. The number of an
// event comes from one counter; events that do not fit are only counted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/recording/recording.hpp"
#include "simt/atomic_ref.hpp"

namespace heapwood::alloc {

// In device memory.
struct EventCounts {
  std::uint64_t events = 0;   // all, also those that did not fit
  std::uint64_t refused = 0;  // requests; these are not events
};

struct EventWriter {
  const std::byte* pool = nullptr;  // places are relative to it
  EventCounts* counts = nullptr;
  RecordedEvent* lines = nullptr;  // zeroed beforehand: no event is all zeros
  std::uint64_t capacity = 0;      // 0: nothing is recorded

  // relaxed: the modification order of the counter is the order of the events. The host reads them
  // after the launch, or watches their words.
  SIMT_INLINE std::uint64_t next_number() const {
    return simt::atomic_ref<std::uint64_t>(counts->events).fetch_add(1, simt::relaxed);
  }
  template <class Thread>
  SIMT_INLINE void write(Thread& thread, std::uint64_t number, RecordedEvent::Kind kind,
                         unsigned detail, std::uint64_t place, std::uint64_t bytes) const {
    if (number >= capacity) return;
    const RecordedEvent event = RecordedEvent::make(kind, detail, thread.worker(), place, bytes);
    RecordedEvent& line = lines[number];
    line.bytes = event.bytes;
    line.high_warp = event.high_warp;
    // release: a thread that sees the word sees the bytes (LiveRecording::read).
    simt::atomic_ref<std::uint64_t>(line.word).store(event.word, simt::release);
  }
  SIMT_INLINE void count_refusal() const {
    // relaxed: only a number.
    simt::atomic_ref<std::uint64_t>(counts->refused).fetch_add(1, simt::relaxed);
  }
  SIMT_INLINE std::uint64_t place(const void* block) const {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(block) - pool) / granule;
  }
};

}  // namespace heapwood::alloc
