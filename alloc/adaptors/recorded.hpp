// SPDX-License-Identifier: MIT
// Recorded<Base>: records every request and every free, in an order that is consistent with the use
// of each byte.
//
// The number of an event comes from one counter. An allocation is recorded after Base has returned
// the block and a free before Base gets it back. If Base orders a free before the allocation that
// reuses the memory (as all allocators that keep live memory do), the modification order of the
// counter puts the free's number first, so relaxed adds suffice.
//
// The buffer has a fixed capacity: later events are counted and lost, and RecordedMemory reports
// how many. Refused requests are only counted. Capacity 0 switches the adaptor off.
#pragma once

#include <cstdint>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/recording/recording.hpp"

namespace heapwood::alloc {

// The counters and events of an adaptor, in device memory. The host owns them; they must outlive
// the adaptor.
class RecordedMemory {
 public:
  RecordedMemory(const simt::DeviceId& device, std::size_t capacity)
      : counts_(device, 1), events_(device, capacity) {
    reset();
  }
  void reset() {
    counts_.fill(0);
    kernel_ends_.clear();
  }
  // To be called after each kernel has finished. Records how many events there are so far, which
  // separates the events of one kernel from the next kernel's.
  void end_kernel() { kernel_ends_.push_back(total()); }
  // For each kernel the number of events up to its end, in ascending order.
  const std::vector<std::uint64_t>& kernel_ends() const { return kernel_ends_; }
  // All events that occurred, also those that did not fit into the buffer; events() has only the
  // others.
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

 private:
  simt::Buffer<EventCounts> counts_;
  simt::Buffer<RecordedEvent> events_;
  std::vector<std::uint64_t> kernel_ends_;
};

template <class Base>
struct Recorded : AdaptorTraits<Base> {
  Base base;
  EventWriter events;

  static Recorded create(const Base& base, Pool pool, const RecordedMemory& memory) {
    return {{}, base, memory.writer(pool.base)};
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    void* const block = base.allocate(thread, bytes);
    if (events.capacity == 0) return block;
    if (block != nullptr) {
      events.write(thread, RecordedEvent::Kind::allocate, block, bytes);
    } else {
      events.count_refusal();
    }
    return block;
  }
  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) {
    if (block != nullptr && events.capacity != 0)
      events.write(thread, RecordedEvent::Kind::free, block, 0);
    base.deallocate(thread, block);
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    base.walk(host, visit);
  }
};

}  // namespace heapwood::alloc
