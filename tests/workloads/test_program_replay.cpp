// SPDX-License-Identifier: MIT
// Replay of program traces: order, dependencies, exhaustion, inspection, with every allocator.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "alloc/allocators/cuda_malloc.hpp"
#include "alloc/allocators/heapwood.hpp"
#include "simt/cpu.hpp"
#include "tests/simt/lockstep.hpp"
#include "tests/workloads/program_traces.hpp"
#include "tests/workloads/stress_jobs.hpp"
#include "workloads/program_trace/recorded_workloads_run.hpp"
#include "workloads/program_trace/replay.hpp"
#include "workloads/program_trace/replay_run.hpp"

namespace heapwood::workloads {
namespace {

using alloc::ProgramTrace;
using Kind = alloc::TraceEvent::Kind;

constexpr std::size_t ample_pool = std::size_t{4} << 20;

ReplayJob job_of(const simt::Memory& memory, const ReplayPlan& plan, ReplayData& data) {
  ReplayJob job;
  job.device = memory.device();
  job.pool = {memory.data(), memory.bytes()};
  job.plan = &plan;
  job.data = &data;
  return job;
}

class ProgramReplay : public StressJobs {
 protected:
  ReplayResult replay(const registry::CompiledAllocator& allocator, const ReplayPlan& plan,
                      ReplayData& data, std::size_t pool_bytes,
                      const ProgramTrace* inspected = nullptr) {
    if (memory_.bytes() != pool_bytes) memory_ = simt::Memory(device_, pool_bytes);
    ReplayJob job = job_of(memory_, plan, data);
    job.checks_contents = true;
    job.inspected = inspected;
    return allocator.replay(job);
  }
};

TEST_F(ProgramReplay, RunsWithEveryAllocator) {
  const ProgramTrace trace =
      tests::random_trace({.warps = 6, .lanes = 4, .kernels = 2, .events = 600, .max_live = 40});
  const TraceSummary summary = summarize(trace);
  // Toy has 64 blocks: no free may be more than a few mallocs late.
  const ReplayPlan plan = plan_replay(trace, {.window = 8, .cuts = {summary.peak_event}});
  ReplayData data(device_, plan);
  each_allocator([&](const registry::CompiledAllocator& allocator) {
    if (!allocator.traits->keeps_live_memory) return;
    const ReplayResult ample = replay(allocator, plan, data, ample_pool, &trace);
    EXPECT_EQ(ample.refused, 0u);
    EXPECT_EQ(ample.damaged, 0u);
    EXPECT_EQ(ample.inspection.overlaps, 0u);
    ASSERT_EQ(ample.inspection.samples.size(), plan.launches.size());
    const auto peak = std::ranges::find_if(
        ample.inspection.samples,
        [&](const ReplaySample& sample) { return sample.event == summary.peak_event; });
    ASSERT_NE(peak, ample.inspection.samples.end());
    EXPECT_EQ(peak->pool.live_bytes, summary.peak_bytes);
    EXPECT_EQ(peak->pool.blocks, summary.peak_blocks);
    EXPECT_EQ(ample.inspection.samples.back().pool.live_bytes, summary.end_bytes);
    if (peak->pool.fragmentation.measured) {
      EXPECT_GE(peak->held_bytes, summary.peak_bytes);
      EXPECT_GE(peak->touched_bytes, summary.peak_bytes);
      EXPECT_GE(peak->address_bytes, peak->touched_bytes);
    }
  });
}

// More is requested than the pool holds: refused requests and their frees do no harm.
TEST_F(ProgramReplay, RefusedRequestsDoNoHarm) {
  const ProgramTrace trace = tests::random_trace(
      {.warps = 6, .lanes = 4, .kernels = 2, .events = 800, .max_bytes = 4000, .max_live = 400});
  ASSERT_GT(summarize(trace).peak_padded, std::size_t{300} << 10);
  const ReplayPlan plan = plan_replay(trace, {});
  ReplayData data(device_, plan);
  each_allocator([&](const registry::CompiledAllocator& allocator) {
    const std::size_t pool = std::max<std::size_t>(128 << 10, allocator.traits->smallest_pool);
    if (!allocator.traits->keeps_live_memory) return;
    const ReplayResult result = replay(allocator, plan, data, pool);
    EXPECT_EQ(result.damaged, 0u);
    if (!allocator.traits->in_pool || pool > 128 << 10) return;
    EXPECT_GT(result.refused, 0u);
    EXPECT_GT(result.first_refused_bytes, 0u);
  });
}

// Blocks of a heap outside the pool, which nothing resets, are freed at the end, also if the time
// limit is the end.
TEST_F(ProgramReplay, LeavesNoBlocksInAHeapOutsideThePool) {
  if (device_.kind != simt::DeviceKind::cpu) GTEST_SKIP() << "a GPU's heap does not count";
  const registry::RegisteredAllocator* const builtin = registry::find("cuda");
  if (builtin == nullptr) GTEST_SKIP() << "not compiled in";
  const ProgramTrace trace =
      tests::random_trace({.warps = 6, .lanes = 4, .kernels = 1, .events = 600, .max_live = 400});
  ASSERT_GT(summarize(trace).end_bytes, 0u);
  for (const bool ends : {true, false}) {
    ReplayPlan plan = plan_replay(trace, {.window = 64, .cuts = {}});
    // One warp more than there are: the first step never ends, and the third never begins.
    if (!ends) ++plan.step_warps.front();
    ReplayData data(device_, plan);
    memory_ = simt::Memory(device_, ample_pool);
    ReplayJob job = job_of(memory_, plan, data);
    if (ends) {
      builtin->on(device_.kind)->replay(job);
    } else {
      job.seconds = 0.1;
      EXPECT_THROW(builtin->on(device_.kind)->replay(job), simt::Stopped);
    }
    EXPECT_EQ(reinterpret_cast<const alloc::CudaMalloc::Head*>(memory_.data())->live, 0u) << ends;
  }
}

// Without calls of the allocator, every event still takes its turn.
TEST_F(ProgramReplay, TakesTurnsWithoutCalls) {
  const ProgramTrace trace = tests::random_trace({});
  const ReplayPlan plan = plan_replay(trace, {});
  ReplayData data(device_, plan);
  memory_ = simt::Memory(device_, ample_pool);
  ReplayJob job = job_of(memory_, plan, data);
  job.calls = false;
  const ReplayResult result = registry::allocators().front().on(device_.kind)->replay(job);
  EXPECT_EQ(result.refused, 0u);
  EXPECT_GT(result.ms, 0);
}

// What a warp did, in its order; a request is known by its warp and its number there.
struct Deed {
  Kind kind;
  std::uint64_t bytes;
  std::uint32_t warp, number;  // warp and number of the request
  bool operator==(const Deed&) const = default;
};

std::vector<std::vector<Deed>> deeds_of(const ProgramTrace& trace, std::uint32_t warps) {
  std::vector<std::vector<Deed>> deeds(warps);
  std::vector<Deed> requests;
  std::vector<std::uint32_t> counts(warps);
  for (const alloc::TraceEvent& event : trace.events) {
    if (event.kind == Kind::allocate)
      requests.push_back({Kind::allocate, event.bytes, event.warp, counts[event.warp]++});
    Deed deed = requests[event.request];
    deed.kind = event.kind;
    deeds[event.warp].push_back(deed);
  }
  return deeds;
}

// Replays with Heapwood and records that.
template <class Device>
ProgramTrace replay_recorded(const RecordingDevice<Device>& device, const ReplayPlan& plan) {
  const simt::Memory memory(device.id(), ample_pool);
  ReplayData data(device.id(), plan);
  ReplayJob job = job_of(memory, plan, data);
  job.checks_contents = true;
  const ReplayResult result = replay_program<RecordingOn<alloc::Heapwood>>(device, job);
  EXPECT_EQ(result.refused, 0u);
  EXPECT_EQ(result.damaged, 0u);
  const alloc::RecordedMemory& recorded = *device.recorded;
  ProgramTrace trace = alloc::make_program_trace(recorded.events(), recorded.kernel_ends(),
                                                 recorded.total(), recorded.refused());
  EXPECT_EQ(trace.unmatched, 0u);
  return trace;
}

TEST(ProgramReplayOrder, WarpsKeepTheirOrder) {
  constexpr std::uint32_t warps = 3;
  const ProgramTrace trace = tests::random_trace({.warps = warps});
  const simt::DeviceId id{.threads = warps};
  alloc::RecordedMemory memory(id, 1 << 16);
  const RecordingDevice device(simt::Cpu(id), memory);
  for (const std::size_t window : {std::size_t{0}, std::size_t{64}}) {
    const ProgramTrace again =
        replay_recorded(device, plan_replay(trace, {.window = window, .cuts = {}}));
    EXPECT_EQ(deeds_of(again, warps), deeds_of(trace, warps)) << window;
  }
}

// One thread replays all warps in turn, although each waits for others.
TEST(ProgramReplayOrder, FewThreadsReplayManyWarps) {
  const ProgramTrace trace = tests::random_trace({.warps = 60, .lanes = 3});
  const simt::DeviceId id{.threads = 1};
  alloc::RecordedMemory memory(id, 1 << 16);
  const RecordingDevice device(simt::Cpu(id), memory);
  const ProgramTrace again =
      replay_recorded(device, plan_replay(trace, {.window = 16, .cuts = {}}));
  EXPECT_EQ(again.events.size(), trace.events.size());
}

// No event runs before all events two steps earlier.
TEST(ProgramReplayOrder, WindowLimitsTheDrift) {
  constexpr std::size_t window = 50;
  const ProgramTrace trace = tests::random_trace({.warps = 4, .kernels = 1});
  // The size of a block names its request.
  ProgramTrace named = trace;
  std::map<std::pair<Kind, std::uint64_t>, std::size_t> numbers;
  std::vector<std::uint64_t> bytes;
  for (std::size_t i = 0; i < named.events.size(); ++i) {
    alloc::TraceEvent& event = named.events[i];
    if (event.kind == Kind::allocate) {
      event.bytes = event.request + 1;
      bytes.push_back(event.bytes);
    }
    numbers[{event.kind, bytes[event.request]}] = i;
  }
  const simt::DeviceId id{.threads = 4};
  alloc::RecordedMemory memory(id, 1 << 16);
  const RecordingDevice device(simt::Cpu(id), memory);
  const ProgramTrace again =
      replay_recorded(device, plan_replay(named, {.window = window, .cuts = {}}));
  ASSERT_EQ(again.events.size(), named.events.size());
  std::vector<std::size_t> steps;
  bytes.clear();
  for (const alloc::TraceEvent& event : again.events) {
    if (event.kind == Kind::allocate) bytes.push_back(event.bytes);
    steps.push_back(numbers.at({event.kind, bytes[event.request]}) / window);
  }
  std::size_t lowest_later = ~std::size_t{0};
  for (std::size_t i = steps.size(); i-- > 0;) {
    lowest_later = std::min(lowest_later, steps[i]);
    EXPECT_LE(steps[i], lowest_later + 1) << i;
  }
}

// The lanes are threads that really race.
TEST(ProgramReplayOrder, KeepsLanesOfAWarpTogether) {
  const ProgramTrace trace =
      tests::random_trace({.warps = 3, .lanes = 4, .kernels = 1, .events = 150});
  alloc::RecordedMemory memory({}, 1 << 16);
  const RecordingDevice device(simt::Lockstep<4>(2), memory);
  const ProgramTrace again =
      replay_recorded(device, plan_replay(trace, {.window = 32, .cuts = {}}));
  EXPECT_EQ(again.events.size(), trace.events.size());
}

void add(ProgramTrace& trace, Kind kind, std::uint32_t warp, std::uint32_t request,
         unsigned bytes = 0, std::uint32_t lane = 0) {
  alloc::TraceEvent event;
  event.kind = kind;
  event.warp = warp;
  event.lane = lane & 31u;
  event.request = request;
  event.bytes = bytes;
  trace.events.push_back(event);
  trace.requests += kind == Kind::allocate;
}

TEST(ProgramReplayPlan, GroupsEventsOfDifferentLanes) {
  ProgramTrace trace;
  for (const std::uint32_t lane : {0, 1, 2, 1, 2})
    add(trace, Kind::allocate, 0, trace.requests, 0, lane);
  for (const std::uint32_t request : {4, 1}) add(trace, Kind::free, 0, request, 0, request);
  trace.kernel_ends = {7};
  const ReplayPlan plan = plan_replay(trace, {});
  ASSERT_EQ(plan.launches.size(), 1u);
  ASSERT_EQ(plan.warp_begins[1], 3u);
  const unsigned sizes[] = {3, 2, 2};
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(plan.groups[i].size, sizes[i]) << i;
    EXPECT_EQ(plan.groups[i].kind, i < 2 ? ReplayGroup::Kind::allocate : ReplayGroup::Kind::free);
  }
  EXPECT_EQ(plan.requests, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 4, 1}));
}

TEST(TraceSummary, CountsWhatIsInUse) {
  ProgramTrace trace;
  add(trace, Kind::allocate, 0, 0, 100);
  add(trace, Kind::allocate, 1, 1, 17);
  add(trace, Kind::free, 1, 0);
  trace.kernel_ends.push_back(3);
  add(trace, Kind::allocate, 5, 2, 1);
  add(trace, Kind::free, 5, 2);
  add(trace, Kind::free, 1, 1);
  trace.kernel_ends.push_back(6);
  const TraceSummary summary = summarize(trace);
  EXPECT_EQ(summary.requests, 3u);
  EXPECT_EQ(summary.frees, 3u);
  EXPECT_EQ(summary.other_frees, 2u);  // one by another warp, one in a later kernel
  EXPECT_EQ(summary.warps, 2u);
  EXPECT_EQ(summary.requested, 118u);
  EXPECT_EQ(summary.padded_bytes, 112u + 32u + 16u);
  EXPECT_EQ(summary.peak_bytes, 117u);
  EXPECT_EQ(summary.peak_blocks, 2u);
  EXPECT_EQ(summary.peak_event, 2u);
  EXPECT_EQ(summary.end_bytes, 0u);
  EXPECT_EQ(summary.sizes[7], 1u);
  EXPECT_EQ(summary.sizes[5], 1u);
  EXPECT_EQ(summary.sizes[0], 1u);
  EXPECT_EQ(summary.lifetimes[0], 1u);
  EXPECT_EQ(summary.lifetimes[1], 1u);
  EXPECT_EQ(summary.lifetimes[2], 1u);
  // As large as an event can hold; recordings in memory are not checked as files are.
  trace.events[0].bytes = (std::uint64_t{1} << 48) - 1;
  EXPECT_EQ(summarize(trace).sizes.back(), 1u);
}

}  // namespace
}  // namespace heapwood::workloads
