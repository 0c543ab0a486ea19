// SPDX-License-Identifier: MIT
// The settings of a build, and the parsers of values on the command line. A parser throws
// Error{Exit::usage} with the option's value and the expected form.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/results/format.hpp"
#include "kdtree/build/build.hpp"
#include "registry/registry.hpp"
#include "simt/device.hpp"
#include "simt/error.hpp"

namespace heapwood::bench {

using Allocator = registry::RegisteredAllocator;
using Allocators = std::vector<const Allocator*>;

struct PoolSize {
  enum class Kind { automatic, bytes, root_multiple, live_multiple };
  Kind kind = Kind::automatic;
  bool for_speed = true;  // automatic pool: adds the memory that allocators cache per warp
  std::size_t bytes = 0;
  double multiple = 0;        // factor of the root node, or of the peak bytes in use
  std::string text = "fast";  // as given on the command line
  bool operator==(const PoolSize& other) const { return text == other.text; }
};

// All parameters of a build besides scene, allocator and device.
struct BuildSettings {
  kdtree::RefKind refs = kdtree::RefKind::clipped;
  const kdtree::CostPreset* prefer = kdtree::cost_presets;  // preset of `costs`
  kdtree::SahCosts costs = prefer->costs;
  PoolSize pool;
  int runs = 5;
  bool keep_degenerate = false;
  double timeout = 60;  // seconds for one build with its restarts; in trace, also for a launch
  alloc::AllocatorOptions allocator;  // settings of single allocators (AllocatorSetting)
};

struct ImageSize {
  unsigned width = 0, height = 0;
};

// Throws Error{Exit::usage}: names the option or kind of value, its text and what was expected.
[[noreturn]] void throw_unexpected(const std::string& what, const std::string& text,
                                   const std::string& expected);
std::size_t parse_bytes(const std::string& text);  // "4096", "512M", "1.5G", "64KiB"
// Parses "1000", "100K", "1.5M" (powers of 1000): a whole number from 1 to max.
std::uint32_t parse_count(const std::string& option, const std::string& text, std::uint32_t max);
// Parses "fast", "auto", bytes, "200x" or "live:4".
PoolSize parse_pool(const std::string& text,
                    const std::string& multiple_of = "the root node, as in 200x");
std::vector<PoolSize> parse_pools(const std::string& list);  // separated by commas, once each
// Throws Error{Exit::usage} for live:N: N multiplies a build's high-water mark.
void refuse_live_pool(const PoolSize& pool, const std::string& command);
ImageSize parse_image_size(const std::string& text);              // "1920x1080"
unsigned parse_axis(const std::string& text);                     // "x", "y", "z"
kdtree::RefKind parse_refs(const std::string& text);              // "clipped", "ids", "boxes"
const kdtree::CostPreset& parse_prefer(const std::string& text);  // "balanced"
std::vector<std::string> split(const std::string& text, char separator);
// Parses a list separated by commas; each value is returned once.
template <class Parse>
auto parse_list(const std::string& list, Parse parse) {
  std::vector<decltype(parse(list))> values;
  for (const std::string& text : split(list, ',')) {
    auto value = parse(text);
    if (std::ranges::find(values, value) == values.end()) values.push_back(std::move(value));
  }
  return values;
}

// "cpu: AMD EPYC, 2 threads", "cuda:0: NVIDIA H200, 132 multiprocessors, driver ...".
std::string device_text(const simt::DeviceInfo& device);
// Throws Error{Exit::device} if the allocator was not compiled for the device.
const registry::CompiledAllocator& compiled_for(const Allocator& entry,
                                                const simt::DeviceInfo& device);

template <class Value, std::size_t n>
const char* name_in(const std::pair<const char*, Value> (&names)[n], Value value) {
  for (const auto& [text, known] : names) {
    if (known == value) return text;
  }
  return "";
}

// Finds a name. Throws Error{Exit::usage} that lists the names, after `more`.
template <class Value, std::size_t n>
Value find_in(const std::pair<const char*, Value> (&names)[n], const std::string& option,
              const std::string& text, const std::string& more = "") {
  for (const auto& [name, value] : names) {
    if (text == name) return value;
  }
  throw Error(Exit::usage, option + " '" + text + "': use " + more +
                               joined(names, ", ", &std::pair<const char*, Value>::first));
}

}  // namespace heapwood::bench
