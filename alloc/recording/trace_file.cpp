// SPDX-License-Identifier: MIT
#include "alloc/recording/trace_file.hpp"

namespace heapwood::alloc {

namespace {

using namespace trace_file;

class Reader {
 public:
  Reader(std::string_view file, const std::string& name) : file_(file), name_(name) {}

  ProgramTrace read() {
    if (file_.substr(0, magic.size()) != magic)
      fail("not a program trace; --record-trace writes them");
    if (file_.size() < source_at) fail_truncated();
    const std::uint64_t found = fixed(version_at, 4);
    if (found != version)
      fail("version " + std::to_string(found) + " of the format; this program reads version " +
           std::to_string(version));
    ProgramTrace trace;
    const std::uint64_t source_bytes = fixed(source_bytes_at, 4), kernels = fixed(kernels_at, 8),
                        events = fixed(events_at, 8);
    trace.dropped = fixed(dropped_at, 8);
    trace.refused = fixed(refused_at, 8);
    trace.unmatched = fixed(unmatched_at, 8);
    trace.pool_bytes = fixed(pool_at, 8);
    at_ = source_at;
    if (source_bytes > file_.size() - at_) fail_truncated();
    if (source_bytes > max_source_bytes) fail("the text in its header is too long");
    trace.source = std::string(file_.substr(at_, source_bytes));
    for (const char c : trace.source) {
      if (c < 0x20 || c > 0x7e) fail("the text in its header is damaged");
    }
    at_ += source_bytes;
    // A kernel takes at least one byte of the file, and an event two.
    const std::size_t rest = file_.size() - at_;
    if (kernels > rest || events > rest / 2) fail_truncated();
    if (events >= max_events) fail("more than 2^31 events");
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION  // a fuzzer cannot pass a checksum
    if (checksum(file_) != fixed(checksum_at, 8))
      fail("its checksum is wrong: the file is damaged");
#endif
    trace.events.reserve(events);
    trace.kernel_ends.reserve(kernels);
    for (std::uint64_t k = 0; k < kernels; ++k) read_kernel(trace, events);
    if (trace.events.size() != events) fail("fewer events than its header says");
    if (at_ != file_.size()) fail("something follows the last event");
    trace.requests = static_cast<std::uint32_t>(freed_.size());
    return trace;
  }

 private:
  void read_kernel(ProgramTrace& trace, std::uint64_t events) {
    const std::uint64_t count = number();
    if (count == 0 || count > events - trace.events.size())
      fail("a kernel with " + std::to_string(count) + " events, where " +
           std::to_string(events - trace.events.size()) + " are left");
    for (std::uint64_t i = 0; i < count; ++i) trace.events.push_back(read_event());
    trace.kernel_ends.push_back(trace.events.size());
  }

  TraceEvent read_event() {
    const std::uint64_t head = number(), value = number(), folded = head >> 1;
    thread_ += (folded >> 1) ^ (~(folded & 1) + 1);
    if (thread_ >> 32 >= max_lanes) fail("a warp's number is out of range");
    TraceEvent event;
    event.warp = static_cast<std::uint32_t>(thread_ / max_lanes);
    event.lane = thread_ % max_lanes;
    if ((head & 1) == 0) {
      if (value > max_request_bytes) fail("a request of " + std::to_string(value) + " bytes");
      if ((sum_ += value) > max_all_bytes) fail("its requests add up to more than 4 EiB");
      event.request = static_cast<std::uint32_t>(freed_.size());
      event.bytes = value & RecordedEvent::max_bytes;
      freed_.push_back(false);
    } else {
      if (value >= freed_.size()) fail("a free of a block that was never requested");
      const std::size_t request = freed_.size() - 1 - static_cast<std::size_t>(value);
      if (freed_[request]) fail("a block is freed twice");
      freed_[request] = true;
      event.kind = TraceEvent::Kind::free;
      event.request = static_cast<std::uint32_t>(request);
    }
    return event;
  }

  std::uint64_t fixed(std::size_t offset, unsigned bytes) const {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i)
      value |= std::uint64_t{static_cast<unsigned char>(file_[offset + i])} << 8 * i;
    return value;
  }

  // Reads a number of variable length. Only the shortest encoding is valid: no byte 0 at its end.
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == file_.size()) fail_truncated();
      const auto byte = static_cast<unsigned char>(file_[at_++]);
      const std::uint64_t bits = byte & 0x7fu;
      if (shift == 63 && bits > 1) break;
      value |= bits << shift;
      if (byte < 0x80) {
        if (byte == 0 && shift != 0) break;
        return value;
      }
    }
    fail("a damaged number before byte " + std::to_string(at_));
  }

  [[noreturn]] void fail_truncated() const { fail("the file is truncated"); }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Exit::scene, name_ + ": " + what);
  }

  std::string_view file_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::uint64_t thread_ = 0, sum_ = 0;
  std::vector<bool> freed_;  // by request
};

}  // namespace

ProgramTrace read_program_trace(std::string_view file, const std::string& name) {
  return Reader(file, name).read();
}

}  // namespace heapwood::alloc
