// SPDX-License-Identifier: MIT
#include "bench/program/allocator_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/build_settings.hpp"
#include "bench/results/format.hpp"

namespace heapwood::bench {

namespace {

using Entries = std::vector<const registry::RegisteredAllocator*>;

const registry::RegisteredAllocator& find_known(const std::string& name) {
  if (const registry::RegisteredAllocator* entry = registry::find(name)) return *entry;
  std::vector<std::string> ids;
  for (const registry::RegisteredAllocator& entry : registry::allocators())
    ids.emplace_back(entry.traits->id);
  throw Error(Exit::usage,
              fmt::format("unknown allocator '{}': use one of {}", name, joined(ids, " ")));
}

void refuse_large(const registry::RegisteredAllocator& entry) {
  if (entry.options.large_backend != alloc::LargeBackend::buddy)
    throw Error(Exit::usage,
                fmt::format("{}: only 'heapwood stress' has large=builtin; the published forms of "
                            "'heapwood list allocators' have it everywhere",
                            entry.traits->id));
}

// An item with '=' that begins with no id is a setting of the item before it.
std::vector<std::string> names_of(const std::string& list) {
  std::vector<std::string> names;
  for (const std::string& item : split(list, ',')) {
    const bool is_setting = !names.empty() && item.find('=') != std::string::npos &&
                            !registry::find(item.substr(0, item.find(':')));
    if (is_setting)
      names.back() += "," + item;
    else
      names.push_back(item);
  }
  return names;
}

}  // namespace

const registry::RegisteredAllocator& find_allocator(const std::string& name) {
  const registry::RegisteredAllocator& entry = find_known(name);
  refuse_large(entry);
  return entry;
}

Entries find_allocators(const std::string& list, bool for_stress) {
  Entries entries;
  const auto add = [&](const registry::RegisteredAllocator& entry) {
    if (!for_stress) refuse_large(entry);
    if (std::find(entries.begin(), entries.end(), &entry) == entries.end())
      entries.push_back(&entry);
  };
  if (list == "all") {
    for (const registry::RegisteredAllocator& entry : registry::allocators()) add(entry);
  } else {
    for (const std::string& name : names_of(list)) add(find_known(name));
  }
  return entries;
}

}  // namespace heapwood::bench
