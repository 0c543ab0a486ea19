// SPDX-License-Identifier: MIT
#include "viewer/heap_map.hpp"

#include <algorithm>
#include <cmath>

#include "viewer/theme.hpp"

namespace heapwood::viewer {

namespace {

gl::Rgba8 mix(gl::Rgba8 a, gl::Rgba8 b, double share) {
  const auto one = [&](unsigned x, unsigned y) {
    return static_cast<std::uint8_t>(std::lround(x + (static_cast<double>(y) - x) * share));
  };
  return {one(a.r, b.r), one(a.g, b.g), one(a.b, b.b), 255};
}

}  // namespace

HeapMap::HeapMap(const Recording& recording, std::uint32_t time_index, unsigned wide, unsigned high,
                 std::uint64_t shown)
    : columns(std::max(wide, 1u)),
      rows(std::max(high, 1u)),
      bytes(std::max<std::uint64_t>(shown, 1)),
      time(time_index) {
  const std::uint64_t count = std::uint64_t{columns} * rows;
  cell_bytes = alloc::round_up((bytes + count - 1) / count, alloc::granule);
  cells.resize(count);
  for (const workloads::Block& block : recording.blocks()) {
    if (block.born >= time) break;
    const std::uint64_t end = std::min(block.offset + block.bytes, bytes);
    if (block.offset >= end) continue;
    const bool used = block.in_use(time), abandoned = !used && block.occupies(time);
    for (std::uint64_t c = block.offset / cell_bytes; c <= (end - 1) / cell_bytes; ++c) {
      HeapCell& cell = cells[c];
      cell.touched = true;
      if (!used && !abandoned) continue;
      const std::uint64_t part =
          std::min(end, (c + 1) * cell_bytes) - std::max(block.offset, c * cell_bytes);
      (used ? cell.used_bytes : cell.abandoned_bytes) += part;
    }
  }
  measure(recording);
}

void HeapMap::measure(const Recording& recording) {
  std::vector<std::array<std::uint64_t, 2>> taken;  // begin and end of each block
  std::uint64_t limit = 0;
  for (const workloads::Block& block : recording.blocks()) {
    if (block.born >= time) break;
    const std::uint64_t end = block.offset + alloc::padded(block.bytes);
    limit = std::max(limit, end);
    if (!block.occupies(time)) continue;
    taken.push_back({block.offset, end});
    taken_bytes += block.bytes;
  }
  taken_blocks = taken.size();
  if (!std::is_sorted(taken.begin(), taken.end())) std::sort(taken.begin(), taken.end());
  limit = std::min(limit, recording.pool_bytes);
  taken.push_back({limit, limit});
  std::uint64_t free_from = 0;
  for (const auto& [begin, end] : taken) {
    if (begin > free_from && begin - free_from > hole_bytes) {
      hole_begin = free_from;
      hole_bytes = begin - free_from;
    }
    free_from = std::max(free_from, end);
  }
}

std::vector<gl::Rgba8> HeapMap::colours() const {
  std::vector<gl::Rgba8> result(cells.size(), colour::outside);
  for (std::size_t i = 0; i < cells.size() && i * cell_bytes < bytes; ++i) {
    const HeapCell& cell = cells[i];
    const gl::Rgba8 ground = cell.touched ? colour::freed : colour::untouched;
    const double taken = static_cast<double>(cell.used_bytes + cell.abandoned_bytes) /
                         static_cast<double>(cell_bytes);
    const gl::Rgba8 mark =
        cell.used_bytes >= cell.abandoned_bytes ? colour::used : colour::abandoned;
    // A cell that has even the smallest part of a block is visibly different.
    result[i] = taken > 0 ? mix(ground, mark, std::min(1.0, 0.25 + 0.75 * taken)) : ground;
  }
  return result;
}

HeapMap::Run HeapMap::hole_cells() const {
  const std::uint64_t end = std::min(hole_begin + hole_bytes, bytes);
  const std::uint64_t first = (hole_begin + cell_bytes - 1) / cell_bytes;
  // The last cell may extend beyond the bytes that are shown.
  const std::uint64_t last = end == bytes ? (end + cell_bytes - 1) / cell_bytes : end / cell_bytes;
  return last > first ? Run{first, last - first} : Run{};
}

const workloads::Block* first_block(const Recording& recording, std::uint32_t time,
                                    std::uint64_t begin, std::uint64_t end) {
  const workloads::Block* first = nullptr;
  for (const workloads::Block& block : recording.blocks()) {
    if (block.born >= time) break;
    const bool inside = block.offset < end && begin < block.offset + alloc::padded(block.bytes);
    if (inside && block.occupies(time) && (!first || block.offset < first->offset)) first = &block;
  }
  return first;
}

void HeapView::show(std::vector<std::shared_ptr<const Recording>> latest) {
  clear();
  recordings = std::move(latest);
  playing = true;
  place = 0;
}

void HeapView::toggle_play() {
  if (!playing && (place >= 1 || place == played_to_)) place = 0;
  playing = !playing;
}

void HeapView::play(double seconds) {
  if (!playing || recordings.empty()) return;
  place = std::min(place + seconds / seconds_to_play, 1.0);
  playing = place < 1;
  played_to_.reset();
  if (playing) return;
  const Recording& first = *recordings.front();
  if (first.points.back().used_bytes == 0) place = first.worst_place();
  played_to_ = place;
}

void HeapView::go_to_worst() {
  if (recordings.empty()) return;
  playing = false;
  place = recordings.front()->worst_place();
}

std::uint64_t HeapView::shown_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& recording : recordings) {
    if (recording->in_pool)
      bytes = std::max(bytes, std::min(recording->reach, recording->pool_bytes));
  }
  return bytes;
}

}  // namespace heapwood::viewer
