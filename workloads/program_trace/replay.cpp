// SPDX-License-Identifier: MIT
#include "workloads/program_trace/replay.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_set>

namespace heapwood::workloads {

namespace {

using alloc::TraceEvent;
using Kind = TraceEvent::Kind;

class Planner {
 public:
  Planner(const alloc::ProgramTrace& trace, const ReplayPlanOptions& options)
      : trace_(trace), options_(options) {}

  ReplayPlan plan() {
    plan_.bytes.reserve(trace_.requests);
    plan_.requests.reserve(trace_.events.size());
    for (const TraceEvent& event : trace_.events) {
      if (event.kind == Kind::allocate) plan_.bytes.push_back(event.bytes);
    }
    std::vector<std::size_t> ends(trace_.kernel_ends.begin(), trace_.kernel_ends.end());
    for (const std::size_t cut : options_.cuts) {
      if (cut > 0 && cut < trace_.events.size()) ends.push_back(cut);
    }
    std::ranges::sort(ends);
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    find_handed_over(ends);
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      add_launch(std::span(trace_.events).subspan(begin, end - begin), end);
      begin = end;
    }
    return std::move(plan_);
  }

 private:
  void find_handed_over(std::span<const std::size_t> ends) {
    struct Owner {
      std::uint32_t warp;
      std::size_t launch;
    };
    std::vector<Owner> owners;
    owners.reserve(trace_.requests);
    is_handed_over_.resize(trace_.requests);
    std::size_t launch = 0;
    for (std::size_t i = 0; i < trace_.events.size(); ++i) {
      launch += i == ends[launch];
      const TraceEvent& event = trace_.events[i];
      if (event.kind == Kind::allocate) {
        owners.push_back({event.warp, launch});
      } else {
        const Owner& owner = owners[event.request];
        is_handed_over_[event.request] = owner.launch == launch && owner.warp != event.warp;
      }
    }
  }

  void add_launch(std::span<const TraceEvent> events, std::size_t end_event) {
    // Sorts the events by warp, stably.
    std::vector<std::uint32_t> order(events.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto warp_of = [&](std::uint32_t i) { return events[i].warp; };
    std::ranges::stable_sort(order, {}, warp_of);
    std::vector<std::size_t> begins;  // where each warp begins in `order`
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || warp_of(order[i]) != warp_of(order[i - 1])) begins.push_back(i);
    }
    const std::size_t warps = begins.size();
    begins.push_back(order.size());
    window_ =
        options_.window != 0 ? options_.window : std::max(min_window, warps * events_per_warp);
    const auto steps = static_cast<std::uint32_t>((events.size() + window_ - 1) / window_);
    plan_.launches.push_back({static_cast<std::uint32_t>(plan_.warp_begins.size() - 1),
                              static_cast<std::uint32_t>(warps),
                              static_cast<std::uint32_t>(plan_.step_warps.size()), steps,
                              end_event});
    plan_.step_warps.resize(plan_.step_warps.size() + steps);
    for (std::size_t w = 0; w < warps; ++w)
      add_warp(events, std::span(order).subspan(begins[w], begins[w + 1] - begins[w]));
  }

  void add_warp(std::span<const TraceEvent> events, std::span<const std::uint32_t> order) {
    const ReplayLaunch& launch = plan_.launches.back();
    // In a launch of one step no warp has to wait for a step.
    const bool has_steps = launch.steps > 1;
    std::uint32_t step = 0;
    bool is_first = true;
    for (std::size_t i = 0; i < order.size();) {
      const std::uint32_t now = static_cast<std::uint32_t>(order[i] / window_);
      if (has_steps && (is_first || now != step)) {
        if (!is_first) add_group(ReplayGroup::Kind::leave, step, 1);
        add_group(ReplayGroup::Kind::enter, now, 1);
        ++plan_.step_warps[launch.first_step + now];
        step = now;
        is_first = false;
      }
      i += add_events(events, order.subspan(i), now);
    }
    if (has_steps && !is_first) add_group(ReplayGroup::Kind::leave, step, 1);
    plan_.warp_begins.push_back(static_cast<std::uint32_t>(plan_.groups.size()));
  }

  // Appends the first group of these events that lies within the step, and returns its length.
  std::size_t add_events(std::span<const TraceEvent> events, std::span<const std::uint32_t> order,
                         std::uint32_t step) {
    const Kind kind = events[order[0]].kind;
    const auto first = static_cast<std::uint32_t>(plan_.requests.size());
    std::uint32_t lanes = 0;
    std::size_t n = 0;
    for (; n < order.size() && order[n] / window_ == step; ++n) {
      const TraceEvent& event = events[order[n]];
      const std::uint32_t lane = 1u << (event.lane & 31u);
      if (event.kind != kind || (lanes & lane) != 0) break;
      lanes |= lane;
      plan_.requests.push_back(event.request |
                               (is_handed_over_[event.request] ? ReplayPlan::is_handed_over : 0));
    }
    add_group(kind == Kind::allocate ? ReplayGroup::Kind::allocate : ReplayGroup::Kind::free, first,
              static_cast<std::uint32_t>(n));
    return n;
  }

  void add_group(ReplayGroup::Kind kind, std::uint32_t first, std::uint32_t size) {
    ReplayGroup group;
    group.first = first;
    group.size = size & 63u;
    group.kind = kind;
    plan_.groups.push_back(group);
  }

  // Each warp has enough events per step that it seldom waits for the end of a step.
  static constexpr std::size_t events_per_warp = 16, min_window = 4096;

  const alloc::ProgramTrace& trace_;
  const ReplayPlanOptions& options_;
  std::size_t window_ = 1;
  std::vector<bool> is_handed_over_;  // by request
  ReplayPlan plan_;
};

}  // namespace

ReplayPlan plan_replay(const alloc::ProgramTrace& trace, const ReplayPlanOptions& options) {
  return Planner(trace, options).plan();
}

namespace {

// The smallest k with n <= 2^k.
std::size_t ceiling_log(std::uint64_t n) { return n <= 1 ? 0 : std::bit_width(n - 1); }

struct Request {
  std::uint64_t bytes;
  std::size_t event, kernel;
  std::uint32_t warp;
};

}  // namespace

TraceSummary summarize(const alloc::ProgramTrace& trace) {
  TraceSummary summary;
  summary.kernels = trace.kernel_ends.size();
  summary.min_bytes = trace.requests == 0 ? 0 : ~std::uint64_t{0};
  std::vector<Request> requests;
  requests.reserve(trace.requests);
  std::unordered_set<std::uint32_t> warps;
  std::uint64_t live = 0, live_padded = 0, blocks = 0;
  std::size_t kernel = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const alloc::TraceEvent& event = trace.events[i];
    if (i == trace.kernel_ends[kernel]) {
      ++kernel;
      warps.clear();
    }
    warps.insert(event.warp);
    summary.warps = std::max<std::uint64_t>(summary.warps, warps.size());
    if (event.kind == alloc::TraceEvent::Kind::allocate) {
      const std::uint64_t bytes = event.bytes;
      requests.push_back({bytes, i, kernel, event.warp});
      ++summary.requests;
      summary.requested += bytes;
      summary.padded_bytes += alloc::padded(bytes);
      summary.min_bytes = std::min(summary.min_bytes, bytes);
      summary.max_bytes = std::max(summary.max_bytes, bytes);
      ++summary.sizes[std::min<std::size_t>(ceiling_log(bytes), summary.sizes.size() - 1)];
      live += bytes;
      live_padded += alloc::padded(bytes);
      ++blocks;
      summary.peak_padded = std::max(summary.peak_padded, live_padded);
      if (live > summary.peak_bytes) {
        summary.peak_bytes = live;
        summary.peak_blocks = blocks;
        summary.peak_event = i + 1;
      }
    } else {
      const Request& request = requests[event.request];
      ++summary.frees;
      summary.other_frees += request.warp != event.warp || request.kernel != kernel;
      live -= request.bytes;
      live_padded -= alloc::padded(request.bytes);
      --blocks;
      ++summary.lifetimes[ceiling_log(i - request.event)];
    }
  }
  summary.end_bytes = live;
  return summary;
}

namespace {

template <class T>
simt::Buffer<T> uploaded(const simt::DeviceId& device, const std::vector<T>& host) {
  simt::Buffer<T> buffer(device, std::max<std::size_t>(1, host.size()));
  buffer.upload(host);
  return buffer;
}

}  // namespace

ReplayData::ReplayData(const simt::DeviceId& device, const ReplayPlan& plan)
    : bytes(uploaded(device, plan.bytes)),
      requests(uploaded(device, plan.requests)),
      groups(uploaded(device, plan.groups)),
      warp_begins(uploaded(device, plan.warp_begins)),
      progress(device, plan.warp_begins.size()),
      step_warps(uploaded(device, plan.step_warps)),
      steps_ended(device, plan.launches.size() + 1),
      blocks(device, plan.bytes.size() + 1),
      damaged(device, 1) {}

void ReplayData::reset(const ReplayPlan& plan) {
  progress.fill(0);
  step_warps.upload(plan.step_warps);
  steps_ended.fill(0);
  blocks.fill(0);
  damaged.fill(0);
}

ReplayInspector::ReplayInspector(const alloc::ProgramTrace& trace, alloc::Pool pool, bool in_pool)
    : trace_(trace),
      pool_(pool),
      in_pool_(in_pool),
      index_in_live_(trace.requests),
      touched_(in_pool ? pool.bytes / alloc::granule : 0) {
  bytes_.reserve(trace.requests);
}

void ReplayInspector::touch(std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t end = offset + alloc::padded(bytes);
  if (end > pool_.bytes) return;
  address_bytes_ = std::max(address_bytes_, end);
  for (std::uint64_t i = offset / alloc::granule; i < end / alloc::granule; ++i) {
    if (touched_[i]) continue;
    touched_[i] = true;
    touched_bytes_ += alloc::granule;
  }
}

void ReplayInspector::observe(std::size_t event, std::span<const std::uint64_t> blocks,
                              std::span<const alloc::Region> regions) {
  const auto base = reinterpret_cast<std::uintptr_t>(in_pool_ ? pool_.base : nullptr);
  const auto is_served = [&](std::uint32_t request) {
    return blocks[request] != ReplayBlock::refused && blocks[request] != ReplayBlock::unserved;
  };
  for (; next_ < event; ++next_) {
    const alloc::TraceEvent& now = trace_.events[next_];
    if (now.kind == alloc::TraceEvent::Kind::allocate) {
      bytes_.push_back(now.bytes);
      if (in_pool_ && is_served(now.request)) touch(blocks[now.request] - base, now.bytes);
      index_in_live_[now.request] = static_cast<std::uint32_t>(live_.size());
      live_.push_back(now.request);
    } else {
      // The last live block moves to the index of the freed one.
      const std::uint32_t index = index_in_live_[now.request], moved = live_.back();
      live_[index] = moved;
      index_in_live_[moved] = index;
      live_.pop_back();
    }
  }
  std::vector<alloc::LiveBlock> live;
  live.reserve(live_.size());
  ReplaySample sample;
  for (const std::uint32_t request : live_) {
    if (!is_served(request)) continue;
    live.push_back({blocks[request] - base, bytes_[request]});
    sample.pool.live_bytes += bytes_[request];
  }
  std::ranges::sort(live, {}, &alloc::LiveBlock::offset);
  sample.event = event;
  sample.pool.blocks = live.size();
  inspection_.overlaps += alloc::count_overlaps(live);
  if (in_pool_) {
    if (!live.empty())
      sample.pool.address_bytes = live.back().offset + alloc::padded(live.back().bytes);
    sample.pool.fragmentation = alloc::fragmentation_of_blocks(regions, live);
    sample.touched_bytes = touched_bytes_;
    sample.address_bytes = address_bytes_;
    for (const alloc::Region& region : regions) {
      const bool holds =
          region.state == alloc::Region::State::used || region.state == alloc::Region::State::held;
      sample.held_bytes += holds ? region.bytes : 0;
    }
  }
  inspection_.samples.push_back(sample);
}

}  // namespace heapwood::workloads
