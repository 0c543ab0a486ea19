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

// A summary of a program trace: sizes, memory in use, lifetimes.
struct TraceSummary {
  std::uint64_t requests = 0, frees = 0, kernels = 0;
  std::uint64_t warps = 0;  // max number of warps in a kernel that allocate or free
  // Frees of a block that another warp, or an earlier kernel, requested.
  std::uint64_t other_frees = 0;
  std::uint64_t requested = 0;     // sum of the bytes of all requests
  std::uint64_t padded_bytes = 0;  // the same sum with each request padded to the granule
  std::uint64_t min_bytes = 0, max_bytes = 0;
  // Bytes requested and not freed, at the end and at the peak. peak_event is the number of events
  // up to the peak, peak_blocks the number of blocks in use then.
  std::uint64_t end_bytes = 0, peak_bytes = 0, peak_blocks = 0;
  std::size_t peak_event = 0;
  // Largest sum of padded bytes in use: no allocator can serve the trace with less memory.
  std::uint64_t peak_padded = 0;
  // sizes[k] counts requests of 2^(k-1) < bytes <= 2^k. sizes[0]: of 0 or 1 byte. The last entry
  // also counts all larger ones.
  std::array<std::uint64_t, 41> sizes{};
  // lifetimes[k]: blocks freed 2^(k-1) < events <= 2^k after their request; lifetimes[0]: 1 event.
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
  std::uint32_t first = 0;  // index in ReplayPlan::requests; for enter and leave the step
  std::uint32_t size : 6 = 0;
  Kind kind : 2 = Kind::allocate;
};
static_assert(sizeof(ReplayGroup) == 8);

struct ReplayLaunch {
  std::uint32_t first_warp = 0, warps = 0;  // indices in ReplayPlan::warp_begins
  std::uint32_t first_step = 0, steps = 0;  // indices in ReplayPlan::step_warps
  std::size_t end_event = 0;                // number of events of the trace up to the launch's end
};

struct ReplayPlan {
  // Flag of an event whose block one warp requests and another warp of the launch frees: the replay
  // has to order the two. For other blocks the order within a warp or between launches suffices.
  static constexpr std::uint32_t is_handed_over = 1u << 31;

  std::vector<std::uint64_t> bytes;  // by number of the request
  // The request of each event, some with the flag is_handed_over; ordered by launch and warp.
  std::vector<std::uint32_t> requests;
  std::vector<ReplayGroup> groups;  // ordered by launch and warp
  // The groups of warp w, counted over all launches, are [warp_begins[w], warp_begins[w + 1]).
  std::vector<std::uint32_t> warp_begins{0};
  // For each step of each launch the number of warps that have events in it.
  std::vector<std::uint32_t> step_warps;
  std::vector<ReplayLaunch> launches;
};

struct ReplayPlanOptions {
  std::size_t window = 0;         // events per step; 0: plan_replay() chooses
  std::vector<std::size_t> cuts;  // ascending numbers of events after which a launch must also end
};

// `trace` must be one that read_program_trace() accepts.
ReplayPlan plan_replay(const alloc::ProgramTrace& trace, const ReplayPlanOptions& options);

// Values of ReplayData::blocks that are not addresses.
struct ReplayBlock {
  static constexpr std::uint64_t unserved = 0;  // not requested yet
  static constexpr std::uint64_t refused = 1;   // refused: frees of the block do nothing
  static constexpr std::uint64_t freed = 2;     // freed; stored only with ReplayKernel::marks_frees
  static constexpr bool is_address(std::uint64_t value) { return value > freed; }
};

// A replay plan in device memory, and the memory that a replay writes; for one at a time.
struct ReplayData {
  ReplayData(const simt::DeviceId& device, const ReplayPlan& plan);
  // Must be called before each replay.
  void reset(const ReplayPlan& plan);

  simt::Buffer<std::uint64_t> bytes;
  simt::Buffer<std::uint32_t> requests;
  simt::Buffer<ReplayGroup> groups;
  simt::Buffer<std::uint32_t> warp_begins;
  simt::Buffer<std::uint32_t> progress;     // by warp: number of groups executed
  simt::Buffer<std::uint32_t> step_warps;   // by step: warps that have not ended it
  simt::Buffer<std::uint32_t> steps_ended;  // by launch: number of steps ended
  simt::Buffer<std::uint64_t> blocks;       // by request: the block's address, or a ReplayBlock
  simt::Buffer<std::uint64_t> damaged;      // one number: blocks whose contents were changed
};

// ---- memory use: the pool at several times, while no kernel runs --------------------------------

// The state of the pool after a number of events of the trace.
struct ReplaySample {
  std::size_t event = 0;
  PoolState pool;
  // Bytes of the pool that have belonged to a block at any time, and the end of the highest block.
  std::uint64_t touched_bytes = 0, address_bytes = 0;

  // Bytes that are neither free nor the allocator's tables; 0 if the pool cannot be walked.
  std::uint64_t held_bytes = 0;
};

struct ReplayInspection {
  std::vector<ReplaySample> samples;
  std::uint64_t overlaps = 0;  // pairs of overlapping blocks in use, summed over all samples
};

// Follows a trace from sample to sample and inspects the pool at each.
class ReplayInspector {
 public:
  // in_pool: whether blocks lie in the pool and it can be walked.
  ReplayInspector(const alloc::ProgramTrace& trace, alloc::Pool pool, bool in_pool);

  // Takes a sample after `event` events, from ReplayData::blocks and a walk of the pool.
  void observe(std::size_t event, std::span<const std::uint64_t> blocks,
               std::span<const alloc::Region> regions);
  ReplayInspection take() { return std::move(inspection_); }

 private:
  void touch(std::uint64_t offset, std::uint64_t bytes);

  const alloc::ProgramTrace& trace_;
  alloc::Pool pool_;
  bool in_pool_;
  std::size_t next_ = 0;                      // number of the next event
  std::vector<std::uint32_t> live_;           // requests whose blocks are in use
  std::vector<std::uint32_t> index_in_live_;  // by request
  std::vector<std::uint64_t> bytes_;          // by request
  std::vector<bool> touched_;                 // by granule of the pool
  std::uint64_t touched_bytes_ = 0, address_bytes_ = 0;
  ReplayInspection inspection_;
};

struct ReplayJob {
  simt::DeviceId device;
  // Owned by the caller; only its head is touched if blocks lie outside it (traits.in_pool).
  alloc::Pool pool;
  alloc::AllocatorOptions options;
  const ReplayPlan* plan = nullptr;
  ReplayData* data = nullptr;  // the plan, on the job's device
  // If false, the replay does everything except call the allocator, to measure its own time.
  bool calls = true;
  // Writes the first and the last word of each block and checks them before the block is freed.
  bool checks_contents = false;
  // The trace of the plan: then the pool is inspected after each launch. nullptr: no inspection.
  const alloc::ProgramTrace* inspected = nullptr;
  double seconds = 60;  // time limit of all launches together
};

struct ReplayResult {
  double reset_ms = 0;  // create(), by the host's clock
  double ms = 0;        // duration of all launches
  std::uint64_t refused = 0;
  std::uint64_t first_refused_bytes = 0;  // size of the refused request with the lowest number
  std::uint64_t damaged = 0;              // blocks whose contents were changed
  ReplayInspection inspection;
};

}  // namespace heapwood::workloads
