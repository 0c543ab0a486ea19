// SPDX-License-Identifier: MIT
// The pool as a picture: addresses row by row in cells, coloured by contents at one time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "viewer/gl.hpp"
#include "viewer/recording.hpp"

namespace heapwood::viewer {

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
  std::vector<gl::Rgba8> colours() const;
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
  void go_to_worst();  // moment of the first recording
  std::uint32_t time(const Recording& recording) const { return recording.time_at(place); }
  // What every map shows, from the pool's base, so that maps side by side have the same scale.
  std::uint64_t shown_bytes() const;

 private:
  std::optional<double> played_to_;  // the place after playing to the end
};

}  // namespace heapwood::viewer
