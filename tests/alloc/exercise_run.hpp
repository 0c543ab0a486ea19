// SPDX-License-Identifier: MIT
// Runs an ExerciseJob with allocator A on a Device: the kernel that interprets scripts, and its
// host code.
#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>
#include <vector>

#include "alloc/adaptors/coalesced.hpp"
#include "alloc/adaptors/counted.hpp"
#include "alloc/adaptors/failing.hpp"
#include "alloc/erased.hpp"
#include "simt/launch.hpp"
#include "tests/alloc/adaptors.hpp"
#include "tests/alloc/exercise.hpp"

namespace heapwood::workloads {

namespace exercise_detail {

// The contents of a block, derived from the number of the operation that allocated it. In a block
// of more than 4 KiB only about 1,000 words at equal distances, the last whole word and the bytes
// after it are written and read.
struct Pattern {
  std::uint32_t seed;
  std::uint64_t bytes;

  HEAPWOOD_INLINE std::uint32_t word(std::uint64_t i) const {
    return (seed * 2654435761u) ^ (static_cast<std::uint32_t>(i) * 2246822519u + 0x9e3779b9u);
  }
  HEAPWOOD_INLINE std::uint64_t step() const { return bytes <= 4096 ? 1 : (bytes / 4 / 1024) | 1; }

  HEAPWOOD_INLINE void write(void* block) const {
    auto* words = static_cast<std::uint32_t*>(block);
    auto* tail = static_cast<unsigned char*>(block) + bytes / 4 * 4;
    for_words([&](std::uint64_t i) { words[i] = word(i); });
    for (unsigned i = 0; i < bytes % 4; ++i) tail[i] = static_cast<unsigned char>(word(i) >> 24);
  }
  HEAPWOOD_INLINE std::uint64_t differences(const void* block) const {
    const auto* words = static_cast<const std::uint32_t*>(block);
    const auto* tail = static_cast<const unsigned char*>(block) + bytes / 4 * 4;
    std::uint64_t count = 0;
    for_words([&](std::uint64_t i) { count += words[i] != word(i); });
    for (unsigned i = 0; i < bytes % 4; ++i)
      count += tail[i] != static_cast<unsigned char>(word(i) >> 24);
    return count;
  }

 private:
  // Calls f once for each word that is written.
  template <class F>
  HEAPWOOD_INLINE void for_words(F f) const {
    const std::uint64_t end = bytes / 4, last = end == 0 ? 0 : end - 1, each = step();
    HEAPWOOD_ROLLED
    for (std::uint64_t i = 0; i < end; i += i < last && last - i < each ? last - i : each) f(i);
  }
};

template <class A>
struct Kernel {
  struct Scratch {};
  static constexpr unsigned block_threads = 256, blocks_per_multiprocessor = 2;

  A allocator;
  std::byte* base;
  const Op* ops;                // the operations of all phases
  const std::uint32_t* script;  // script i: operations [script[i], script[i + 1])
  std::uint32_t* slots;         // the operation whose block the slot holds, + 1; 0: none
  void** blocks;                // indexed by operation
  OpResult* results;            // indexed by operation
  std::uint32_t first_script, warps, lanes;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    A a = allocator;
    for (std::uint32_t w = warp.worker(); w < warps; w += warp.workers()) {
      for (std::uint32_t l = warp.lane(); l < lanes; l += Warp::width) {
        const std::uint32_t s = first_script + w * lanes + l;
        for (std::uint32_t i = script[s]; i < script[s + 1]; ++i) {
          if ((i & 63) == 0 && warp.aborted()) return;
          results[i] = run(warp, a, i);
        }
      }
    }
  }

 private:
  HEAPWOOD_INLINE Pattern pattern(std::uint32_t id) const { return {id, ops[id - 1].bytes}; }
  // acq_rel: release publishes the block's address and contents, acquire reads those of the
  // previous block.
  HEAPWOOD_INLINE std::uint32_t swap(std::uint32_t slot, std::uint32_t id) const {
    return simt::atomic_ref<std::uint32_t>(slots[slot]).exchange(id, simt::acq_rel);
  }

  template <class Warp>
  HEAPWOOD_INLINE OpResult run(Warp& warp, A& a, std::uint32_t i) const {
    const Op op = ops[i];
    OpResult result;
    // The surplus block is freed at the end, so that malloc and free are each called, and compiled
    // in, at one place.
    void* surplus = nullptr;
    if (op.kind != Op::Kind::free_null) {
      std::uint32_t id = 0;  // 0: leaves the slot empty
      if (op.kind != Op::Kind::free) {
        void* const block = blocks[i] = a.allocate(warp, op.bytes);
        result.offset = OpResult::failed;
        if (block != nullptr) {
          id = i + 1;
          result.offset = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(block) -
                                                     reinterpret_cast<std::uintptr_t>(base));
          pattern(id).write(block);
        }
      }
      const std::uint32_t old = swap(op.slot, id);
      if (old == 0 || op.kind == Op::Kind::allocate) return result;
      surplus = blocks[old - 1];
      result.value = pattern(old).differences(surplus);
    }
    a.deallocate(warp, surplus);
    return result;
  }
};

template <class Device>
Device make_device(const ExerciseJob& job) {
  if constexpr (std::is_constructible_v<Device, simt::DeviceId>) {
    return Device(job.device);
  } else {
    return Device(job.warps);  // simulated warps (tests)
  }
}

// The job's operations and all data that the kernel writes, in device memory.
struct Script {
  explicit Script(const ExerciseJob& job) : slots(job.device, std::max<std::size_t>(1, job.slots)) {
    std::vector<Op> all;
    std::vector<std::uint32_t> begins;
    for (const ExercisePhase& phase : job.phases) {
      if (phase.scripts.size() > std::size_t{job.warps} * job.lanes)
        throw Error(Exit::usage, "exercise: more scripts than lanes");
      for (std::size_t s = 0; s < std::size_t{job.warps} * job.lanes; ++s) {
        begins.push_back(static_cast<std::uint32_t>(all.size()));
        if (s < phase.scripts.size())
          all.insert(all.end(), phase.scripts[s].begin(), phase.scripts[s].end());
      }
    }
    begins.push_back(static_cast<std::uint32_t>(all.size()));
    for (const Op& op : all) {
      if (op.slot >= slots.size())
        throw Error(Exit::usage, "exercise: slot " + std::to_string(op.slot) +
                                     ": the job has only " + std::to_string(job.slots));
    }
    count = all.size();
    all.push_back({});  // avoids empty buffers
    ops = simt::Buffer<Op>(job.device, all);
    script = simt::Buffer<std::uint32_t>(job.device, begins);
    blocks = simt::Buffer<void*>(job.device, all.size());
    results = simt::Buffer<OpResult>(job.device, all.size());
  }
  simt::Buffer<Op> ops;
  simt::Buffer<std::uint32_t> script, slots;
  simt::Buffer<void*> blocks;
  simt::Buffer<OpResult> results;
  std::size_t count = 0;
};

template <class A, class Device>
std::size_t max_used_bytes(const Device& device) {
  if constexpr (alloc::has_static_traits<A>) {
    return alloc::max_used_bytes<A>();
  } else {
    return device.functions->max_used_bytes;
  }
}

}  // namespace exercise_detail

// `wrap(base)` applies the job's adaptors to a newly created allocator.
template <class A, class Device, class Wrap>
void exercise_cycle(const ExerciseJob& job, const Device& device, alloc::Pool pool,
                    exercise_detail::Script& script, const alloc::CountedMemory* counted, Wrap wrap,
                    ExerciseResult& result) {
  const A base = A::create(pool, job.options, device);
  const alloc::ReleaseAtEnd<A, Device> release(pool, device);
  const auto allocator = wrap(base);
  const auto walked = alloc::regions_of(base, job.device);
  const auto same = [](const alloc::Region& a, const alloc::Region& b) {
    return a.offset == b.offset && a.bytes == b.bytes && a.state == b.state;
  };
  if (result.initial.empty()) result.initial = walked;
  result.same_initial_walk &=
      std::equal(walked.begin(), walked.end(), result.initial.begin(), result.initial.end(), same);

  script.slots.fill(0);
  script.results.fill(0);
  result.phases.assign(job.phases.size(), {});
  result.failures = 0;
  for (std::size_t p = 0; p < job.phases.size(); ++p) {
    using Kernel = exercise_detail::Kernel<std::remove_const_t<decltype(allocator)>>;
    const Kernel kernel{allocator,
                        pool.base,
                        script.ops.data(),
                        script.script.data(),
                        script.slots.data(),
                        script.blocks.data(),
                        script.results.data(),
                        static_cast<std::uint32_t>(p * job.warps * job.lanes),
                        job.warps,
                        job.lanes};
    ExercisePhaseResult& phase = result.phases[p];
    device.launch(kernel, job.warps,
                  {.seconds = job.seconds, .what = alloc::traits_on<A>(device).id});
    phase.regions = alloc::regions_of(base, job.device);
    if (counted != nullptr && alloc::traits_on<A>(device).in_pool)
      phase.requested = counted->requested();
  }
  const std::vector<OpResult> all = script.results.download(0, script.count);
  auto r = all.begin();
  for (std::size_t p = 0; p < job.phases.size(); ++p) {
    for (const std::vector<Op>& script : job.phases[p].scripts) {
      std::vector<OpResult>& results = result.phases[p].ops.emplace_back();
      for (std::size_t i = 0; i < script.size(); ++i) {
        result.mismatches += r->value;
        result.failures += r->offset == OpResult::failed;
        results.push_back(*r++);
      }
    }
  }
}

template <class A, class Device>
ExerciseResult exercise_on(const Device& device, const ExerciseJob& job) {
  const std::size_t used_bytes =
      job.two_heaps ? job.pool_bytes : exercise_detail::max_used_bytes<A>(device);
  const simt::Memory memory(job.device, std::min(job.pool_bytes, used_bytes));
  const alloc::Pool pool{memory.data(), job.pool_bytes};
  exercise_detail::Script script(job);
  std::optional<alloc::CountedMemory> counted;
  std::optional<GuardedMemory> guard;
  if (job.counted || job.guarded) counted.emplace(job.device, job.pool_bytes);
  if (job.guarded) guard.emplace(job.device, job.pool_bytes);
  alloc::FailingMemory failing(job.device, job.fail_at);

  ExerciseResult result;
  for (unsigned cycle = 0; cycle < job.cycles; ++cycle) {
    if (counted) counted->reset();
    if (guard) guard->reset();
    failing.reset();
    using F = alloc::Failing<A>;
    using G = Guarded<F>;
    const auto* log = counted ? &*counted : nullptr;
    if ((job.coalesced || job.two_heaps) && counted)
      throw Error(Exit::usage,
                  "exercise: coalesced jobs and jobs of two heaps cannot be counted or guarded");
    if (guard) {
      const auto wrap = [&](const A& a) {
        return alloc::Counted<G>::create(G::create(F::create(a, failing), pool, *guard), pool,
                                         *counted);
      };
      exercise_cycle<A>(job, device, pool, script, log, wrap, result);
    } else if (counted) {
      const auto wrap = [&](const A& a) {
        return alloc::Counted<F>::create(F::create(a, failing), pool, *counted);
      };
      exercise_cycle<A>(job, device, pool, script, log, wrap, result);
    } else if (job.coalesced) {
      const auto wrap = [&](const A& a) { return alloc::Coalesced<A>::create(a, pool); };
      exercise_cycle<A>(job, device, pool, script, log, wrap, result);
    } else if (job.two_heaps) {
      using T = TwoHeaps<A>;
      exercise_cycle<T>(
          job, device, pool, script, log, [](const T& two) { return two; }, result);
    } else {
      exercise_cycle<A>(
          job, device, pool, script, log, [](const A& a) { return a; }, result);
    }
  }
  if (counted) result.requests = counted->result();
  if (guard) result.guard = guard->result();
  return result;
}

template <class A, class Device>
ExerciseResult exercise(const ExerciseJob& job) {
  return exercise_on<A>(exercise_detail::make_device<Device>(job), job);
}

}  // namespace heapwood::workloads
