// SPDX-License-Identifier: MIT
#include "bench/measured_row.hpp"

#include <fmt/format.h>

#include <cmath>

#include "bench/results/format.hpp"
#include "bench/results/json_report.hpp"
#include "simt/device.hpp"

namespace heapwood::bench {

void MeasuredRow::set_allocator(const alloc::AllocatorTraits& traits) {
  allocator = traits.id;
  label = traits.label;
  frees = traits.frees;
  lower_bound = traits.lower_bound;
}

void describe_allocator(JsonFields& fields, MeasuredRow& row) {
  using alloc::Frees;
  fields("allocator", row.allocator);
  fields("label", row.label);
  describe_name(fields, "frees", row.frees,
                {Frees::never, Frees::all_at_once, Frees::individually});
  fields("lower_bound", row.lower_bound);
}

void describe_outcome(JsonFields& fields, MeasuredRow& row) {
  describe_name(fields, "status", row.status, all_statuses);
  fields.unless_empty("reason", row.reason);
  row.seconds = std::round(row.seconds * 1e3) / 1e3;
  fields("seconds", row.seconds);
}

std::string reason_not_to_run(const registry::RegisteredAllocator& entry,
                              const simt::DeviceInfo& device, std::uint64_t pool_bytes) {
  if (entry.on(device.id.kind) == nullptr) return "not compiled for " + device.key;
  if (pool_bytes < entry.traits->smallest_pool)
    return fmt::format("needs a pool of at least {}", bytes_text(entry.traits->smallest_pool));
  return "";
}

}  // namespace heapwood::bench
