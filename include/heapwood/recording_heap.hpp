// SPDX-License-Identifier: MIT
// A heap that records what a program asks of it, with the functions of heapwood::heap. `heapwood
// replay` runs the trace with every allocator and names one for speed and one for memory.
//
//   heapwood::recording_heap heap(1ull << 30);
//   kernel<<<blocks, threads>>>(heap.handle());    // takes a heapwood::recording_heap_handle
//   heap.end_kernel();                             // after each kernel; waits for the device
//   heap.write_trace("program.trace");
//
// Cost: 16 bytes of device memory per event, a request or a free; all threads add to one counter,
// so times mean nothing. Events beyond max_events, the last argument of the constructors, are
// counted, and the trace has their number. A warp number in the trace names a place for a resident
// warp of the GPU, not an index in a launch.
#pragma once

#include "simt/cxx20.hpp"  // first

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "alloc/recording/program_trace.hpp"
#include "alloc/recording/trace_file.hpp"
#include "heapwood/heap.hpp"

namespace heapwood {
inline namespace HEAPWOOD_TARGET {

template <class A>
class basic_recording_handle : public handle_operations<basic_recording_handle<A>> {
 public:
  using allocator_type = A;

  // A handle of no heap, which can be assigned to.
  basic_recording_handle() = default;
  basic_recording_handle(const basic_heap_handle<A>& base, const alloc::EventWriter& events)
      : base_(base), events_(events) {}

  HEAPWOOD_INLINE void* allocate(std::size_t bytes) const {
    void* const block = base_.allocate(bytes);
    if constexpr (simt::this_thread_runs) {
      // Recorded after the caller has the block, so that its free has a higher number.
      if (block != nullptr) {
        events_.write(simt::ThisThread(), alloc::RecordedEvent::Kind::allocate, block, bytes);
      } else {
        events_.count_refusal();
      }
    }
    return block;
  }
  HEAPWOOD_INLINE void deallocate(void* block) const {
    if constexpr (simt::this_thread_runs) {
      // Recorded before the block is freed, so that the next request that gets it has a higher
      // number.
      if (block != nullptr)
        events_.write(simt::ThisThread(), alloc::RecordedEvent::Kind::free, block, 0);
    }
    base_.deallocate(block);
  }

  HEAPWOOD_INLINE bool owns(const void* address) const { return base_.owns(address); }
  HEAPWOOD_INLINE std::size_t max_request() const { return base_.max_request(); }
  HEAPWOOD_INLINE std::size_t usable_size(const void* block) const {
    return base_.usable_size(block);
  }
  HEAPWOOD_INLINE const A& allocator() const { return base_.allocator(); }
  HEAPWOOD_INLINE alloc::Pool pool() const { return base_.pool(); }

 private:
  basic_heap_handle<A> base_;
  alloc::EventWriter events_;
};

template <class A>
class basic_recording_heap {
 public:
  using allocator_type = A;
  using handle_type = basic_recording_handle<A>;

  static constexpr std::size_t default_max_events = std::size_t{1} << 22;

  // Constructors as in basic_heap. Events are recorded in memory of their own.
  explicit basic_recording_heap(std::size_t bytes, stream_handle stream = {},
                                heap_options options = {},
                                std::size_t max_events = default_max_events)
      : basic_recording_heap(basic_heap<A>(bytes, stream, options), stream, max_events) {}
  explicit basic_recording_heap(std::span<std::byte> memory, stream_handle stream = {},
                                heap_options options = {},
                                std::size_t max_events = default_max_events)
      : basic_recording_heap(basic_heap<A>(memory, stream, options), stream, max_events) {}

  handle_type handle() const {
    return {heap_.handle(),
            {heap_.memory().data(), counts(),
             reinterpret_cast<alloc::RecordedEvent*>(memory_.data() + head_bytes), max_events_}};
  }

  // Waits for the device. The events since the previous call belong to one kernel; a replay
  // launches each kernel separately.
  void end_kernel() {
    device_.synchronize_device();
    kernel_ends_.push_back(read_counts().events);
  }

  // Waits for the device and returns the trace. `source` is one line that says what was recorded.
  alloc::ProgramTrace trace(const std::string& source = {}) const {
    device_.synchronize_device();
    const alloc::EventCounts counts = read_counts();
    std::vector<alloc::RecordedEvent> events(
        static_cast<std::size_t>(std::min<std::uint64_t>(counts.events, max_events_)));
    if (!events.empty()) {
      device_.download(events.data(), memory_.data() + head_bytes,
                       events.size() * sizeof(alloc::RecordedEvent));
    }
    alloc::ProgramTrace trace =
        alloc::make_program_trace(events, kernel_ends_, counts.events, counts.refused);
    trace.pool_bytes = heap_.bytes();
    trace.source = source;
    return trace;
  }
  // Writes the trace for `heapwood replay`. Throws Error if the file cannot be written; an existing
  // file of this name is replaced as a whole or not at all.
  void write_trace(const std::string& path, const std::string& source = {}) const {
    const std::string content = alloc::program_trace_file(trace(source)), part = path + ".part";
    std::FILE* const file = std::fopen(part.c_str(), "wb");
    bool is_written = file != nullptr;
    if (is_written) {
      is_written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
      is_written &= std::fclose(file) == 0;
    }
    if (is_written && std::rename(part.c_str(), path.c_str()) == 0) return;
    if (file != nullptr) std::remove(part.c_str());
    throw Error(Exit::failed, path + ": cannot write the trace");
  }

  // Frees everything and starts a new recording, in the order of the stream.
  void reset(stream_handle stream = {}) {
    heap_.reset(stream);
    clear(stream);
  }
  heap_stats stats() const { return heap_.stats(); }
  std::size_t report_leaks(std::FILE* to = stderr) const { return heap_.report_leaks(to); }
  std::size_t bytes() const { return heap_.bytes(); }
  std::size_t max_request() const { return heap_.max_request(); }
  std::span<std::byte> memory() const { return heap_.memory(); }
  const A& allocator() const { return heap_.allocator(); }

 private:
  static constexpr std::size_t head_bytes = 256;
  static_assert(sizeof(alloc::EventCounts) <= head_bytes);

  basic_recording_heap(basic_heap<A> base, stream_handle stream, std::size_t max_events)
      : heap_(std::move(base)), device_(simt::StreamDevice::current()), max_events_(max_events) {
    if (max_events == 0)
      throw Error(Exit::usage, "heapwood: a recording heap of 0 events: give at least 1");
    const std::size_t bytes = detail::add_sizes(
        head_bytes, detail::multiply_sizes(max_events, sizeof(alloc::RecordedEvent)));
    memory_ = simt::StreamMemory(device_, bytes);
    clear(stream);
  }
  alloc::EventCounts* counts() const {
    return reinterpret_cast<alloc::EventCounts*>(memory_.data());
  }
  alloc::EventCounts read_counts() const {
    if (memory_.data() == nullptr)
      throw Error(Exit::usage, "heapwood: events of a recording heap that was moved from");
    alloc::EventCounts copy;
    device_.download(&copy, counts(), sizeof(copy));
    return copy;
  }
  void clear(stream_handle stream) {
    kernel_ends_.clear();
    if (memory_.data() == nullptr) return;  // the heap was moved from
    const simt::StreamDevice device(device_.index, stream);
    device.fill(memory_.data(), 0, memory_.bytes());
  }

  basic_heap<A> heap_;
  simt::StreamDevice device_;
  std::size_t max_events_;
  simt::StreamMemory memory_;
  std::vector<std::uint64_t> kernel_ends_;
};

using recording_heap = basic_recording_heap<alloc::Heapwood>;
using recording_heap_handle = basic_recording_handle<alloc::Heapwood>;

}  // namespace HEAPWOOD_TARGET
}  // namespace heapwood
