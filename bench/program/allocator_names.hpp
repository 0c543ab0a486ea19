// SPDX-License-Identifier: MIT
// Allocators by name, as in --allocator and --allocators: `ouroboros-c-s:chunk=4K,search=lowest`.
#pragma once

#include <string>
#include <vector>

#include "bench/program/command_options.hpp"
#include "registry/registry.hpp"

namespace heapwood::bench {

// The default of --allocator: the fastest one that frees (docs/performance.md).
inline constexpr const char* default_allocator = "heapwood";

// Throws Error{Exit::usage} that lists the ids or the settings, also for a setting that only
// `heapwood stress` heeds.
const registry::RegisteredAllocator& find_allocator(const std::string& name);
// "all" or names separated by commas; in the given order, without duplicates.
std::vector<const registry::RegisteredAllocator*> find_allocators(const std::string& list,
                                                                  bool for_stress = false);

// The options of earlier versions for single settings, such as --page-bytes: not shown by --help.
// They apply to every allocator that has the setting, and a note names the new form.
void add_old_allocator_options(CommandOptions& command);

}  // namespace heapwood::bench
