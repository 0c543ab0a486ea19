// SPDX-License-Identifier: MIT
#include "bench/program/allocator_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/build_settings.hpp"
#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"

namespace heapwood::bench {

namespace {

using Entries = std::vector<const registry::RegisteredAllocator*>;

struct OldOption {
  const char *option, *key;
};
constexpr OldOption old_options[] = {
    {"--page-bytes", "page"},   {"--smallest-chunk", "smallest"}, {"--presplit", "presplit"},
    {"--chunk-bytes", "chunk"}, {"--queue-slots", "slots"},       {"--chunk-search", "search"},
    {"--large", "large"},
};
std::map<std::string, std::string> old_values;  // by key; several values of a sweep

const registry::RegisteredAllocator& find_known(const std::string& name) {
  if (const registry::RegisteredAllocator* entry = registry::find(name)) return *entry;
  std::vector<std::string> ids;
  for (const registry::RegisteredAllocator& entry : registry::allocators())
    ids.emplace_back(entry.traits->id);
  throw Error(Exit::usage,
              fmt::format("unknown allocator '{}': use one of {}", name, joined(ids, " ")));
}

// The allocator with the values of old options, one for each value of a list.
Entries with_old_values(const registry::RegisteredAllocator& plain) {
  Entries entries{&plain};
  for (const alloc::AllocatorSetting& setting : plain.settings()) {
    const auto old = old_values.find(setting.key);
    if (old == old_values.end() || !registry::is_default(setting, plain.options)) continue;
    Entries more;
    for (const registry::RegisteredAllocator* entry : entries) {
      const std::string id = entry->traits->id;
      for (const std::string& value : split(old->second, ','))
        more.push_back(&find_known(fmt::format(
            "{}{}{}={}", id, id.find(':') == std::string::npos ? ":" : ",", setting.key, value)));
    }
    entries = more;
  }
  return entries;
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

void take_old_option(const OldOption& old, std::string text) {
  std::string example;
  if (text == "sweep") text = "4K,8K,16K,64K,256K,1M,4M";
  for (const registry::RegisteredAllocator& entry : registry::allocators()) {
    for (const alloc::AllocatorSetting& setting : entry.settings()) {
      if (std::string(old.key) != setting.key) continue;
      alloc::AllocatorOptions options;
      for (const std::string& value : split(text, ',')) {
        if (!registry::set_value(setting, options, value))
          throw_unexpected(old.option, value, registry::values_text(setting));
      }
      if (example.empty())
        example = fmt::format("{}:{}={}", entry.traits->id, old.key, split(text, ',').front());
    }
  }
  old_values[old.key] = text;
  note(
      fmt::format("{} will be removed: write --allocator {} ('heapwood list allocators ID' has the "
                  "settings)",
                  old.option, example));
}

}  // namespace

const registry::RegisteredAllocator& find_allocator(const std::string& name) {
  const registry::RegisteredAllocator& entry = *with_old_values(find_known(name)).front();
  refuse_large(entry);
  return entry;
}

Entries find_allocators(const std::string& list, bool for_stress) {
  Entries entries;
  const auto add = [&](const registry::RegisteredAllocator& plain) {
    for (const registry::RegisteredAllocator* entry : with_old_values(plain)) {
      if (!for_stress) refuse_large(*entry);
      if (std::find(entries.begin(), entries.end(), entry) == entries.end())
        entries.push_back(entry);
    }
  };
  if (list == "all") {
    for (const registry::RegisteredAllocator& entry : registry::allocators()) add(entry);
  } else {
    for (const std::string& name : names_of(list)) add(find_known(name));
  }
  return entries;
}

void add_old_allocator_options(CommandOptions& command) {
  old_values.clear();
  for (const OldOption& old : old_options) {
    command.parsed(
        old.option, [old](const std::string& text) { take_old_option(old, text); }, "", "", "");
    command.hide(old.option);
  }
}

}  // namespace heapwood::bench
