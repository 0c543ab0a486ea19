// SPDX-License-Identifier: MIT
// Recorded<Base>: records every request and every free, in an order that is consistent with the use
// of each byte. For the viewer's heap map, for program traces (recording/program_trace.hpp) and for
// tests; a recorded run is not timed.
//
// The number of an event comes from one counter. An allocation is recorded after Base has returned
// the block and a free before Base gets it back. If Base orders a free before the allocation that
// reuses the memory (as all allocators that keep live memory do), the modification order of the
// counter puts the free's number first, so relaxed adds suffice.
//
// The buffer has a fixed capacity: later events are counted and lost, and RecordedMemory reports
// how many. Refused requests are only counted. Capacity 0 switches the adaptor off. On the CPU a
// recording can be watched and paused while it is written (live_recording.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/primitives/word.hpp"
#include "alloc/recording/live_recording.hpp"

namespace heapwood::alloc {

// Host side: the counters and the events, in device memory. Outlives the adaptor.
class RecordedMemory {
 public:
  // `live`: the observer; used on the CPU only.
  RecordedMemory(const simt::DeviceId& device, std::size_t capacity, LiveRecording* live = nullptr)
      : counts_(device, 1),
        events_(device, capacity),
        live_(device.kind == simt::DeviceKind::cpu ? live : nullptr) {
    counts_.fill(0);
    reset();
  }
  RecordedMemory(const RecordedMemory&) = delete;
  RecordedMemory& operator=(const RecordedMemory&) = delete;
  ~RecordedMemory() {
    if (live_ != nullptr) live_->close();
  }
  void reset() {
    if (live_ != nullptr) {
      live_->close();
      // A written event is not 0. New memory is zeroed; the events of a build that is repeated must
      // be cleared.
      const std::size_t used =
          static_cast<std::size_t>(std::min<std::uint64_t>(total(), events_.size()));
      simt::device_fill(events_.device(), events_.data(), 0, used * sizeof(RecordedEvent));
      live_->open(events_.data(), events_.size());
    }
    counts_.fill(0);
    kernel_ends_.clear();
  }
  // To be called after each kernel, once it has finished: the events of a program's kernels are
  // separated there.
  void end_kernel() { kernel_ends_.push_back(total()); }
  // Numbers of events, in ascending order.
  const std::vector<std::uint64_t>& kernel_ends() const { return kernel_ends_; }
  // Events that occurred; events() returns the first of them, as many as the buffer holds.
  std::uint64_t total() const { return counts_.download().front().events; }
  std::uint64_t refused() const { return counts_.download().front().refused; }
  std::vector<RecordedEvent> events() const {
    const std::uint64_t all = total();
    return events_.download(0,
                            all < events_.size() ? static_cast<std::size_t>(all) : events_.size());
  }

  EventWriter writer(const std::byte* pool) const {
    return {pool, counts_.data(), events_.data(), events_.size()};
  }
  std::uint64_t* held_from() const { return live_ != nullptr ? live_->held_from() : nullptr; }

 private:
  simt::Buffer<EventCounts> counts_;
  simt::Buffer<RecordedEvent> events_;
  std::vector<std::uint64_t> kernel_ends_;
  LiveRecording* live_;
};

template <class Base>
struct Recorded : AdaptorTraits<Base> {
  Base base;
  EventWriter events;
  // Threads wait before events from this number on; nullptr: they never wait.
  std::uint64_t* held_from = nullptr;

  static Recorded create(const Base& base, Pool pool, const RecordedMemory& memory) {
    return {{}, base, memory.writer(pool.base), memory.held_from()};
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    void* const block = base.allocate(thread, bytes);
    if (block != nullptr) {
      write(thread, RecordedEvent::Kind::allocate, thread.lane(), events.place(block), bytes);
    } else if (events.capacity != 0) {
      events.count_refusal();
    }
    return block;
  }
  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) {
    if (block != nullptr)
      write(thread, RecordedEvent::Kind::free, thread.lane(), events.place(block), 0);
    base.deallocate(thread, block);
  }
  // The builder's own events: a node was split, or became a leaf.
  template <class Thread>
  HEAPWOOD_INLINE void note_node(Thread& thread, unsigned depth, std::uint32_t refs, bool leaf) {
    write(thread, leaf ? RecordedEvent::Kind::leaf : RecordedEvent::Kind::inner, depth, 0, refs);
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    base.walk(host, visit);
  }

 private:
  template <class Thread>
  HEAPWOOD_INLINE void write(Thread& thread, RecordedEvent::Kind kind, unsigned detail,
                             std::uint64_t where, std::uint64_t bytes) {
    if (events.capacity == 0) return;
    const std::uint64_t number = events.next_number();
    hold(thread, number);
    events.write(thread, number, kind, detail, where, bytes);
  }
  // Called outside Base, so that no lock of the allocator is held meanwhile. Threads that wait for
  // this warp's node keep waiting, and aborting the launch ends the wait. Compiled only for threads
  // that can nap: those of the CPU.
  template <class Thread>
  HEAPWOOD_INLINE void hold(Thread& thread, std::uint64_t number) const {
    if constexpr (requires { thread.nap(); }) {
      if (held_from == nullptr) return;
      // relaxed: only a limit.
      while (number >= Word64(*held_from).load(simt::relaxed) && !thread.aborted()) {
        thread.nap();
      }
    }
  }
};

}  // namespace heapwood::alloc
