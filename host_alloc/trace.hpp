// SPDX-License-Identifier: MIT
// The requests that a program made to a host allocator, in order, and their text format: lines of
// `op,id,bytes`, where op is `allocate` or `free` and id is any number that no other live block
// has; a free has no bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host_alloc/host_allocator.hpp"

namespace heapwood::host_alloc {

struct HostTraceOp {
  std::uint32_t slot = 0;  // identifies the block while it is live
  bool allocate = false;
  std::size_t bytes = 0;  // size of an allocation; unused for a free
  bool operator==(const HostTraceOp&) const = default;
};

struct HostTrace {
  std::vector<HostTraceOp> ops;
  std::uint32_t slots = 0;  // at least the max number of blocks live at once
};

inline constexpr std::size_t largest_traced_request = std::size_t{1} << 48;

// Parses a trace; `name` is used in errors. Throws Error{Exit::scene} `NAME:LINE: what` at the
// first line that is malformed, allocates an id that is live, or frees one that is not. Blocks may
// be live at the end.
HostTrace parse_host_trace(std::string_view text, const std::string& name);
std::string host_trace_text(const HostTrace& trace);

// Writes a trace: gives each live block a slot. Ids are arbitrary numbers.
class HostTraceWriter {
 public:
  // Both return false if the id is in the wrong state: live already, or not live.
  bool add_allocation(std::uint64_t id, std::size_t bytes);
  bool add_free(std::uint64_t id);
  const HostTrace& trace() const { return trace_; }

 private:
  HostTrace trace_;
  std::vector<std::uint32_t> vacant_;
  std::unordered_map<std::uint64_t, std::uint32_t> live_;
};

// Forwards all calls to another allocator and records them. Refused requests are not recorded.
class RecordedHostAllocator final : public HostAllocator {
 public:
  explicit RecordedHostAllocator(std::unique_ptr<HostAllocator> base) : base_(std::move(base)) {}

  void* allocate(std::size_t bytes, std::size_t alignment) override;
  void deallocate(void* block) override;
  HostStatistics statistics() const override { return base_->statistics(); }
  void walk(const std::function<void(const HostRegion&)>& visit) const override {
    base_->walk(visit);
  }
  std::size_t shrink() override { return base_->shrink(); }
  HostTrace trace() const;

 private:
  // Held during each call, so that the trace has the order in which memory changed owners.
  mutable std::mutex mutex_;
  std::unique_ptr<HostAllocator> base_;
  HostTraceWriter trace_;
};

}  // namespace heapwood::host_alloc
