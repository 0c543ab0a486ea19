// SPDX-License-Identifier: MIT
#include "viewer/recording.hpp"

#include <algorithm>

namespace heapwood::viewer {

std::size_t Recording::point(std::uint32_t time) const {
  const auto after = std::upper_bound(times.begin(), times.end(), time);
  return after == times.begin() ? 0 : static_cast<std::size_t>(after - times.begin()) - 1;
}

Recording make_recording(const std::string& scene, const engine::Entry& entry, std::uint64_t pool_bytes,
                         const kdtree::RecordedRun& run) {
  using Kind = alloc::RecordedEvent::Kind;
  Recording r;
  r.scene = scene;
  r.allocator = entry.traits->id;
  r.label = entry.traits->label;
  r.frees = entry.traits->frees;
  r.in_pool = entry.traits->in_pool;
  r.pool_bytes = pool_bytes;
  r.events = static_cast<std::uint32_t>(run.events.size());
  r.events_in_all = run.events_in_all;
  r.incomplete = run.instrumented.run.incomplete;
  r.regions = run.regions;
  r.requests = run.instrumented.requests;
  r.at_end = run.instrumented.at_end;
  r.replay = alloc::replay(run.events, r.frees);
  for (const alloc::Block& block : r.replay.blocks) {
    r.reach = std::max(r.reach, block.offset + block.bytes);
    r.largest_block = std::max(r.largest_block, block.bytes);
  }
  for (std::size_t i = 0; i <= Recording::curve_points; ++i) {
    const auto time = static_cast<std::uint32_t>(std::uint64_t{r.events} * i / Recording::curve_points);
    if (r.times.empty() || time > r.times.back()) r.times.push_back(time);
  }
  if (r.in_pool) r.curve = alloc::gaps(r.replay, pool_bytes, r.times);

  std::array<Recording::Level, 64> now{};
  std::size_t event = 0;
  std::uint64_t used = 0;
  std::vector<std::uint64_t> size_at(r.events, 0);  // of the block that a free ends
  for (const alloc::Block& block : r.replay.blocks) {
    if (block.released != alloc::never) size_at[block.released] = block.bytes;
  }
  for (const std::uint32_t time : r.times) {
    for (; event < time; ++event) {
      const alloc::RecordedEvent& e = run.events[event];
      if (e.kind() == Kind::allocate) {
        used += e.bytes;
        r.high_water_bytes = std::max(r.high_water_bytes, used);
      } else if (e.kind() == Kind::free) {
        used -= size_at[event];
      } else {
        Recording::Level& level = now[e.depth()];
        (e.kind() == Kind::inner ? level.inner : level.leaves) += 1;
        r.depth = std::max(r.depth, e.depth());
      }
    }
    r.levels.push_back(now);
  }
  return r;
}

}  // namespace heapwood::viewer
