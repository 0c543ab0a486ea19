// SPDX-License-Identifier: MIT
#include "bench/results/result.hpp"

#include <fmt/format.h>

#include <cmath>

namespace heapwood::bench {

const char* name(Status status) {
  constexpr const char* names[] = {"ok", "skipped", "incomplete", "failed"};
  return names[static_cast<int>(status)];
}

const char* name(alloc::Frees frees) {
  switch (frees) {
    case alloc::Frees::never:
      return "never";
    case alloc::Frees::all_at_once:
      return "all at once";
    case alloc::Frees::individually:
      break;
  }
  return "individually";
}

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
  fields.one_of("frees", row.frees, {Frees::never, Frees::all_at_once, Frees::individually}, name);
  fields("lower_bound", row.lower_bound);
}

void describe_outcome(JsonFields& fields, MeasuredRow& row) {
  fields.one_of("status", row.status,
                {Status::ok, Status::skipped, Status::incomplete, Status::failed}, name);
  fields.unless_empty("reason", row.reason);
  row.seconds = std::round(row.seconds * 1e3) / 1e3;
  fields.unless_empty("seconds", row.seconds);
}

void describe(JsonFields& fields, registry::CallUse& calls) {
  const auto one = [&](const char* key, registry::KernelUse& use) {
    fields.within(key, [&](JsonFields& call) {
      call("registers", use.registers);
      call("stack_bytes", use.local_bytes);
    });
  };
  one("malloc", calls.malloc);
  one("free", calls.free);
  one("both", calls.both);
  if (!fields.has("own", calls.own.has_value())) return;
  if (!calls.own) calls.own.emplace();
  one("own", *calls.own);
}

std::string registers_text(const registry::CallUse& use) {
  return fmt::format("{} / {} / {}", use.malloc.registers, use.free.registers, use.both.registers);
}

std::array<std::string, 3> register_figures(const std::optional<registry::CallUse>& use) {
  if (!use) return {missing, missing, missing};
  return {std::to_string(use->malloc.registers), std::to_string(use->free.registers),
          std::to_string(use->both.registers)};
}

std::string exhaustion_text(const Result& result) {
  std::string text =
      fmt::format("{}: pool of {} exhausted, tree incomplete: requested {}", result.allocator,
                  bytes_text(result.pool_bytes.value_or(0)), bytes_text(result.refused_bytes));
  if (result.requests && result.pool_bytes) {
    const std::uint64_t used = std::min(result.requests->high_water_bytes, *result.pool_bytes);
    text += fmt::format(", max used {}, free {}", bytes_text(used),
                        bytes_text(*result.pool_bytes - used));
  }
  if (result.at_end)
    text += fmt::format(", largest free region {} after the build",
                        bytes_text(result.at_end->largest_free_bytes));
  if (result.settings.pool.kind == PoolSize::Kind::automatic) {
    return text +
           "; no larger pool would help or fit in the device's memory: use another allocator or "
           "--refs ids";
  }
  return text + "; use --pool auto or a larger --pool";
}

}  // namespace heapwood::bench
