// SPDX-License-Identifier: MIT
// The pool as a picture: its addresses row by row in cells, each coloured by what lies there at a time of a recorded
// build.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alloc/live_recording.hpp"
#include "viewer/gl.hpp"
#include "viewer/recording.hpp"

namespace heapwood::viewer {

enum class HeapColours : std::uint8_t { state, size, age };

struct HeapCell {
  std::uint64_t used_bytes = 0, abandoned_bytes = 0;  // of blocks in use; of those given back to one that never frees
  bool touched = false;                               // a block was here, at or before the time
  std::uint64_t largest = 0;                          // block that reaches into the cell
  std::uint32_t youngest = 0;                         // birth of the youngest one in use
};

struct HeapMap {
  unsigned columns = 0, rows = 0;
  std::uint64_t bytes = 0;  // that are shown, from the pool's base
  std::uint64_t cell_bytes = 0;
  std::uint32_t time = 0;
  std::vector<HeapCell> cells;

  // Cells for about this many pixels each way; `whole`: the whole pool, else as far as blocks ever reached.
  HeapMap(const Recording& recording, std::uint32_t time, unsigned columns, unsigned rows, bool whole);
  std::vector<gl::Rgba8> colours(const Recording& recording, HeapColours by) const;
};

// The block at the lowest address of those that reach into [begin, end), or nothing.
const alloc::Block* first_block(const Recording& recording, std::uint32_t time, std::uint64_t begin, std::uint64_t end);

// A build that is recorded at this moment, on a device whose memory can be read meanwhile.
struct LiveBuild {
  std::shared_ptr<alloc::LiveRecording> lines;
  std::string scene, device;
  const engine::Entry* allocator = nullptr;
  std::uint64_t pool_bytes = 0;
  std::size_t index = 0;  // of those that stand side by side
};

// What the lower part of the window shows: one or two recordings, the time, and how they are coloured.
struct HeapView {
  std::vector<std::shared_ptr<const Recording>> recordings;
  bool visible = false, playing = false, whole_pool = false;
  double place = 1;    // in the build, 0 to 1
  double speed = 0.1;  // of the build, a second
  HeapColours colours = HeapColours::state;

  struct Drawn {  // a map that is up to date
    std::optional<HeapMap> map;
    gl::Texture texture;
    const Recording* of = nullptr;
    HeapColours colours = HeapColours::state;
    bool whole = false;
    float x = 0, y = 0, width = 0, height = 0;  // where it was drawn
    double drawn_at = 0, took = 0;              // seconds
  };
  Drawn drawn[2];

  // The build that runs, as far as it has come, and the last of `recordings`.
  struct Watched {
    LiveBuild build;
    std::shared_ptr<Recording> recording;
    alloc::LiveRecording::Place at;
    double held_from = 0;
  };
  std::optional<Watched> watched;
  static constexpr double slowest_pace = 10, full_pace = 1e6;
  double pace = full_pace;  // events a second that a watched build may make; full_pace: as fast as it can
  bool watched_slowly = false;

  void show(std::vector<std::shared_ptr<const Recording>> latest);
  void watch(const LiveBuild& build);
  // The build that is watched has ended so.
  void complete(const std::shared_ptr<const Recording>& recording);
  // Once a frame: takes what has been written, and lets the build go on.
  void follow(double seconds);
  std::uint32_t time(const Recording& recording) const;

 private:
  std::vector<alloc::RecordedEvent> lines_;
};

}  // namespace heapwood::viewer
