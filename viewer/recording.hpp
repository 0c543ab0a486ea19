// SPDX-License-Identifier: MIT
// A recorded build as the heap map shows it: the lifetime of every block, and curves over time.
// Built event by event, so that it can be shown while the build runs. A workload in rounds
// (trace_recording.hpp) is shown at the ends of its rounds only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "registry/registry.hpp"
#include "workloads/block_history.hpp"

namespace heapwood::viewer {

class Recording {
 public:
  Recording(std::string scene, const registry::RegisteredAllocator& entry, std::string device,
            std::uint64_t pool_bytes);
  // Adds the next events, in order: a million take half a second.
  void add(std::span<const alloc::RecordedEvent> lines);
  // Adds the events of a round of updates; the first one fills an empty pool.
  void add_round(std::span<const alloc::RecordedEvent> lines);
  void finish_rounds(std::uint64_t refused_requests);
  // Of a program trace, whose events have been added.
  void finish_trace(std::uint64_t all_requests, std::uint64_t refused_requests);
  // Adds what is known only at the end of the build. All recorded events have been added.
  void finish(const kdtree::RecordedRun& run);

  std::string scene, allocator, label, device;
  alloc::Frees frees = alloc::Frees::individually;
  bool in_pool = true;
  bool is_trace = false;  // of a program trace
  std::uint64_t pool_bytes = 0;
  std::uint32_t events = 0;           // time is counted in events, from 0 to this
  std::vector<std::uint32_t> rounds;  // their last times; empty for a build
  std::uint64_t events_in_all = 0;    // more than `events` if the recording was cut off
  bool finished = false;
  bool incomplete = false;  // the pool was exhausted
  std::uint64_t reach = 0;  // end of the highest block
  std::uint64_t largest_block = 0;
  std::uint32_t bytes_per_ref = 0;     // of a build's arrays; 0: no build
  std::vector<alloc::Region> regions;  // the allocator's walk after the build
  alloc::RequestStats requests;
  alloc::Fragmentation at_end;

  // A node that was split or became a leaf.
  struct NodeEvent {
    std::uint32_t time = 0, refs = 0;
    std::uint8_t depth = 0;
    bool leaf = false;
  };
  // The node whose refs a block holds: the first one of that many refs that was finished while the
  // block was in use. nullptr if the recording has none.
  const NodeEvent* node_of(const workloads::Block& block) const;

  const std::vector<workloads::Block>& blocks() const { return builder_.history().blocks; }
  const workloads::BlockHistory& history() const { return builder_.history(); }
  // Bytes that a request of this size occupied, estimated from the distances between blocks.
  std::uint64_t served_bytes(std::uint64_t requested) const {
    return std::max(builder_.served_bytes(requested), requested);
  }

  struct Level {
    std::uint32_t inner = 0, leaves = 0;  // nodes built up to the time
  };
  struct Point {
    std::uint32_t time = 0;
    workloads::Gaps pool;  // between blocks in the pool
    std::uint64_t used_bytes = 0, high_water_bytes = 0;
    // Mean of (served - requested) / served over live blocks; served:
    // HistoryBuilder::served_bytes(). Known after the build.
    std::optional<double> internal;
    std::array<Level, 64> levels{};
  };
  // Points of the curves: `min_points` to twice as many at equal distances, and one for the end.
  static constexpr std::size_t min_points = 400;
  std::vector<Point> points;
  std::uint64_t high_water_bytes = 0;
  unsigned depth = 0;  // of the deepest node

  // The last point of the curves at or before a time.
  const Point& at(std::uint32_t time) const;
  // Places are times from 0 to 1: shares of the events, or of the rounds.
  std::uint32_t time_at(double place) const;
  double place_of(std::uint32_t time) const;
  double place_step() const;  // of one event or round
  // Where external fragmentation below the highest address was worst, with blocks in use.
  double worst_place() const;
  bool in_rounds() const { return !rounds.empty(); }
  unsigned round_of(std::uint32_t time) const;  // 0: before the first update
  // "event 12 of 3,456", "round 3 of 60"
  std::string time_text(std::uint32_t time) const;

 private:
  std::vector<Point>::const_iterator after(std::uint32_t time) const;  // the first later point
  void note_point();
  void find_internal();

  workloads::HistoryBuilder builder_;
  std::uint32_t stride_ = 1;  // events between points
  std::uint64_t used_ = 0;
  std::array<Level, 64> levels_{};
  std::vector<NodeEvent> nodes_;  // by time
};

Recording make_recording(const std::string& scene, const registry::RegisteredAllocator& entry,
                         const std::string& device, std::uint64_t pool_bytes,
                         const kdtree::RecordedRun& run, std::uint32_t bytes_per_ref = 0);

// Shares of the recording's events, from 0 to 1, up to the precision of its points: when the first
// and the last node of a level was finished, and a quarter, half and three quarters of them.
struct LevelSpan {
  unsigned depth = 0;
  std::uint32_t nodes = 0;
  double first = 0, quarter = 0, half = 0, three_quarters = 0, last = 0;
};
// One per level with nodes, from the root.
std::vector<LevelSpan> level_spans(const Recording& recording);

// Time is counted in events: one event is one microsecond. Each recording is a process. Slices that
// overlap in time are on different tracks.
std::string chrome_trace(const std::vector<std::shared_ptr<const Recording>>& recordings);

inline constexpr std::size_t max_exported_blocks = 20000, max_exported_tracks = 64;

}  // namespace heapwood::viewer
