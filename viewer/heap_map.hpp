// SPDX-License-Identifier: MIT
// The pool as a picture: its addresses row by row in cells, each coloured by what lies there at a time of a recorded
// build.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

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
  };
  Drawn drawn[2];

  void show(std::vector<std::shared_ptr<const Recording>> latest);
  std::uint32_t time(const Recording& recording) const;
};

}  // namespace heapwood::viewer
