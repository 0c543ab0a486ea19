// SPDX-License-Identifier: MIT
// The requests and frees of a program in order, by warp and kernel, without the addresses it got.
// `heapwood replay` repeats them with every allocator. trace_file.hpp writes and reads a trace;
// docs/workloads.md describes both. Host code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "alloc/recording/recording.hpp"

namespace heapwood::alloc {

// An event of a trace, identified by its index. The events of a warp are in the warp's order. An
// event comes after every event that it depends on: a free comes after the request of its block.
struct TraceEvent {
  enum class Kind : std::uint8_t { allocate, free };

  std::uint32_t warp = 0;     // number in its kernel
  std::uint32_t request = 0;  // its own number, from 0; of a free: the request whose block it frees
  std::uint64_t bytes : 48 = 0;  // of a request
  std::uint64_t lane : 8 = 0;
  Kind kind = Kind::allocate;

  bool operator==(const TraceEvent&) const = default;
};
static_assert(sizeof(TraceEvent) == 16);

struct ProgramTrace {
  std::string source;            // what was recorded: one line of text
  std::uint64_t pool_bytes = 0;  // of the recorded run
  std::vector<TraceEvent> events;
  // For each kernel the number of events up to its end; the last number is that of all events.
  std::vector<std::size_t> kernel_ends;
  std::uint32_t requests = 0;  // events that allocate

  // What the recorded program did but the trace does not contain.
  std::uint64_t dropped = 0;    // events that did not fit into the buffer
  std::uint64_t refused = 0;    // requests that returned nullptr
  std::uint64_t unmatched = 0;  // frees of blocks whose request was not recorded

  bool operator==(const ProgramTrace&) const = default;
};

// Builds a trace event by event from a recording, in which a free names an address.
class ProgramTraceBuilder {
 public:
  void add(const RecordedEvent& event) {
    if (event.word == 0) return;
    if (event.kind() == RecordedEvent::Kind::allocate) {
      // Overwrites an older block at this address: a recording that was cut off may miss its free.
      live_[event.offset()] = trace_.requests;
      add(event, TraceEvent::Kind::allocate, trace_.requests++);
    } else {
      const auto found = live_.find(event.offset());
      if (found == live_.end()) {
        ++trace_.unmatched;
        return;
      }
      add(event, TraceEvent::Kind::free, found->second);
      live_.erase(found);
    }
  }
  // Ends a kernel: the events since the previous call. Does nothing if there are none.
  void end_kernel() {
    const std::size_t begin = trace_.kernel_ends.empty() ? 0 : trace_.kernel_ends.back();
    if (trace_.events.size() > begin) trace_.kernel_ends.push_back(trace_.events.size());
  }
  ProgramTrace take() {
    end_kernel();
    return std::move(trace_);
  }

 private:
  void add(const RecordedEvent& from, TraceEvent::Kind kind, std::uint32_t request) {
    TraceEvent event;
    event.warp = from.warp();
    event.request = request;
    if (kind == TraceEvent::Kind::allocate) event.bytes = from.bytes;
    event.lane = from.lane() & 31u;
    event.kind = kind;
    trace_.events.push_back(event);
  }

  ProgramTrace trace_;
  std::unordered_map<std::uint64_t, std::uint32_t> live_;  // by offset
};

// `total`: events that occurred, of which `events` fitted into the buffer.
inline ProgramTrace make_program_trace(std::span<const RecordedEvent> events,
                                       std::span<const std::uint64_t> kernel_ends,
                                       std::uint64_t total, std::uint64_t refused) {
  ProgramTraceBuilder builder;
  auto end = kernel_ends.begin();
  for (std::size_t i = 0; i < events.size(); ++i) {
    for (; end != kernel_ends.end() && *end <= i; ++end) builder.end_kernel();
    builder.add(events[i]);
  }
  ProgramTrace trace = builder.take();
  trace.dropped = total - events.size();
  trace.refused = refused;
  return trace;
}

}  // namespace heapwood::alloc
