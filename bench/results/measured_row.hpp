// SPDX-License-Identifier: MIT
// What the rows of all measurements have in common: the allocator, and how its measurement went.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <string>

#include "bench/results/json_fields.hpp"
#include "registry/registry.hpp"

namespace heapwood::bench {

enum class Status { ok, skipped, incomplete, failed };
const char* name(Status status);
const char* name(alloc::Frees frees);

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
void describe(JsonFields& fields, registry::CallUse& calls);

std::string registers_text(const registry::CallUse& use);  // "18 / 14 / 22": malloc, free, both
// The registers of malloc, of free and of both, a cell each; `missing` if not known.
std::array<std::string, 3> register_figures(const std::optional<registry::CallUse>& use);

}  // namespace heapwood::bench
