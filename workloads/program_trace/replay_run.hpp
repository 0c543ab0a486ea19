// SPDX-License-Identifier: MIT
// Runs a ReplayJob with allocator A on a Device. In the kernel each warp replays one or more
// recorded warps: it executes the groups of one until a group has to wait, and then goes to the
// next. So a recorded warp may wait for any other, whatever the number of resident warps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "alloc/allocator.hpp"
#include "simt/atomic_ref.hpp"
#include "simt/clock.hpp"
#include "simt/error.hpp"
#include "simt/launch.hpp"
#include "workloads/program_trace/replay.hpp"
#include "workloads/thread_kernels.hpp"

namespace heapwood::workloads {

template <class A>
struct ReplayKernel {
  struct Scratch {};
  // 32 warps per multiprocessor, as in most programs, which leaves 64 registers per thread.
  static constexpr unsigned block_threads = 256, blocks_per_multiprocessor = 4;

  A allocator;
  // The arrays of ReplayData, beginning with the launch's first warp or step.
  const std::uint64_t* bytes;
  const std::uint32_t* requests;
  const ReplayGroup* groups;
  const std::uint32_t* begins;
  std::uint32_t* progress;
  std::uint32_t* step_warps;
  std::uint32_t* steps_ended;
  std::uint64_t* blocks;
  std::uint64_t* damaged;
  std::uint32_t warps;
  bool calls, checks_contents;
  bool marks_frees;  // sets `blocks` to ReplayBlock::freed

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    A a = allocator;
    unsigned idle = 0;
    bool is_pending = true;
    while (is_pending) {
      bool has_moved = false;
      is_pending = false;
      HEAPWOOD_ROLLED
      for (std::uint32_t w = warp.worker(); w < warps; w += warp.workers()) {
        const std::uint32_t first = begins[w], count = begins[w + 1] - first, before = progress[w];
        std::uint32_t done = before;
        HEAPWOOD_ROLLED
        while (done < count && execute(warp, a, groups[first + done])) {
          ++done;
          if ((done & 63) == 0 && warp.any(warp.aborted())) return;
        }
        warp.sync();  // all lanes have read the progress
        if (warp.lane() == 0) progress[w] = done;
        warp.sync();
        has_moved |= done != before;
        is_pending |= done < count;
      }
      idle = has_moved ? 0 : idle + 1;
      if ((idle & 63) == 63 && warp.any(warp.aborted())) return;
      if (idle != 0) warp.pause(idle);
    }
  }

 private:
  // Executes a group. Returns false, without any effect, if the group has to wait. Contains one
  // call of malloc and one of free, so that the allocator is inlined only once.
  template <class Warp>
  HEAPWOOD_INLINE bool execute(Warp& warp, A& a, const ReplayGroup& group) const {
    if (group.kind == ReplayGroup::Kind::enter)
      return warp.any(warp.lane() == 0 && may_enter(group.first));
    if (group.kind == ReplayGroup::Kind::leave) {
      warp.sync();  // all lanes have executed their events
      // relaxed: the count orders nothing; `blocks` hands the blocks over.
      if (warp.lane() == 0)
        simt::atomic_ref<std::uint32_t>(step_warps[group.first]).fetch_sub(1, simt::relaxed);
    } else if (group.kind == ReplayGroup::Kind::allocate) {
      HEAPWOOD_ROLLED
      for (std::uint32_t i = warp.lane(); i < group.size; i += Warp::width) {
        const std::uint32_t event = requests[group.first + i],
                            request = event & ~ReplayPlan::is_handed_over;
        const std::uint64_t size = bytes[request];
        void* const block = calls ? a.allocate(warp, static_cast<std::size_t>(size)) : nullptr;
        if (checks_contents && block != nullptr) mark_contents(block, size, request);
        const std::uint64_t address =
            block == nullptr ? ReplayBlock::refused
                             : static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(block));
        const simt::atomic_ref<std::uint64_t> entry(blocks[request]);
        // release: makes the block's contents visible to the warp that frees it. relaxed otherwise:
        // the block is freed by this warp or in a later launch.
        if ((event & ReplayPlan::is_handed_over) != 0)
          entry.store(address, simt::release);
        else
          entry.store(address, simt::relaxed);
      }
    } else {
      // A group of frees waits until all its blocks have been allocated.
      bool waits = false;
      HEAPWOOD_ROLLED
      for (std::uint32_t i = warp.lane(); i < group.size; i += Warp::width) {
        // relaxed: the acquire below is executed once, not in every turn of a wait.
        const std::uint32_t request = requests[group.first + i] & ~ReplayPlan::is_handed_over;
        waits |= simt::atomic_ref<std::uint64_t>(blocks[request]).load(simt::relaxed) ==
                 ReplayBlock::unserved;
      }
      if (warp.any(waits)) return false;
      HEAPWOOD_ROLLED
      for (std::uint32_t i = warp.lane(); i < group.size; i += Warp::width) {
        const std::uint32_t event = requests[group.first + i],
                            request = event & ~ReplayPlan::is_handed_over;
        const simt::atomic_ref<std::uint64_t> entry(blocks[request]);
        // acquire: makes the contents that another warp of the launch has written visible. relaxed
        // otherwise: this warp or an earlier launch wrote them.
        const std::uint64_t address = (event & ReplayPlan::is_handed_over) != 0
                                          ? entry.load(simt::acquire)
                                          : entry.load(simt::relaxed);
        if (address == ReplayBlock::refused) continue;
        void* const block = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
        if (checks_contents && !is_intact(block, bytes[request], request))
          simt::atomic_ref<std::uint64_t>(*damaged).fetch_add(1, simt::relaxed);
        a.deallocate(warp, block);
        // relaxed: the host reads it after the launch.
        if (marks_frees) entry.store(ReplayBlock::freed, simt::relaxed);
      }
    }
    warp.sync();
    return true;
  }

  // Whether all steps before the previous one have ended, so that `step` may begin. Warps that wait
  // here advance the count of ended steps.
  HEAPWOOD_INLINE bool may_enter(std::uint32_t step) const {
    const simt::atomic_ref<std::uint32_t> ended(*steps_ended);
    // relaxed: the counts order nothing.
    std::uint32_t count = ended.load(simt::relaxed);
    if (count + 1 >= step) return true;
    if (simt::atomic_ref<std::uint32_t>(step_warps[count]).load(simt::relaxed) == 0)
      ended.compare_exchange_strong(count, count + 1, simt::relaxed, simt::relaxed);
    return false;
  }

  static constexpr unsigned word_bytes = 4;
  HEAPWOOD_INLINE static std::uint32_t word_of(std::uint32_t request) {
    return request * 2654435761u;
  }
  HEAPWOOD_INLINE static void mark_contents(void* block, std::uint64_t size,
                                            std::uint32_t request) {
    if (size < word_bytes) return;
    auto* const words = static_cast<std::uint32_t*>(block);
    words[0] = words[size / word_bytes - 1] = word_of(request);
  }
  HEAPWOOD_INLINE static bool is_intact(const void* block, std::uint64_t size,
                                        std::uint32_t request) {
    if (size < word_bytes) return true;
    const auto* const words = static_cast<const std::uint32_t*>(block);
    return words[0] == word_of(request) && words[size / word_bytes - 1] == word_of(request);
  }
};

// Frees the blocks that are in use after a replay.
template <class A>
struct ReplayReleaseKernel {
  struct Scratch {};
  static constexpr unsigned block_threads = 256, blocks_per_multiprocessor = 4;

  A allocator;
  std::uint64_t* blocks;
  std::uint64_t requests;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    A a = allocator;
    const std::uint64_t stride = std::uint64_t{warp.workers()} * Warp::width;
    HEAPWOOD_ROLLED
    for (std::uint64_t r = std::uint64_t{warp.worker()} * Warp::width + warp.lane(); r < requests;
         r += stride) {
      if (!ReplayBlock::is_address(blocks[r])) continue;
      a.deallocate(warp, reinterpret_cast<void*>(static_cast<std::uintptr_t>(blocks[r])));
      blocks[r] = ReplayBlock::freed;
    }
  }
};

template <class A, class Device>
class ReplayRun {
 public:
  ReplayRun(const Device& device, const ReplayJob& job)
      : device_(device), job_(job), plan_(*job.plan), data_(*job.data) {}

  ReplayResult run() {
    data_.reset(plan_);
    result_.reset_ms =
        simt::measure_ms([&] { allocator_ = A::create(job_.pool, job_.options, device_); });
    const alloc::ReleaseAtEnd<A, Device> release(job_.pool, device_);
    std::optional<ReplayInspector> inspector;
    if (job_.inspected != nullptr) inspector.emplace(*job_.inspected, job_.pool, traits().in_pool);
    for (std::size_t i = 0; i < plan_.launches.size(); ++i) {
      try {
        result_.ms += launch(i);
      } catch (const simt::Stopped&) {
        free_remaining();
        throw;
      }
      if (inspector) {
        const std::vector<std::uint64_t> blocks = data_.blocks.download();
        inspector->observe(plan_.launches[i].end_event, blocks,
                           alloc::regions_of(allocator_, job_.device));
      }
    }
    if (inspector) result_.inspection = inspector->take();
    count_refused();
    free_remaining();
    result_.damaged = data_.damaged.download().front();
    return result_;
  }

 private:
  double launch(std::size_t number) {
    const ReplayLaunch& part = plan_.launches[number];
    using Kernel = ReplayKernel<A>;
    Kernel kernel{};
    kernel.allocator = allocator_;
    kernel.bytes = data_.bytes.data();
    kernel.requests = data_.requests.data();
    kernel.groups = data_.groups.data();
    kernel.begins = data_.warp_begins.data() + part.first_warp;
    kernel.progress = data_.progress.data() + part.first_warp;
    kernel.step_warps = data_.step_warps.data() + part.first_step;
    kernel.steps_ended = data_.steps_ended.data() + number;
    kernel.blocks = data_.blocks.data();
    kernel.damaged = data_.damaged.data();
    kernel.warps = part.warps;
    kernel.calls = job_.calls;
    kernel.checks_contents = job_.checks_contents;
    kernel.marks_frees = !traits().in_pool;
    const double left = std::max(0.1, job_.seconds - result_.ms / 1e3);
    return device_.launch(kernel,
                          std::min<unsigned>(part.warps, device_.template resident_warps<Kernel>()),
                          {.seconds = left, .what = traits().id, .stated_seconds = job_.seconds});
  }

  void free_remaining() {
    if constexpr (!alloc::stays_in_pool<A>) {
      using Kernel = ReplayReleaseKernel<A>;
      if (!traits().in_pool && job_.calls)
        device_.launch(Kernel{allocator_, data_.blocks.data(), plan_.bytes.size()},
                       device_.template resident_warps<Kernel>(),
                       {.seconds = max_free_seconds, .what = traits().id});
    }
  }

  void count_refused() {
    if (!job_.calls) return;
    const std::vector<std::uint64_t> blocks = data_.blocks.download();
    for (std::size_t r = 0; r < plan_.bytes.size(); ++r) {
      if (blocks[r] != ReplayBlock::refused) continue;
      if (result_.refused++ == 0) result_.first_refused_bytes = plan_.bytes[r];
    }
  }

  const alloc::AllocatorTraits& traits() const { return alloc::traits_on<A>(device_); }

  const Device& device_;
  const ReplayJob& job_;
  const ReplayPlan& plan_;
  ReplayData& data_;
  A allocator_{};
  ReplayResult result_;
};

template <class A, class Device>
ReplayResult replay_program(const Device& device, const ReplayJob& job) {
  return ReplayRun<A, Device>(device, job).run();
}

}  // namespace heapwood::workloads
