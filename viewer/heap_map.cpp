// SPDX-License-Identifier: MIT
#include "viewer/heap_map.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <utility>

#include "viewer/theme.hpp"

namespace heapwood::viewer {

namespace {

gl::Rgba8 mix(gl::Rgba8 a, gl::Rgba8 b, double share) {
  const auto one = [&](unsigned x, unsigned y) {
    return static_cast<std::uint8_t>(std::lround(x + (static_cast<double>(y) - x) * share));
  };
  return {one(a.r, b.r), one(a.g, b.g), one(a.b, b.b), 255};
}

// Time per frame that the window spends on events of a live build.
constexpr std::chrono::milliseconds max_time_per_frame(4);

}  // namespace

HeapMap::HeapMap(const Recording& recording, std::uint32_t at, unsigned wide, unsigned high,
                 std::uint64_t shown, bool whole, std::span<const std::uint64_t> marked)
    : columns(std::max(wide, 1u)),
      rows(std::max(high, 1u)),
      bytes(std::max<std::uint64_t>(shown, 1)),
      time(at) {
  const std::uint64_t count = std::uint64_t{columns} * rows;
  cell_bytes = alloc::round_up((bytes + count - 1) / count, alloc::granule);
  cells.resize(count);
  for (const workloads::Block& block : recording.blocks()) {
    if (block.born >= time) break;
    const std::uint64_t end = std::min(block.offset + block.bytes, bytes);
    if (block.offset >= end) continue;
    const bool is_marked = std::find(marked.begin(), marked.end(), block.bytes) != marked.end();
    const bool used = block.in_use(time), abandoned = !used && block.occupies(time);
    if (used)
      ++by_size[std::min<std::size_t>(
          static_cast<std::size_t>(std::bit_width(std::max<std::uint64_t>(block.bytes, 1) - 1)),
          by_size.size() - 1)];
    for (std::uint64_t c = block.offset / cell_bytes; c <= (end - 1) / cell_bytes; ++c) {
      HeapCell& cell = cells[c];
      cell.touched = true;
      if (!used && !abandoned) continue;
      cell.marked = cell.marked || is_marked;
      const std::uint64_t part =
          std::min(end, (c + 1) * cell_bytes) - std::max(block.offset, c * cell_bytes);
      (used ? cell.used_bytes : cell.abandoned_bytes) += part;
      cell.largest = std::max(cell.largest, block.bytes);
      cell.youngest = std::max(cell.youngest, block.born);
    }
  }
  measure(recording, whole);
}

void HeapMap::measure(const Recording& recording, bool whole) {
  std::vector<std::array<std::uint64_t, 2>> taken;  // begin, end
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
  limit = whole ? recording.pool_bytes : std::min(limit, recording.pool_bytes);
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

std::vector<gl::Rgba8> HeapMap::colours(const Recording& recording, HeapColours by) const {
  std::vector<gl::Rgba8> result(cells.size());
  const double log_largest =
      std::log2(static_cast<double>(std::max<std::uint64_t>(recording.largest_block, 32)));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const HeapCell& cell = cells[i];
    if (i * cell_bytes >= bytes) {
      result[i] = colour::outside;
      continue;
    }
    const gl::Rgba8 ground = cell.touched ? colour::freed : colour::untouched;
    const double taken = static_cast<double>(cell.used_bytes + cell.abandoned_bytes) /
                         static_cast<double>(cell_bytes);
    if (taken <= 0) {
      result[i] = ground;
      continue;
    }
    gl::Rgba8 mark = cell.used_bytes >= cell.abandoned_bytes ? colour::used : colour::abandoned;
    if (by == HeapColours::size) {
      mark = ramp_colour(0.25 + 0.75 * (std::log2(static_cast<double>(cell.largest)) - 4) /
                                    (log_largest - 4));
    } else if (by == HeapColours::age) {
      // The youngest blocks are brightest; the colour falls with the logarithm of the age.
      const double age = static_cast<double>(time - cell.youngest);
      const double all = std::max(2.0, static_cast<double>(recording.events));
      mark = ramp_colour(1 - 0.8 * std::log2(1 + age) / std::log2(1 + all));
    }
    if (cell.marked) {
      result[i] = colour::marked;
      continue;
    }
    // Even the smallest part of a block must be visible.
    result[i] = mix(ground, mark, std::min(1.0, 0.25 + 0.75 * taken));
  }
  return result;
}

HeapMap::Run HeapMap::hole_cells() const {
  const std::uint64_t end = std::min(hole_begin + hole_bytes, bytes);
  const std::uint64_t first = (hole_begin + cell_bytes - 1) / cell_bytes;
  // The last cell may extend beyond the bytes shown.
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
  recordings = std::move(latest);
  watched.reset();
  forget_maps();
  // After a slowed live build the final state is shown; otherwise the recording is played.
  playing = !std::exchange(watched_slowly, false);
  place = playing ? 0 : 1;
  range.reset();
}

void HeapView::watch(const LiveBuild& build) {
  if (build.index == 0) {
    recordings.clear();
    watched_slowly = false;
    range.reset();
  }
  forget_maps();
  const auto recording =
      std::make_shared<Recording>(build.scene, *build.allocator, build.device, build.pool_bytes);
  recordings.push_back(recording);
  watched = Watched{build, recording, {}, 0};
  playing = true;
  place = 1;
}

void HeapView::complete(const std::shared_ptr<const Recording>& recording) {
  if (!watched) return;
  recordings.back() = recording;
  watched.reset();
  forget_maps();
}

void HeapView::toggle_play() {
  const bool ended = place >= range.to || place < range.from || place == played_to_;
  if (!playing && !watched && ended) place = range.from;
  playing = !playing;
}

void HeapView::play(double seconds) {
  if (!playing || watched) return;
  place = std::clamp(place + speed * range.span() * seconds, range.from, range.to);
  if (place >= range.to && loop) place = range.from;
  playing = place < range.to;
  played_to_.reset();
  if (playing) return;
  const Recording* first = recordings.empty() ? nullptr : recordings.front().get();
  const bool emptied = first && first->at(first->events).used_bytes == 0;
  if (emptied && range.is_whole()) place = first->worst_place();
  played_to_ = place;
}

void HeapView::follow(double seconds) {
  if (!watched) return;
  const auto start = std::chrono::steady_clock::now();
  constexpr std::size_t at_once = 2000;
  do {
    lines_.clear();
    if (!watched->build.lines->read(watched->at, at_once, lines_)) {
      const LiveBuild& build = watched->build;
      *watched->recording =
          Recording(build.scene, *build.allocator, build.device, build.pool_bytes);
    }
    watched->recording->add(lines_);
  } while (lines_.size() == at_once &&
           std::chrono::steady_clock::now() - start < max_time_per_frame);
  if (pace >= full_pace && playing) return watched->build.lines->hold_from(~std::uint64_t{0});
  watched_slowly = true;
  // Allows as many events as the pace permits, but never many more than have been read, so that a
  // build that was slower than the pace does not catch up.
  const auto seen = static_cast<double>(watched->at.line);
  if (playing) watched->held_from += pace * seconds;
  watched->held_from = std::clamp(watched->held_from, seen, seen + std::max(1.0, pace * 0.1));
  watched->build.lines->hold_from(static_cast<std::uint64_t>(watched->held_from));
}

void HeapView::go_to_worst() {
  if (recordings.empty()) return;
  playing = false;
  place = recordings.front()->worst_place();
  if (!range.contains(place)) range.reset();
}

std::uint32_t HeapView::time(const Recording& recording) const { return recording.time_at(place); }

std::uint64_t HeapView::shown_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& recording : recordings) {
    if (!recording->in_pool) continue;
    bytes = std::max(bytes, whole_pool ? recording->pool_bytes
                                       : std::min(recording->reach, recording->pool_bytes));
  }
  return bytes;
}

}  // namespace heapwood::viewer
