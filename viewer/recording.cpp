// SPDX-License-Identifier: MIT
#include "viewer/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/results/format.hpp"

namespace heapwood::viewer {

Recording::Recording(std::string scene_name, const registry::RegisteredAllocator& entry,
                     std::string device_key, std::uint64_t pool,
                     std::span<const alloc::RecordedEvent> lines)
    : scene(std::move(scene_name)),
      allocator(entry.traits->id),
      label(entry.traits->label),
      device(std::move(device_key)),
      frees(entry.traits->frees),
      in_pool(entry.traits->in_pool),
      pool_bytes(pool),
      events_in_all(lines.size()),
      builder_(frees, in_pool ? pool : 0) {
  note_point();
  for (const alloc::RecordedEvent& line : lines) add(line);
  if (points.back().time != events) note_point();
  find_internal();
}

Recording::Recording(std::string scene_name, const registry::RegisteredAllocator& entry,
                     std::string device_key, std::uint64_t pool, const kdtree::RecordedRun& run)
    : Recording(std::move(scene_name), entry, std::move(device_key), pool,
                std::span<const alloc::RecordedEvent>(run.events)) {
  events_in_all = run.events_in_all;
  regions = run.regions;
  requests = run.instrumented.requests;
}

std::vector<Recording::Point>::const_iterator Recording::after(std::uint32_t time) const {
  return std::upper_bound(points.begin(), points.end(), time,
                          [](std::uint32_t t, const Point& point) { return t < point.time; });
}

const Recording::Point& Recording::at(std::uint32_t time) const {
  const auto found = after(time);
  return found == points.begin() ? *found : *std::prev(found);
}

void Recording::add(const alloc::RecordedEvent& line) {
  using Kind = alloc::RecordedEvent::Kind;
  const workloads::Block* freed =
      line.kind() == Kind::free ? builder_.in_use_at(line.offset()) : nullptr;
  if (freed) used_ -= freed->bytes;
  builder_.add(line);
  if (line.kind() == Kind::allocate) {
    used_ += line.bytes;
    high_water_bytes = std::max(high_water_bytes, used_);
    reach = std::max(reach, line.offset() + line.bytes);
  }
  if (++events % stride_ == 0) note_point();
}

void Recording::note_point() {
  points.push_back({events, builder_.gaps(), used_, high_water_bytes, std::nullopt});
  if (points.size() <= 2 * min_points) return;
  // Keeps every second point, and the last one of an odd number.
  for (std::size_t i = 1; 2 * i < points.size(); ++i) points[i] = points[2 * i];
  points.resize(min_points + 1);
  stride_ *= 2;
}

double Recording::worst_place() const {
  const Point* worst = nullptr;
  for (const Point& point : points) {
    if (point.used_bytes == 0) continue;
    if (!worst || point.pool.external_below() > worst->pool.external_below()) worst = &point;
  }
  return worst ? place_of(worst->time) : 1;
}

std::string Recording::time_text(std::uint32_t time) const {
  return fmt::format("event {} of {}", bench::count_text(time), bench::count_text(events));
}

// A block counts at the points from its birth to its release: a prefix sum over both ends.
void Recording::find_internal() {
  if (!in_pool) return;
  struct Change {
    double waste = 0;
    std::int64_t blocks = 0;
  };
  std::vector<Change> changes(points.size() + 1);
  const auto behind = [&](std::uint32_t time) {
    return static_cast<std::size_t>(after(time) - points.begin());
  };
  for (const workloads::Block& block : blocks()) {
    const auto served = static_cast<double>(served_bytes(block.bytes));
    const double waste = served > 0 ? (served - static_cast<double>(block.bytes)) / served : 0;
    Change &begin = changes[behind(block.born)], &end = changes[behind(block.released)];
    begin.waste += waste;
    ++begin.blocks;
    end.waste -= waste;
    --end.blocks;
  }
  Change now;
  for (std::size_t i = 0; i < points.size(); ++i) {
    now.waste += changes[i].waste;
    now.blocks += changes[i].blocks;
    if (now.blocks > 0)
      points[i].internal = std::max(0.0, now.waste) / static_cast<double>(now.blocks);
  }
}

}  // namespace heapwood::viewer
