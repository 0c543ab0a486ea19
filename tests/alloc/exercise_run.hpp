// SPDX-License-Identifier: MIT
// Runs an ExerciseJob with allocator A on a Device: the kernel that interprets scripts, and its
// host code.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "alloc/adaptors/coalesced.hpp"
#include "alloc/adaptors/counted.hpp"
#include "alloc/adaptors/failing.hpp"
#include "alloc/allocator.hpp"
#include "alloc/erased.hpp"
#include "simt/atomic_ref.hpp"
#include "simt/launch.hpp"
#include "tests/alloc/exercise.hpp"

namespace heapwood::workloads {

// Adaptors for the conformance tests.

// Host side: error counters and the words of the granules, in device memory. Outlives the adaptor.
class GuardedMemory {
 public:
  GuardedMemory(const simt::DeviceId& device, std::size_t pool_bytes)
      : errors_(device, 1), granules_(device, pool_bytes / alloc::granule + 1) {
    reset();
  }
  void reset() {
    errors_.fill(0);
    granules_.fill(0);
  }
  GuardErrors result() const { return errors_.download().front(); }
  GuardErrors* errors() const { return errors_.data(); }
  std::uint32_t* granules() const { return granules_.data(); }

 private:
  simt::Buffer<GuardErrors> errors_;
  simt::Buffer<std::uint32_t> granules_;
};

// Guarded<Base>: checks that the blocks of an allocator whose blocks lie in the pool
// (traits.in_pool) are aligned, lie wholly in the pool and do not overlap blocks in use. A word per
// granule of the pool, stored outside it, says whether the granule is in use. Errors are counted
// and the run continues; the free of a block that was already reported is not passed on to Base.
template <class Base>
struct Guarded : alloc::AdaptorTraits<Base> {
  static constexpr std::uint32_t inside = ~0u;  // a granule of a block after its first

  Base base;
  alloc::Pool pool;
  GuardErrors* errors = nullptr;
  std::uint32_t* granules = nullptr;  // 0: free; first granule of a block: the block's granules

  static Guarded create(const Base& base, alloc::Pool pool, const GuardedMemory& memory) {
    return {{}, base, pool, memory.errors(), memory.granules()};
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    auto* const block = static_cast<std::byte*>(base.allocate(thread, bytes));
    if (block == nullptr || !alloc::is_in_pool(base)) return block;
    if (reinterpret_cast<std::uintptr_t>(block) % alloc::granule != 0) count(errors->misaligned);
    const auto offset = static_cast<std::uint64_t>(block - pool.base);
    if (offset >= pool.bytes || alloc::padded(bytes) > pool.bytes - offset) {
      count(errors->outside);
      return block;
    }
    const auto n = static_cast<std::uint32_t>(alloc::padded(bytes) / alloc::granule);
    std::uint32_t used = 0;
    // relaxed: the allocator orders the owners of a block, and their marks with them.
    for (std::uint32_t i = 0; i < n; ++i)
      used |= word(offset, i).exchange(i == 0 ? n : inside, simt::relaxed);
    if (used != 0) count(errors->overlaps);
    return block;
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) {
    if (block != nullptr && alloc::is_in_pool(base)) {
      const auto offset = static_cast<std::uint64_t>(static_cast<std::byte*>(block) - pool.base);
      if (offset >= pool.bytes) return;
      const std::uint32_t n = word(offset, 0).exchange(0, simt::relaxed);
      if (n == 0 || n == inside) return;
      for (std::uint32_t i = 1; i < n; ++i) word(offset, i).store(0, simt::relaxed);
    }
    base.deallocate(thread, block);
  }

  template <class Visitor>
  void walk(const alloc::HostView& host, Visitor visit) const {
    base.walk(host, visit);
  }

 private:
  HEAPWOOD_INLINE simt::atomic_ref<std::uint32_t> word(std::uint64_t offset,
                                                       std::uint32_t i) const {
    return simt::atomic_ref<std::uint32_t>(granules[offset / alloc::granule + i]);
  }
  HEAPWOOD_INLINE static void count(std::uint64_t& word) {
    simt::atomic_ref<std::uint64_t>(word).fetch_add(1, simt::relaxed);
  }
};

// TwoHeaps<A>: two heaps, one in each half of the pool. Even lanes of a warp allocate from the
// first and odd lanes from the second in the same call, as a kernel does that has several heaps.
// Each block has a granule in front with the number of its heap. A block outside of its heap's half
// counts as refused.
template <class A>
struct TwoHeaps : alloc::AdaptorTraits<A> {
  A heaps[2];
  alloc::Pool pools[2];

  template <class Device>
  static TwoHeaps create(alloc::Pool pool, const alloc::AllocatorOptions& options,
                         const Device& device) {
    const alloc::Pool first = half(pool, 0), second = half(pool, 1);
    return {{},
            {A::create(first, options, device), A::create(second, options, device)},
            {first, second}};
  }
  template <class Device>
  requires requires(const Device& device) { device.id(); }
  static void release(alloc::Pool pool, const Device& device) {
    for (const unsigned i : {0u, 1u}) alloc::release_pool<A>(half(pool, i), device);
  }
  bool in_pool() const { return alloc::is_in_pool(heaps[0]); }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    const std::uint32_t i = thread.lane() & 1;
    const std::size_t all = alloc::padded(bytes) + alloc::granule;
    auto* const block = static_cast<std::byte*>(heaps[i].allocate(thread, all));
    if (block == nullptr) return nullptr;
    if (alloc::is_in_pool(heaps[0])) {
      const auto offset = static_cast<std::size_t>(block - pools[i].base);
      if (offset >= pools[i].bytes || all > pools[i].bytes - offset) return nullptr;
    }
    *reinterpret_cast<std::uint32_t*>(block) = i;
    return block + alloc::granule;
  }
  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* pointer) {
    if (pointer == nullptr) return;
    std::byte* const block = static_cast<std::byte*>(pointer) - alloc::granule;
    heaps[*reinterpret_cast<const std::uint32_t*>(block) & 1].deallocate(thread, block);
  }

  template <class Visitor>
  void walk(const alloc::HostView& host, Visitor visit) const {
    heaps[0].walk(host, visit);
    heaps[1].walk(host, [&](const alloc::Region& region) {
      visit(alloc::Region{pools[0].bytes + region.offset, region.bytes, region.state});
    });
  }

 private:
  static alloc::Pool half(alloc::Pool pool, unsigned i) {
    const std::size_t bytes = pool.bytes / 2 / 256 * 256;
    return {pool.base + i * bytes, i == 0 ? bytes : pool.bytes - bytes};
  }
};

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
