// SPDX-License-Identifier: MIT
// Recorded<Base>: writes every request and every free down, in an order that agrees with what happened to each byte. For
// the viewer's heap map and for tests; a run that is recorded is not timed.
//
// A line's number comes from one counter. A block is written down after Base handed it out and its free before Base gets
// it back; so, where Base orders a free before the allocation that reuses the memory (all that keep live memory do), the
// counter's own modification order puts the free's number first: relaxed adds suffice.
// The buffer has a fixed capacity: what comes later is counted and lost, and Recording says how much. Capacity 0
// switches the adaptor off.
#pragma once

#include <cstdint>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/recording.hpp"
#include "simt/atomic_ref.hpp"

namespace heapwood::alloc {

// Host side: counter and lines, in device memory. Outlives the adaptor.
class RecordedMemory {
 public:
  RecordedMemory(const simt::DeviceId& device, std::size_t capacity) : count_(device, 1), events_(device, capacity) {
    reset();
  }
  void reset() { count_.fill(0); }
  // Lines that there were to write, and those that found room.
  std::uint64_t total() const { return count_.download().front(); }
  std::vector<RecordedEvent> events() const {
    const std::uint64_t all = total();
    return events_.download(0, all < events_.size() ? static_cast<std::size_t>(all) : events_.size());
  }

  std::uint64_t* count() const { return count_.data(); }
  RecordedEvent* lines() const { return events_.data(); }
  std::size_t capacity() const { return events_.size(); }

 private:
  simt::Buffer<std::uint64_t> count_;
  simt::Buffer<RecordedEvent> events_;
};

template <class Base>
struct Recorded {
  static constexpr AllocatorTraits traits = Base::traits;

  Base base;
  const std::byte* pool = nullptr;
  std::uint64_t* count = nullptr;
  RecordedEvent* lines = nullptr;
  std::uint64_t capacity = 0;

  static Recorded create(const Base& base, Pool pool, const RecordedMemory& memory) {
    return {base, pool.base, memory.count(), memory.lines(), memory.capacity()};
  }

  template <class Thread>
  SIMT_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    void* const block = base.allocate(thread, bytes);
    if (block != nullptr) write(RecordedEvent::Kind::allocate, 0, thread.worker(), place(block), bytes);
    return block;
  }
  template <class Thread>
  SIMT_INLINE void deallocate(Thread& thread, void* block) {
    if (block != nullptr) write(RecordedEvent::Kind::free, 0, thread.worker(), place(block), 0);
    base.deallocate(thread, block);
  }
  // The builder's own lines: a node was split, or became a leaf.
  template <class Thread>
  SIMT_INLINE void note_node(Thread& thread, unsigned depth, std::uint32_t refs, bool leaf) {
    write(leaf ? RecordedEvent::Kind::leaf : RecordedEvent::Kind::inner, depth, thread.worker(), 0, refs);
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    base.walk(host, visit);
  }

 private:
  SIMT_INLINE std::uint64_t place(const void* block) const {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(block) - pool) / granule;
  }
  SIMT_INLINE void write(RecordedEvent::Kind kind, unsigned depth, unsigned warp, std::uint64_t where,
                         std::uint64_t bytes) {
    if (capacity == 0) return;
    // relaxed: see above; the host reads the lines after the launch.
    const std::uint64_t line = simt::atomic_ref<std::uint64_t>(*count).fetch_add(1, simt::relaxed);
    if (line < capacity) lines[line] = RecordedEvent::make(kind, depth, warp, where, bytes);
  }
};

}  // namespace heapwood::alloc
