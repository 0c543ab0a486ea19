// SPDX-License-Identifier: MIT
// Recorded requests as the heap map needs them: the lifetime of every block, and curves over time.
#pragma once

#include <array>
#include <cmath>

#include "alloc/recording/program_trace.hpp"
#include "bench/build_settings.hpp"
#include "registry/registry.hpp"
#include "viewer/theme.hpp"
#include "workloads/block_history.hpp"

namespace heapwood::viewer {

class Recording {
 public:
  // Processes the events in order; a million take half a second.
  Recording(std::string scene, const registry::RegisteredAllocator& entry, std::string device,
            std::uint64_t pool_bytes, std::span<const alloc::RecordedEvent> lines);
  // Makes the recording of a build.
  Recording(std::string scene, const registry::RegisteredAllocator& entry, std::string device,
            std::uint64_t pool_bytes, const kdtree::RecordedRun& run);

  std::string scene, allocator, label, device;
  alloc::Frees frees = alloc::Frees::individually;
  bool in_pool = true;
  bool is_trace = false;  // whether it is of a program trace
  std::uint64_t pool_bytes = 0;
  std::uint32_t events = 0;            // number of events; times run from 0 to this
  std::uint64_t events_in_all = 0;     // more than `events` if the recording was cut off
  std::uint64_t reach = 0;             // end of the highest block of all times
  std::vector<alloc::Region> regions;  // the allocator's regions after the build
  alloc::RequestStats requests;

  const std::vector<workloads::Block>& blocks() const { return builder_.history().blocks; }
  const workloads::BlockHistory& history() const { return builder_.history(); }

  struct Point {
    std::uint32_t time = 0;
    workloads::Gaps pool;  // gaps between blocks in the pool
    std::uint64_t used_bytes = 0, high_water_bytes = 0;
  };
  // Points of the curves: `min_points` to twice as many, at equal distances, and one for the end.
  static constexpr std::size_t min_points = 400;
  std::vector<Point> points;
  std::uint64_t high_water_bytes = 0;

  // The last point of the curves at or before a time.
  const Point& at(std::uint32_t time) const;
  // The time at a fraction of the recording, from 0 to 1.
  std::uint32_t time_at(double place) const {
    return static_cast<std::uint32_t>(std::llround(place * events));
  }
  double place_of(std::uint32_t time) const { return events ? time / (1.0 * events) : 0; }
  // The moment when the pool's largest hole is smallest: then a large request is most likely to be
  // refused.
  const Point& tightest() const;
  std::uint64_t largest_request() const { return tightest().pool.largest_gap_bytes; }
  std::string time_text(std::uint32_t time) const;  // "event 12 of 3,456"

 private:
  std::vector<Point>::const_iterator after(std::uint32_t time) const;  // the first later point
  void add(const alloc::RecordedEvent& line);
  void note_point();

  workloads::HistoryBuilder builder_;
  std::uint32_t stride_ = 1;  // number of events between points
  std::uint64_t used_ = 0;
};

// Whether a file is a program trace, by its beginning or by a name that ends in .trace.
bool is_program_trace(const std::string& path);

// Makes recordings from a program trace (docs/workloads.md). A trace has no addresses, so its
// requests are served once more by an allocator, one at a time in their recorded order; the map at
// each event is then the pool's real state. Contention is not shown.
class TraceRecorder {
 public:
  using Allocators = std::vector<const registry::RegisteredAllocator*>;
  // Reads the file; throws Error{Exit::scene} if it is not a valid trace. The pool has the size
  // that `heapwood replay` gives to these allocators.
  TraceRecorder(const std::string& path, const bench::PoolSize& pool, const Allocators& allocators,
                const simt::DeviceInfo& device, double seconds);
  const std::string& name() const { return name_; }
  // A warning that says what of the program's run the trace leaves out; "" for nothing.
  const std::string& warning() const { return warning_; }
  // Throws Error{Exit::usage} for an allocator that cannot serve the trace.
  std::shared_ptr<const Recording> record(const registry::RegisteredAllocator& entry) const;

 private:
  std::string name_, warning_;
  simt::DeviceInfo device_;
  double seconds_;
  alloc::ProgramTrace trace_;
  std::uint64_t pool_bytes_ = 0;
};

// The pool as a picture: addresses row by row in cells, coloured by contents at one time.

struct HeapCell {
  std::uint64_t used_bytes = 0;  // bytes of live blocks
  // Bytes of freed blocks, if the allocator never reuses memory.
  std::uint64_t abandoned_bytes = 0;
  bool touched = false;  // a block has been allocated here up to the time
};

struct HeapMap {
  unsigned columns = 0, rows = 0;
  std::uint64_t bytes = 0;  // number of bytes shown, from the pool's base
  std::uint64_t cell_bytes = 0;
  // Requested bytes, and number, of the blocks that occupy memory.
  std::uint64_t taken_bytes = 0, taken_blocks = 0;
  // The largest free region below the highest address reached up to this time.
  std::uint64_t hole_begin = 0, hole_bytes = 0;
  std::uint32_t time = 0;
  std::vector<HeapCell> cells;

  // `columns`, `rows`: about how many. `shown`: number of bytes shown, from the pool's base.
  HeapMap(const Recording& recording, std::uint32_t time, unsigned columns, unsigned rows,
          std::uint64_t shown);
  std::vector<gl::Rgba8> colours(gl::Rgba8 used = colour::used) const;
  struct Run {
    std::uint64_t first = 0, count = 0;  // range of cells
  };
  // The cells that lie in the largest free region; none if it is smaller than a cell.
  Run hole_cells() const;

 private:
  void measure(const Recording& recording);
};

// The lowest block that overlaps [begin, end), or nullptr.
const workloads::Block* first_block(const Recording& recording, std::uint32_t time,
                                    std::uint64_t begin, std::uint64_t end);

// State of the heap map: one or two recordings, and the time.
struct HeapView {
  std::vector<std::shared_ptr<const Recording>> recordings;
  bool playing = false;
  double place = 1;  // time in the recording, 0 to 1

  struct Drawn {  // the latest map
    std::optional<HeapMap> map;
    gl::Texture texture;
    const Recording* of = nullptr;
    gl::Rgba8 shade{};            // of the bytes in use
    std::array<float, 4> area{};  // where it was drawn: corner, width, height
  };
  Drawn drawn[2];

  static constexpr double seconds_to_play = 10;

  void show(std::vector<std::shared_ptr<const Recording>> latest);
  void clear() { *this = {}; }
  // Plays or pauses; at the end, and where playing has ended, it plays from the start.
  void toggle_play();
  // Time passes. If the pool is empty at the end, playing ends at the worst moment instead.
  void play(double seconds);
  void go_to_worst();  // the tightest moment of the first recording
  std::uint32_t time(const Recording& recording) const { return recording.time_at(place); }
  // What every map shows, from the pool's base, so that maps side by side have the same scale.
  std::uint64_t shown_bytes() const;

 private:
  std::optional<double> played_to_;  // the place after playing to the end
};

}  // namespace heapwood::viewer
