// SPDX-License-Identifier: MIT
// The events written by the Recorded adaptor. workloads/block_history.hpp reconstructs the life of
// every block from them; program_trace.hpp keeps what does not depend on addresses, for a replay
// with other allocators.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/allocator.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc {

// An event of a recording; its index is its point in time.
struct RecordedEvent {
  enum class Kind : std::uint8_t { allocate, free };
  static constexpr std::uint64_t written = std::uint64_t{1} << 63;
  static constexpr std::uint64_t max_bytes = (std::uint64_t{1} << 48) - 1;
  // {written:1, offset of the block in granules:39, low bits of the warp:16, lane:6, kind:2}, or 0
  // if a launch was stopped before the event was written.
  std::uint64_t word = 0;
  std::uint64_t bytes : 48 = 0;  // as requested
  std::uint64_t high_warp : 16 = 0;

  static HEAPWOOD_INLINE RecordedEvent make(Kind kind, unsigned lane, unsigned warp,
                                            std::uint64_t granules, std::uint64_t bytes) {
    RecordedEvent event;
    event.word = written | granules << 24 | std::uint64_t{warp & 0xffffu} << 8 |
                 std::uint64_t{lane & 63u} << 2 | static_cast<std::uint64_t>(kind);
    event.bytes = bytes & max_bytes;
    event.high_warp = static_cast<std::uint16_t>(warp >> 16);
    return event;
  }
  Kind kind() const { return static_cast<Kind>(word & 3u); }
  unsigned lane() const { return static_cast<unsigned>(word >> 2 & 63u); }
  unsigned warp() const {
    return static_cast<unsigned>(word >> 8 & 0xffffu) | static_cast<unsigned>(high_warp) << 16;
  }
  // The block's offset from the pool's base.
  std::uint64_t offset() const { return ((word & ~written) >> 24) * granule; }
};
static_assert(sizeof(RecordedEvent) == 16);

// Counters of a recording, in device memory.
struct EventCounts {
  std::uint64_t events = 0;   // all, also those that did not fit
  std::uint64_t refused = 0;  // requests; these are not events
};

// Writes events into a buffer of fixed capacity, from any thread of a kernel. Events that do not
// fit are only counted. The host reads them after the launch.
struct EventWriter {
  const std::byte* pool = nullptr;  // offsets are relative to it
  EventCounts* counts = nullptr;
  RecordedEvent* lines = nullptr;  // zeroed beforehand: no event is all zeros
  std::uint64_t capacity = 0;      // 0: nothing is recorded

  // Gives the event the next number, and writes it if it fits.
  template <class Thread>
  HEAPWOOD_INLINE void write(const Thread& thread, RecordedEvent::Kind kind, const void* block,
                             std::uint64_t bytes) const {
    // relaxed: the modification order of the counter is the order of the events.
    const std::uint64_t number = Word64(counts->events).fetch_add(1, simt::relaxed);
    if (number >= capacity) return;
    const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(block) - pool);
    lines[number] =
        RecordedEvent::make(kind, thread.lane(), thread.worker(), offset / granule, bytes);
  }
  HEAPWOOD_INLINE void count_refusal() const {
    // relaxed: the count orders no other memory.
    Word64(counts->refused).fetch_add(1, simt::relaxed);
  }
};

}  // namespace heapwood::alloc
