// SPDX-License-Identifier: MIT
// A program trace arranged for its replay: one launch per recorded kernel, and for each recorded
// warp of a kernel its events in order. Plain host data; ReplayData (replay.hpp) is the same
// in device memory.
//
// Consecutive events of a warp that are of one kind and come from different lanes form a group. The
// lanes of a warp execute a group together, as when it was recorded.
//
// A warp of the replay does no work between its events, so without a limit warps would drift apart,
// and blocks would be in use together that never were in the recorded program. Therefore a kernel's
// events are divided into steps of `window` events, and no warp begins step k + 2 before all warps
// have ended step k.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "alloc/recording/program_trace.hpp"

namespace heapwood::workloads {

struct ReplayGroup {
  enum class Kind : std::uint32_t {
    allocate,
    free,
    enter,  // waits until step `first` may begin
    leave,  // ends step `first` for this warp
  };
  std::uint32_t first = 0;  // in ReplayPlan::requests, or the step
  std::uint32_t size : 6 = 0;
  Kind kind : 2 = Kind::allocate;
};
static_assert(sizeof(ReplayGroup) == 8);

struct ReplayLaunch {
  std::uint32_t first_warp = 0, warps = 0;  // in ReplayPlan::warp_begins
  std::uint32_t first_step = 0, steps = 0;  // in ReplayPlan::step_warps
  std::size_t end_event = 0;                // of the trace
};

struct ReplayPlan {
  // Flag of an event: another warp of the same launch frees the request's block, so the two warps
  // have to be ordered. All others are ordered by the warp or by the end of the launch.
  static constexpr std::uint32_t is_handed_over = 1u << 31;

  std::vector<std::uint64_t> bytes;  // by request
  // The request of each event, some with is_handed_over; by launch and warp.
  std::vector<std::uint32_t> requests;
  std::vector<ReplayGroup> groups;  // by launch and warp
  // Warp w of all launches has the groups [warp_begins[w], warp_begins[w + 1]).
  std::vector<std::uint32_t> warp_begins{0};
  // By launch and step: the number of warps that have events in it.
  std::vector<std::uint32_t> step_warps;
  std::vector<ReplayLaunch> launches;
};

struct ReplayPlanOptions {
  std::size_t window = 0;         // events per step; 0: chosen by plan_replay()
  std::vector<std::size_t> cuts;  // numbers of events, ascending, after which a launch also ends
};

// The trace is one that read_program_trace() accepts.
ReplayPlan plan_replay(const alloc::ProgramTrace& trace, const ReplayPlanOptions& options);

}  // namespace heapwood::workloads
