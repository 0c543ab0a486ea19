// SPDX-License-Identifier: MIT
// Compiled once per registry: cmake/registry.cmake makes registry_table.inc from registry.def
// files.
#include "registry/registry.hpp"

#include <bit>
#include <charconv>
#include <map>
#include <mutex>
#include <sstream>
#include <vector>

#include "registry/erased.hpp"  // used by the table

namespace heapwood::registry {

#include "registry_table.inc"

namespace {

std::vector<std::string> words_of(const alloc::AllocatorSetting& setting) {
  std::istringstream text(setting.words);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

std::string number_text(std::size_t value, bool is_bytes) {
  for (int power = 3; is_bytes && value != 0 && power > 0; --power) {
    const std::size_t unit = std::size_t{1} << 10 * power;
    if (value % unit == 0) return std::to_string(value / unit) + "-KMG"[power];
  }
  return std::to_string(value);
}

// An allocator with settings, as stored: its name and label are composed.
struct Configured {
  std::string name, label;
  alloc::AllocatorTraits traits;
  RegisteredAllocator entry;
};

[[noreturn]] void refuse(const RegisteredAllocator& entry, const std::string& item) {
  const std::string id = entry.traits->id;
  std::string known;
  for (const alloc::AllocatorSetting& setting : entry.settings())
    known += (known.empty() ? "" : "; ") + std::string(setting.key) + "=" + values_text(setting);
  throw Error(Exit::usage, id + ": setting '" + item +
                               "': " + (known.empty() ? id + " has no settings" : "use " + known));
}

const RegisteredAllocator* configured(const RegisteredAllocator& plain, const std::string& text) {
  alloc::AllocatorOptions options;
  std::istringstream items(text);
  std::string item;
  bool has_items = false;
  for (; std::getline(items, item, ','); has_items = true) {
    const std::size_t equals = std::min(item.find('='), item.size());
    bool known = false;
    for (const alloc::AllocatorSetting& setting : plain.settings())
      known |= item.substr(0, equals) == setting.key && equals < item.size() &&
               set_value(setting, options, item.substr(equals + 1));
    if (!known) refuse(plain, item);
  }
  if (!has_items) refuse(plain, "");
  std::string chosen;
  for (const alloc::AllocatorSetting& setting : plain.settings()) {
    if (!is_default(setting, options))
      chosen += (chosen.empty() ? "" : ",") + std::string(setting.key) + "=" +
                value_text(setting, options);
  }
  if (chosen.empty()) return &plain;
  static std::mutex mutex;
  static std::map<std::string, Configured> all;  // by name
  const std::string name = std::string(plain.traits->id) + ":" + chosen;
  const std::scoped_lock lock(mutex);
  Configured& one = all[name];
  if (one.name.empty()) {
    one = {name, std::string(plain.traits->label) + " " + chosen, *plain.traits, plain};
    one.traits.id = one.name.c_str();
    one.traits.label = one.label.c_str();
    one.entry.traits = &one.traits;
    one.entry.options = options;
  }
  return &one.entry;
}

}  // namespace

std::span<const RegisteredAllocator> allocators() { return table; }

alloc::AllocatorOptions RegisteredAllocator::options_over(alloc::AllocatorOptions given) const {
  for (const alloc::AllocatorSetting& setting : settings()) {
    if (!is_default(setting, options)) setting.set(given, setting.get(options));
  }
  return given;
}

const RegisteredAllocator* find(const std::string& name) {
  const std::size_t colon = name.find(':');
  std::string id = name.substr(0, colon);
  if (id == "heapwood-pages") id = "heapwood-general";  // its name in earlier results
  for (const RegisteredAllocator& entry : table) {
    if (id != entry.traits->id) continue;
    return colon == std::string::npos ? &entry : configured(entry, name.substr(colon + 1));
  }
  return nullptr;
}

std::string values_text(const alloc::AllocatorSetting& setting) {
  if (!setting.words)
    return (setting.is_bytes ? "a power of two from " : "a number from ") +
           number_text(setting.min, setting.is_bytes) + " to " +
           number_text(setting.max, setting.is_bytes);
  std::string text;
  for (const std::string& word : words_of(setting)) text += (text.empty() ? "" : " or ") + word;
  return text;
}

std::string value_text(const alloc::AllocatorSetting& setting,
                       const alloc::AllocatorOptions& options) {
  const std::size_t value = setting.get(options);
  return setting.words ? words_of(setting).at(value) : number_text(value, setting.is_bytes);
}

bool set_value(const alloc::AllocatorSetting& setting, alloc::AllocatorOptions& options,
               const std::string& text) {
  std::size_t value = 0;
  if (setting.words) {
    const std::vector<std::string> words = words_of(setting);
    while (value < words.size() && words[value] != text) ++value;
    if (value == words.size()) return false;
  } else {
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    const std::string unit(rest, end);
    const std::size_t power = unit.empty() ? 0 : std::string("kmgKMG").find(unit) % 3 + 1;
    if (error != std::errc{} || unit.size() > 1 ||
        (!unit.empty() &&
         (!setting.is_bytes || std::string("kmgKMG").find(unit) == std::string::npos)))
      return false;
    if (value > setting.max) return false;
    value <<= 10 * power;
    if (value < setting.min || value > setting.max) return false;
    if (setting.is_bytes && !std::has_single_bit(value)) return false;
  }
  setting.set(options, value);
  return true;
}

bool is_default(const alloc::AllocatorSetting& setting, const alloc::AllocatorOptions& options) {
  return setting.get(options) == setting.get({});
}

}  // namespace heapwood::registry
