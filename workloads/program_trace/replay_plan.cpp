// SPDX-License-Identifier: MIT
#include "workloads/program_trace/replay.hpp"

#include <algorithm>
#include <numeric>
#include <span>

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
    std::sort(ends.begin(), ends.end());
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

}  // namespace heapwood::workloads
