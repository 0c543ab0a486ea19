// SPDX-License-Identifier: MIT
#include "viewer/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/results/format.hpp"

namespace heapwood::viewer {

Recording::Recording(std::string scene_name, const registry::RegisteredAllocator& entry,
                     std::string device_key, std::uint64_t pool)
    : scene(std::move(scene_name)),
      allocator(entry.traits->id),
      label(entry.traits->label),
      device(std::move(device_key)),
      frees(entry.traits->frees),
      in_pool(entry.traits->in_pool),
      pool_bytes(pool),
      builder_(frees, in_pool ? pool : 0) {
  note_point();
}

std::vector<Recording::Point>::const_iterator Recording::after(std::uint32_t time) const {
  return std::upper_bound(points.begin(), points.end(), time,
                          [](std::uint32_t t, const Point& point) { return t < point.time; });
}

const Recording::Point& Recording::at(std::uint32_t time) const {
  const auto found = after(time);
  return found == points.begin() ? *found : *std::prev(found);
}

void Recording::add(std::span<const alloc::RecordedEvent> lines) {
  using Kind = alloc::RecordedEvent::Kind;
  for (const alloc::RecordedEvent& line : lines) {
    const workloads::Block* freed =
        line.kind() == Kind::free ? builder_.in_use_at(line.offset()) : nullptr;
    if (freed) used_ -= freed->bytes;
    builder_.add(line);
    if (line.kind() == Kind::allocate) {
      used_ += line.bytes;
      high_water_bytes = std::max(high_water_bytes, used_);
      reach = std::max(reach, line.offset() + line.bytes);
      largest_block = std::max(largest_block, line.bytes);
    } else if (line.kind() != Kind::free) {
      Level& level = levels_[line.depth()];
      (line.kind() == Kind::inner ? level.inner : level.leaves) += 1;
      depth = std::max(depth, line.depth());
      nodes_.push_back({events, static_cast<std::uint32_t>(line.bytes),
                        static_cast<std::uint8_t>(line.depth()), line.kind() == Kind::leaf});
    }
    if (++events % stride_ == 0) note_point();
  }
  events_in_all = std::max<std::uint64_t>(events_in_all, events);
}

void Recording::note_point() {
  points.push_back({events, builder_.gaps(), used_, high_water_bytes, std::nullopt, levels_});
  if (points.size() <= 2 * min_points) return;
  // Keeps every second point, and the last one of an odd number.
  for (std::size_t i = 1; 2 * i < points.size(); ++i) points[i] = points[2 * i];
  points.resize(min_points + 1);
  stride_ *= 2;
}

void Recording::add_round(std::span<const alloc::RecordedEvent> lines) {
  stride_ = ~0u;  // within a round the order of events is not known
  add(lines);
  rounds.push_back(events);
  if (points.back().time != events) note_point();
}

void Recording::finish_rounds(std::uint64_t refused_requests) {
  incomplete = refused_requests > 0;
  requests.failures = refused_requests;
  finished = true;
  find_internal();
}

void Recording::finish_trace(std::uint64_t all_requests, std::uint64_t refused_requests) {
  is_trace = true;
  requests.allocations = all_requests - refused_requests;
  requests.high_water_bytes = high_water_bytes;
  if (points.back().time != events) note_point();
  finish_rounds(refused_requests);
}

std::uint32_t Recording::time_at(double place) const {
  if (!in_rounds()) return static_cast<std::uint32_t>(std::llround(place * events));
  const auto last = static_cast<double>(rounds.size() - 1);
  return rounds[static_cast<std::size_t>(std::llround(std::clamp(place, 0.0, 1.0) * last))];
}

double Recording::place_of(std::uint32_t time) const {
  if (!in_rounds()) return events ? static_cast<double>(time) / events : 0;
  return rounds.size() > 1 ? static_cast<double>(round_of(time)) * place_step() : 0;
}

double Recording::worst_place() const {
  const Point* worst = nullptr;
  for (const Point& point : points) {
    if (point.used_bytes == 0 || (in_rounds() && point.time == 0)) continue;
    if (!worst || point.pool.external_below() > worst->pool.external_below()) worst = &point;
  }
  return worst ? place_of(worst->time) : 1;
}

double Recording::place_step() const {
  return 1 / std::max<double>(1, in_rounds() ? static_cast<double>(rounds.size() - 1) : events);
}

unsigned Recording::round_of(std::uint32_t time) const {
  const auto found = std::lower_bound(rounds.begin(), rounds.end(), time);
  return static_cast<unsigned>(std::min<std::ptrdiff_t>(
      found - rounds.begin(), static_cast<std::ptrdiff_t>(rounds.size()) - 1));
}

std::string Recording::time_text(std::uint32_t time) const {
  if (in_rounds()) return fmt::format("round {} of {}", round_of(time), rounds.size() - 1);
  return fmt::format("event {} of {}", bench::count_text(time), bench::count_text(events));
}

const Recording::NodeEvent* Recording::node_of(const workloads::Block& block) const {
  if (bytes_per_ref == 0 || block.bytes % bytes_per_ref != 0) return nullptr;
  const std::uint64_t refs = block.bytes / bytes_per_ref;
  auto node = std::lower_bound(
      nodes_.begin(), nodes_.end(), block.born,
      [](const NodeEvent& event, std::uint32_t time) { return event.time < time; });
  for (; node != nodes_.end() && node->time <= block.released; ++node) {
    if (node->refs == refs) return &*node;
  }
  return nullptr;
}

void Recording::finish(const kdtree::RecordedRun& run) {
  events_in_all = run.events_in_all;
  incomplete = run.instrumented.run.incomplete;
  regions = run.regions;
  requests = run.instrumented.requests;
  at_end = run.instrumented.at_end;
  finished = true;
  if (points.back().time != events) note_point();
  find_internal();
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

Recording make_recording(const std::string& scene, const registry::RegisteredAllocator& entry,
                         const std::string& device, std::uint64_t pool_bytes,
                         const kdtree::RecordedRun& run, std::uint32_t bytes_per_ref) {
  Recording recording(scene, entry, device, pool_bytes);
  recording.bytes_per_ref = bytes_per_ref;
  recording.add(run.events);
  recording.finish(run);
  return recording;
}

std::vector<LevelSpan> level_spans(const Recording& recording) {
  std::vector<LevelSpan> spans;
  if (recording.points.empty() || recording.in_rounds()) return spans;
  for (unsigned depth = 0; depth <= recording.depth; ++depth) {
    const auto nodes = [&](const Recording::Point& point) {
      return point.levels[depth].inner + point.levels[depth].leaves;
    };
    const std::uint32_t all = nodes(recording.points.back());
    if (all == 0) continue;
    // The first point with so many nodes of the level.
    const auto place_with = [&](std::uint32_t count) {
      const auto point = std::partition_point(
          recording.points.begin(), recording.points.end(),
          [&](const Recording::Point& earlier) { return nodes(earlier) < count; });
      return recording.place_of(point->time);
    };
    const auto share = [&](double part) {
      return place_with(static_cast<std::uint32_t>(std::ceil(part * all)));
    };
    spans.push_back(
        {depth, all, place_with(1), share(0.25), share(0.5), share(0.75), place_with(all)});
  }
  return spans;
}

}  // namespace heapwood::viewer
