// SPDX-License-Identifier: MIT
// What the rows of all measurements have in common: the allocator, and how its measurement went.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/results/result.hpp"

namespace heapwood::bench {

class JsonFields;

inline constexpr const char* interrupted_reason = "interrupted before it was measured";

// Called before each step of a measurement: steps done, all steps, the next step.
using OnStep = std::function<void(std::size_t, std::size_t, const std::string&)>;

struct MeasuredRow {
  std::string allocator, label;
  alloc::Frees frees = alloc::Frees::individually;
  bool lower_bound = false;
  Status status = Status::skipped;
  std::string reason;  // one line; may be empty if the status is ok
  double seconds = 0;  // wall time of all runs

  void set_allocator(const alloc::AllocatorTraits& traits);
  bool is_measured() const { return status == Status::ok || status == Status::incomplete; }
  // "AtomicMalloc *": a lower bound.
  std::string marked_label() const { return label + (lower_bound ? " *" : ""); }
};

// "allocator", "label", "frees", "lower_bound".
void describe_allocator(JsonFields& fields, MeasuredRow& row);
// "status", "reason", "seconds".
void describe_outcome(JsonFields& fields, MeasuredRow& row);

// Why an allocator cannot run on the device in a pool of this size; "" if it can.
std::string reason_not_to_run(const registry::RegisteredAllocator& entry,
                              const simt::DeviceInfo& device, std::uint64_t pool_bytes);

}  // namespace heapwood::bench
