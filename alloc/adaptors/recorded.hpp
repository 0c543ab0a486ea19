// SPDX-License-Identifier: MIT
// Recorded<Base>: records every request and every free, in an order that is consistent with the use
// of each byte. For the viewer's heap map and for tests; a recorded run is not timed.
//
// The number of an event comes from one counter. An allocation is recorded after Base has returned
// the block and a free before Base gets it back. If Base orders a free before the allocation that
// reuses the memory (as all allocators that keep live memory do), the modification order of the
// counter puts the free's number first, so relaxed adds suffice.
//
// The buffer has a fixed capacity: later events are counted and lost, and Recording reports how
// many. Capacity 0 switches the adaptor off. On the CPU a recording can be watched and paused while
// it is written (live_recording.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/recording/live_recording.hpp"
#include "simt/atomic_ref.hpp"

namespace heapwood::alloc {

// Host side: the counter and the events, in device memory. Outlives the adaptor.
class RecordedMemory {
 public:
  // `live`: the observer; used on the CPU only.
  RecordedMemory(const simt::DeviceId& device, std::size_t capacity, LiveRecording* live = nullptr)
      : count_(device, 1),
        events_(device, capacity),
        live_(device.kind == simt::DeviceKind::cpu ? live : nullptr) {
    count_.fill(0);
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
    count_.fill(0);
  }
  // Events that occurred, and those that fit into the buffer.
  std::uint64_t total() const { return count_.download().front(); }
  std::vector<RecordedEvent> events() const {
    const std::uint64_t all = total();
    return events_.download(0,
                            all < events_.size() ? static_cast<std::size_t>(all) : events_.size());
  }

  std::uint64_t* count() const { return count_.data(); }
  RecordedEvent* lines() const { return events_.data(); }
  std::size_t capacity() const { return events_.size(); }
  std::uint64_t* held_from() const { return live_ != nullptr ? live_->held_from() : nullptr; }

 private:
  simt::Buffer<std::uint64_t> count_;
  simt::Buffer<RecordedEvent> events_;
  LiveRecording* live_;
};

template <class Base>
struct Recorded {
  static constexpr AllocatorTraits traits = Base::traits;

  Base base;
  const std::byte* pool = nullptr;
  std::uint64_t* count = nullptr;
  RecordedEvent* lines = nullptr;
  std::uint64_t capacity = 0;
  // Threads wait before events from this number on; nullptr: they never wait.
  std::uint64_t* held_from = nullptr;

  static Recorded create(const Base& base, Pool pool, const RecordedMemory& memory) {
    return {base, pool.base, memory.count(), memory.lines(), memory.capacity(), memory.held_from()};
  }

  template <class Thread>
  SIMT_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    void* const block = base.allocate(thread, bytes);
    if (block != nullptr) write(thread, RecordedEvent::Kind::allocate, 0, place(block), bytes);
    return block;
  }
  template <class Thread>
  SIMT_INLINE void deallocate(Thread& thread, void* block) {
    if (block != nullptr) write(thread, RecordedEvent::Kind::free, 0, place(block), 0);
    base.deallocate(thread, block);
  }
  // The builder's own events: a node was split, or became a leaf.
  template <class Thread>
  SIMT_INLINE void note_node(Thread& thread, unsigned depth, std::uint32_t refs, bool leaf) {
    write(thread, leaf ? RecordedEvent::Kind::leaf : RecordedEvent::Kind::inner, depth, 0, refs);
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    base.walk(host, visit);
  }

 private:
  SIMT_INLINE std::uint64_t place(const void* block) const {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(block) - pool) / granule;
  }
  template <class Thread>
  SIMT_INLINE void write(Thread& thread, RecordedEvent::Kind kind, unsigned depth,
                         std::uint64_t where, std::uint64_t bytes) {
    if (capacity == 0) return;
    // relaxed: see above; the host reads the events after the launch, or watches their words.
    const std::uint64_t number =
        simt::atomic_ref<std::uint64_t>(*count).fetch_add(1, simt::relaxed);
    hold(thread, number);
    if (number >= capacity) return;
    const RecordedEvent event = RecordedEvent::make(kind, depth, thread.worker(), where, bytes);
    RecordedEvent& line = lines[number];
    line.bytes = event.bytes;
    // release: a thread that sees the word sees the bytes (LiveRecording::read).
    simt::atomic_ref<std::uint64_t>(line.word).store(event.word, simt::release);
  }
  // Called outside Base, so that no lock of the allocator is held meanwhile. Threads that wait for
  // this warp's node keep waiting, and aborting the launch ends the wait. Compiled only for threads
  // that can nap: those of the CPU.
  template <class Thread>
  SIMT_INLINE void hold(Thread& thread, std::uint64_t number) const {
    if constexpr (requires { thread.nap(); }) {
      if (held_from == nullptr) return;
      // relaxed: only a limit.
      while (number >= simt::atomic_ref<std::uint64_t>(*held_from).load(simt::relaxed) &&
             !thread.aborted()) {
        thread.nap();
      }
    }
  }
};

}  // namespace heapwood::alloc
