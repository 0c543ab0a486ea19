// SPDX-License-Identifier: MIT
// A recorded build as the heap map shows it: the life of every block, and curves over time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "alloc/recording.hpp"
#include "engine/engine.hpp"

namespace heapwood::viewer {

struct Recording {
  std::string scene, allocator, label;
  alloc::Frees frees = alloc::Frees::individually;
  bool in_pool = true;
  std::uint64_t pool_bytes = 0;
  std::uint32_t events = 0;         // time runs from 0 to this
  std::uint64_t events_in_all = 0;  // more where the recording was cut off
  bool incomplete = false;          // the pool was exhausted
  alloc::Replay replay;
  std::uint64_t reach = 0;  // end of the last block that ever was
  std::uint64_t largest_block = 0;
  std::vector<alloc::Region> regions;  // the allocator's own walk at the end
  alloc::RequestStats requests;
  alloc::Fragmentation at_end;

  static constexpr std::size_t curve_points = 400;
  std::vector<std::uint32_t> times;  // of the curves
  std::vector<alloc::Gaps> curve;
  std::uint64_t high_water_bytes = 0;  // over all times, not only those of the curve
  // Nodes made up to each of `times`, by depth: inner nodes and leaves.
  struct Level {
    std::uint32_t inner = 0, leaves = 0;
  };
  std::vector<std::array<Level, 64>> levels;
  unsigned depth = 0;  // of the deepest node

  // Index of the curve's point at or before a time.
  std::size_t point(std::uint32_t time) const;
};

// Replays the events: half a second for a million.
Recording make_recording(const std::string& scene, const engine::Entry& entry, std::uint64_t pool_bytes,
                         const kdtree::RecordedRun& run);

}  // namespace heapwood::viewer
