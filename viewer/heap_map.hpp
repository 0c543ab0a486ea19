// SPDX-License-Identifier: MIT
// The pool as a picture: addresses row by row in cells, coloured by their contents at one time of a
// recorded build.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "alloc/recording/live_recording.hpp"
#include "viewer/gl.hpp"
#include "viewer/recording.hpp"

namespace heapwood::viewer {

enum class HeapColours : std::uint8_t { state, size, age };

struct HeapCell {
  std::uint64_t used_bytes = 0;  // of live blocks
  // Of blocks freed to an allocator that never reuses memory.
  std::uint64_t abandoned_bytes = 0;
  bool marked = false;         // by its size
  bool touched = false;        // a block has been allocated here up to the time
  std::uint64_t largest = 0;   // size of the largest block in the cell
  std::uint32_t youngest = 0;  // birth of the youngest live block
};

struct HeapMap {
  unsigned columns = 0, rows = 0;
  std::uint64_t bytes = 0;  // shown, from the pool's base
  std::uint64_t cell_bytes = 0;
  // Requested bytes and number of the blocks that occupy memory.
  std::uint64_t taken_bytes = 0, taken_blocks = 0;
  // The largest free region of the whole pool, or below the highest address reached up to the time.
  std::uint64_t hole_begin = 0, hole_bytes = 0;
  std::uint32_t time = 0;
  std::vector<HeapCell> cells;
  // Blocks in use by size: of 2^k bytes and less, more than 2^(k-1).
  std::array<std::uint32_t, 40> by_size{};

  // About this many columns and rows. `shown`: bytes from the pool's base. `whole`: the hole is the
  // one of the whole pool. `marked`: sizes of blocks whose cells are drawn in white.
  HeapMap(const Recording& recording, std::uint32_t time, unsigned columns, unsigned rows,
          std::uint64_t shown, bool whole, std::span<const std::uint64_t> marked = {});
  std::vector<gl::Rgba8> colours(const Recording& recording, HeapColours by) const;
  struct Run {
    std::uint64_t first = 0, count = 0;  // cells
  };
  // The cells that lie in the hole; none if it is smaller than a cell.
  Run hole_cells() const;

 private:
  void measure(const Recording& recording, bool whole);
};

// The lowest block that overlaps [begin, end), or nullptr.
const workloads::Block* first_block(const Recording& recording, std::uint32_t time,
                                    std::uint64_t begin, std::uint64_t end);

// A build that is being recorded, on a device whose memory the host can read meanwhile.
struct LiveBuild {
  std::shared_ptr<alloc::LiveRecording> lines;
  std::string scene, device;
  const registry::RegisteredAllocator* allocator = nullptr;
  std::uint64_t pool_bytes = 0;
  std::size_t index = 0;  // among the maps shown side by side
};

// The part of the time axis that the plots of the heap map show. Places are times from 0 to 1, as
// in Recording; shares are positions in the plot, from 0 to 1.
struct PlotRange {
  // A long recording has 400 points or more, of which four are then still shown.
  static constexpr double min_span = 0.01;

  double from = 0, to = 1;

  double span() const { return to - from; }
  bool is_whole() const { return from <= 0 && to >= 1; }
  bool contains(double place) const { return place >= from && place <= to; }
  double place_at(double share) const { return from + share * span(); }
  double share_of(double place) const { return (place - from) / span(); }

  // Multiplies the span; `about` stays where it is in the plot, unless an end is reached.
  void zoom(double about, double factor) {
    const double share = share_of(about), wanted = std::clamp(span() * factor, min_span, 1.0);
    show(about - share * wanted, wanted);
  }
  // Shows what lies between two places, in any order; at least min_span about their middle.
  void select(double a, double b) {
    const double wanted = std::clamp(std::abs(b - a), min_span, 1.0);
    show((a + b - wanted) / 2, wanted);
  }
  void reset() { *this = {}; }

 private:
  void show(double begin, double wanted) {
    from = std::clamp(begin, 0.0, 1 - wanted);
    to = from + wanted;
  }
};

// State of the heap map: one or two recordings, the time, and the colouring.
struct HeapView {
  std::vector<std::shared_ptr<const Recording>> recordings;
  bool playing = false, whole_pool = false, large_plots = false, loop = false;
  double place = 1;                     // time in the build, 0 to 1
  double speed = 0.1;                   // fraction of the range per second
  PlotRange range;                      // that the plots show and that is played
  std::optional<double> selected_from;  // a range is being selected: where the drag began
  HeapColours colours = HeapColours::state;
  std::vector<std::uint64_t> marked;  // sizes of blocks

  struct Drawn {  // the latest map
    std::optional<HeapMap> map;
    gl::Texture texture;
    const Recording* of = nullptr;
    HeapColours colours = HeapColours::state;
    bool whole = false;
    std::vector<std::uint64_t> marked;
    std::array<float, 4> area{};    // where it was drawn: corner, width, height
    double drawn_at = 0, took = 0;  // seconds
  };
  Drawn drawn[2];

  // The live build: its recording so far is the last of `recordings`.
  struct Watched {
    LiveBuild build;
    std::shared_ptr<Recording> recording;
    alloc::LiveRecording::Place at;
    double held_from = 0;
  };
  std::optional<Watched> watched;
  static constexpr double min_pace = 10, full_pace = 1e6;
  double pace = full_pace;  // events per second that a live build may make; full_pace: no limit
  bool watched_slowly = false;

  void show(std::vector<std::shared_ptr<const Recording>> latest);
  void watch(const LiveBuild& build);
  // The live build has ended with this recording.
  void complete(const std::shared_ptr<const Recording>& recording);
  // Plays or pauses; at the end of the range, and where playing has ended, it plays from the start.
  void toggle_play();
  // Time passes. If the pool is empty at the end, playing ends at the worst moment instead.
  void play(double seconds);
  void go_to_worst();  // moment of the first recording
  // Once per frame: reads new events and lets the build continue.
  void follow(double seconds);
  std::uint32_t time(const Recording& recording) const;
  // What every map shows, from the pool's base, so that maps side by side have the same scale.
  std::uint64_t shown_bytes() const;

 private:
  void forget_maps() {
    for (Drawn& one : drawn) one.map.reset();
  }

  std::vector<alloc::RecordedEvent> lines_;
  std::optional<double> played_to_;  // the place after playing to the end
};

}  // namespace heapwood::viewer
