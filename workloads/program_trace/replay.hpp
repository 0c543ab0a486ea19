// SPDX-License-Identifier: MIT
// Replays a program trace with one allocator. A job is plain host data; the kernel that runs it is
// in replay_run.hpp, called through registry::CompiledAllocator::replay.
//
// A free waits until its block's request has been served, and does nothing if that was refused. No
// wait can last forever: the plan orders the events so that one that is not waiting always exists.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/recording/program_trace.hpp"
#include "alloc/statistics.hpp"
#include "simt/memory.hpp"
#include "workloads/stress.hpp"

namespace heapwood::workloads {

// A program trace in figures: sizes, memory in use, lifetimes.
struct TraceSummary {
  std::uint64_t requests = 0, frees = 0, kernels = 0;
  std::uint64_t warps = 0;         // max number of warps in a kernel that allocate or free
  std::uint64_t other_frees = 0;   // of a block that another warp, or an earlier kernel, requested
  std::uint64_t requested = 0;     // bytes of all requests
  std::uint64_t padded_bytes = 0;  // the same, each padded to the granule
  std::uint64_t min_bytes = 0, max_bytes = 0;
  // Bytes requested and not freed: at the end, and the max at any time, with the number of events
  // until then and the blocks in use.
  std::uint64_t end_bytes = 0, peak_bytes = 0, peak_blocks = 0;
  std::size_t peak_event = 0;
  // Largest sum of padded bytes in use at any time: no allocator serves all with less memory.
  std::uint64_t peak_padded = 0;
  // [k]: requests of 2^(k-1) < bytes <= 2^k; [0]: of 0 or 1 byte; the last: of larger ones too.
  std::array<std::uint64_t, 41> sizes{};
  // [k]: freed blocks with 2^(k-1) < events from request to free <= 2^k; [0]: 1 event.
  std::array<std::uint64_t, 33> lifetimes{};
};

TraceSummary summarize(const alloc::ProgramTrace& trace);

// A program trace arranged for its replay: one launch per recorded kernel, and for each recorded
// warp of a kernel its events in order. Consecutive events of a warp that are of one kind and come
// from different lanes form a group, which the lanes of a warp execute together.
//
// A warp of the replay does no work between its events, so without a limit warps would drift apart,
// and blocks would be in use together that never were in the recorded program. Therefore a kernel's
// events are divided into steps of `window` events, and no warp begins step k + 2 before all warps
// have ended step k.
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

// Values of ReplayData::blocks that are not addresses.
struct ReplayBlock {
  static constexpr std::uint64_t unserved = 0;  // not requested yet
  static constexpr std::uint64_t refused = 1;   // frees of it do nothing
  static constexpr std::uint64_t freed = 2;     // only with ReplayKernel::marks_frees
  static constexpr bool is_address(std::uint64_t value) { return value > freed; }
};

// A replay plan in device memory, with the memory that a replay writes. For one replay at a time.
struct ReplayData {
  ReplayData(const simt::DeviceId& device, const ReplayPlan& plan);
  // Before each replay.
  void reset(const ReplayPlan& plan);

  simt::Buffer<std::uint64_t> bytes;
  simt::Buffer<std::uint32_t> requests;
  simt::Buffer<ReplayGroup> groups;
  simt::Buffer<std::uint32_t> warp_begins;
  simt::Buffer<std::uint32_t> progress;     // by warp: groups executed
  simt::Buffer<std::uint32_t> step_warps;   // that have not ended the step
  simt::Buffer<std::uint32_t> steps_ended;  // by launch
  simt::Buffer<std::uint64_t> blocks;       // by request: its address, or a ReplayBlock
  simt::Buffer<std::uint64_t> damaged;      // one number
};

// ---- memory use: the pool at several times, while no kernel runs --------------------------------

// The pool after a number of events of the trace.
struct ReplaySample {
  std::size_t event = 0;
  PoolState pool;
  // Bytes of the pool that have been part of a block at any time, and the end of the highest one.
  std::uint64_t touched_bytes = 0, address_bytes = 0;

  // Neither free nor the allocator's tables; 0 if the pool cannot be walked.
  std::uint64_t held_bytes = 0;
};

struct ReplayInspection {
  std::vector<ReplaySample> samples;
  std::uint64_t overlaps = 0;  // between blocks in use together, in all samples
};

// Follows a trace from sample to sample.
class ReplayInspector {
 public:
  // in_pool: blocks lie in the pool, which can be walked.
  ReplayInspector(const alloc::ProgramTrace& trace, alloc::Pool pool, bool in_pool);

  // blocks: ReplayData::blocks after the first `event` events; regions: a walk.
  void observe(std::size_t event, std::span<const std::uint64_t> blocks,
               std::span<const alloc::Region> regions);
  ReplayInspection take() { return std::move(inspection_); }

 private:
  void touch(std::uint64_t offset, std::uint64_t bytes);

  const alloc::ProgramTrace& trace_;
  alloc::Pool pool_;
  bool in_pool_;
  std::size_t next_ = 0;                      // event
  std::vector<std::uint32_t> live_;           // requests
  std::vector<std::uint32_t> index_in_live_;  // of each request
  std::vector<std::uint64_t> bytes_;          // by request
  std::vector<bool> touched_;                 // granules of the pool
  std::uint64_t touched_bytes_ = 0, address_bytes_ = 0;
  ReplayInspection inspection_;
};

struct ReplayJob {
  simt::DeviceId device;
  // Owned by the caller; only its head is touched if blocks lie outside it (traits.in_pool).
  alloc::Pool pool;
  alloc::AllocatorOptions options;
  const ReplayPlan* plan = nullptr;
  ReplayData* data = nullptr;  // of the plan, on the device
  // False: everything but the calls of the allocator, for the time that the replay itself takes.
  bool calls = true;
  // Writes the first and the last word of each block, and checks them before it is freed.
  bool checks_contents = false;
  // Inspects the pool after each launch. Of the plan's trace.
  const alloc::ProgramTrace* inspected = nullptr;
  double seconds = 60;  // limit of all launches together
};

struct ReplayResult {
  double reset_ms = 0;  // create(), by the host's clock
  double ms = 0;        // all launches
  std::uint64_t refused = 0;
  std::uint64_t first_refused_bytes = 0;  // of the refused request with the lowest number
  std::uint64_t damaged = 0;              // blocks whose contents were changed
  ReplayInspection inspection;
};

}  // namespace heapwood::workloads
