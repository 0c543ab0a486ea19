// SPDX-License-Identifier: MIT
// The file of a program trace (docs/workloads.md): a header of 72 bytes, the source's text, and
// per kernel the number of its events followed by the events, as numbers of variable length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "alloc/recording/program_trace.hpp"

namespace heapwood::alloc {

namespace trace_file {

inline constexpr std::string_view magic = "HWTRACE\n";
inline constexpr std::uint32_t version = 1;
// Offsets of the header's fields, all little-endian; `source_at` is where the text begins.
inline constexpr std::size_t version_at = 8, source_bytes_at = 12, kernels_at = 16, events_at = 24,
                             dropped_at = 32, refused_at = 40, unmatched_at = 48, pool_at = 56,
                             checksum_at = 64, source_at = 72;
// Limits of a valid file.
inline constexpr std::uint64_t max_request_bytes = std::uint64_t{1} << 40;
inline constexpr std::uint64_t max_all_bytes = std::uint64_t{1} << 62;  // sum of all requests
inline constexpr std::uint64_t max_events = std::uint64_t{1} << 31;
inline constexpr std::uint64_t max_lanes = 32;
inline constexpr std::size_t max_source_bytes = 4096;

// FNV-1a over all bytes but the checksum's own.
inline std::uint64_t checksum(std::string_view file) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (std::size_t i = 0; i < file.size(); ++i) {
    if (i == checksum_at) i += 8;
    if (i < file.size()) hash = (hash ^ static_cast<unsigned char>(file[i])) * 0x100000001b3u;
  }
  return hash;
}

class Writer {
 public:
  // Writes a number, seven bits per byte, the lowest first; all bytes but the last have bit 7 set.
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }
  void fixed(std::uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) text_ += static_cast<char>(value >> 8 * i);
  }
  void text(std::string_view text) { text_ += text; }
  std::string take() && { return std::move(text_); }

 private:
  std::string text_;
};

inline std::uint64_t thread_of(const TraceEvent& event) {
  return std::uint64_t{event.warp} * max_lanes + event.lane;
}

}  // namespace trace_file

// Returns the file's content for a trace that ProgramTraceBuilder or read_program_trace() made.
// Characters of its source that are not printable ASCII become '?'.
inline std::string program_trace_file(const ProgramTrace& trace) {
  using namespace trace_file;
  std::string source = trace.source.substr(0, max_source_bytes);
  for (char& c : source) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  Writer file;
  file.text(magic);
  file.fixed(version, 4);
  file.fixed(source.size(), 4);
  file.fixed(trace.kernel_ends.size(), 8);
  file.fixed(trace.events.size(), 8);
  file.fixed(trace.dropped, 8);
  file.fixed(trace.refused, 8);
  file.fixed(trace.unmatched, 8);
  file.fixed(trace.pool_bytes, 8);
  file.fixed(0, 8);  // the checksum
  file.text(source);
  std::size_t i = 0;
  std::uint64_t thread = 0;
  std::uint32_t requests = 0;
  for (const std::size_t end : trace.kernel_ends) {
    file.number(end - i);
    for (; i < end; ++i) {
      const TraceEvent& event = trace.events[i];
      // The difference to the previous thread, without a sign: 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
      const std::uint64_t change = thread_of(event) - thread;
      thread = thread_of(event);
      const std::uint64_t folded = change >> 63 != 0 ? ~(change << 1) : change << 1;
      const bool frees = event.kind == TraceEvent::Kind::free;
      file.number(folded << 1 | (frees ? 1 : 0));
      file.number(frees ? requests - event.request - 1 : std::uint64_t{event.bytes});
      requests += frees ? 0 : 1;
    }
  }
  std::string text = std::move(file).take();
  const std::uint64_t sum = checksum(text);
  for (unsigned k = 0; k < 8; ++k) text[checksum_at + k] = static_cast<char>(sum >> 8 * k);
  return text;
}

// Reads a trace from the content of a file. Throws Error{Exit::scene}, one line that begins with
// `name`, if it is not valid. Uses at most 16 bytes of memory per byte of the file.
ProgramTrace read_program_trace(std::string_view file, const std::string& name);

}  // namespace heapwood::alloc
