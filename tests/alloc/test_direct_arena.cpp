// SPDX-License-Identifier: MIT
// Properties of Heapwood beyond the contract of all allocators: private arenas, blocks freed
// through the other interface, exhaustion to the last granule, and superblocks that become one free
// block again.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "alloc/allocators/heapwood.hpp"
#include "simt/lockstep.hpp"
#include "tests/alloc/conformance.hpp"
#include "workloads/exercise_run.hpp"

namespace heapwood::alloc {
namespace {

template <class Warp>
std::uint64_t passed_on(Warp& warp, std::uint64_t& slot, std::uint64_t block) {
  std::uint64_t old = 0;
  warp.sync();
  // acq_rel: publishes the new block and its contents, and acquires those of the old one.
  if (warp.lane() == 0) old = simt::atomic_ref<std::uint64_t>(slot).exchange(block, simt::acq_rel);
  old = warp.shfl(old, 0);
  warp.sync();
  return old;
}

// Parameters of the kernels below.
struct TradeParts {
  using Scratch = Heapwood::WarpState;
  static constexpr unsigned block_threads = 64, blocks_per_multiprocessor = 1;

  Heapwood heap;
  std::byte* base;
  std::uint64_t* slots;
  std::uint32_t slot_count, rounds, largest;
  std::uint64_t *wrong, *refused, *split_blocks, *repeated;
};
struct Draw {
  std::uint32_t state;
  SIMT_INLINE std::uint32_t operator()(std::uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return static_cast<std::uint32_t>((std::uint64_t{state} * below) >> 32);
  }
};

// Every warp puts blocks of its private arena into shared slots and frees the blocks that it finds
// there, most of which are another warp's. A slot holds {granule of the pool + 1:32 | bytes:32}.
// Requests are for one block or a pair.
struct Trade : TradeParts {
  template <class Warp>
  SIMT_FN void operator()(Warp& warp, Scratch& scratch) const {
    typename Heapwood::Context<Warp> own(heap, warp, scratch);
    Draw draw{warp.worker() * 2654435769u + 1};
    for (std::uint32_t i = 0; i < rounds && !warp.aborted(); ++i) {
      const std::uint32_t bytes = draw(draw(8) == 0 ? largest : 100) + 1;
      if (draw(2) == 0) {
        trade(warp, own, draw, static_cast<std::byte*>(own.allocate(warp, granules_of(bytes))),
              bytes);
        continue;
      }
      if (draw(3) == 0) {
        split(warp, own, draw, bytes);
        continue;
      }
      const std::uint32_t left = draw(3) == 0 ? 0 : bytes, right = draw(3) == 0 ? 0 : draw(100) + 1;
      const BlockPair blocks = own.allocate_pair(warp, granules_of(left), granules_of(right));
      if (warp.lane() == 0 && blocks.first == nullptr && blocks.second != nullptr) count(*wrong);
      if (warp.lane() == 0 && blocks.first != nullptr && right != 0 && blocks.second == nullptr)
        count(*wrong);
      if (left != 0) trade(warp, own, draw, static_cast<std::byte*>(blocks.first), left);
      if (right != 0) trade(warp, own, draw, static_cast<std::byte*>(blocks.second), right);
      warp.sync();
      if (draw(8) == 0) own.release_if_scarce(warp);
    }
    own.end(warp);
  }

 private:
  SIMT_INLINE static std::uint32_t granules_of(std::uint32_t bytes) {
    return (bytes + granule - 1) / granule;
  }
  SIMT_INLINE static void count(std::uint64_t& word) {
    simt::atomic_ref<std::uint64_t>(word).fetch_add(1, simt::relaxed);
  }
  template <class Warp, class Own>
  SIMT_FN void trade(Warp& warp, Own& own, Draw& draw, std::byte* block,
                     std::uint32_t bytes) const {
    if (block == nullptr) {
      if (warp.lane() == 0) count(*refused);
    } else {
      write(warp, block, bytes);
    }
    // Some blocks are freed immediately, so that whole arenas become empty.
    const bool keep = draw(4) != 0;
    const std::uint64_t mine = block == nullptr ? 0 : (granule_of(block) + 1) << 32 | bytes;
    std::uint64_t other = mine;
    if (keep) {
      other = passed_on(warp, slots[draw(slot_count)], mine);
    } else {
      warp.sync();
    }
    if (other != 0) release(warp, own, other, draw(2) == 0);
  }
  // Allocates a block beside one that then shrinks to some part of itself.
  template <class Warp, class Own>
  SIMT_FN void split(Warp& warp, Own& own, Draw& draw, std::uint32_t bytes) const {
    auto* const block = static_cast<std::byte*>(own.allocate(warp, granules_of(bytes)));
    if (block == nullptr) {
      if (warp.lane() == 0) count(*refused);
      warp.sync();
      return;
    }
    const std::uint32_t other_bytes = draw(5) == 0 ? 0 : draw(100) + 1;
    void* other = nullptr;
    const auto attempt = [&] {
      const bool done = own.try_allocate(warp, granules_of(other_bytes), other);
      warp.sync();
      return done;
    };
    bool done = attempt();
    if (!done && own.make_room(warp, granules_of(other_bytes))) {
      warp.sync();
      done = attempt();
      if (warp.lane() == 0 && done) count(*repeated);
    }
    warp.sync();
    std::byte* part = block;
    if (own.may_shrink(granules_of(bytes))) {
      const std::uint32_t before = draw(granules_of(bytes));
      part += std::size_t{before} * granule;
      bytes -= before * static_cast<std::uint32_t>(granule);
      bytes -= draw(bytes);
      if (warp.lane() == 0 && done) count(*split_blocks);
    }
    write(warp, part, bytes);
    if (done && other_bytes != 0) {
      write(warp, static_cast<std::byte*>(other), other_bytes);
      warp.sync();
      trade(warp, own, draw, static_cast<std::byte*>(other), other_bytes);
    }
    warp.sync();
    if (draw(2) == 0) {
      trade(warp, own, draw, part, bytes);
    } else if (own.try_deallocate(warp, part, granules_of(bytes))) {
      check(warp, part, bytes);  // a freed block can still be read
    } else {
      own.deallocate(warp, part, granules_of(bytes));
    }
    warp.sync();
  }
  template <class Warp>
  SIMT_FN void write(Warp& warp, std::byte* block, std::uint32_t bytes) const {
    for (std::uint32_t k = warp.lane(); k < bytes; k += Warp::width)
      block[k] = pattern(granule_of(block), k);
  }
  template <class Warp>
  SIMT_FN void check(Warp& warp, const std::byte* block, std::uint32_t bytes) const {
    for (std::uint32_t k = warp.lane(); k < bytes; k += Warp::width) {
      if (block[k] != pattern(granule_of(block), k)) count(*wrong);
    }
  }
  SIMT_INLINE std::uint64_t granule_of(const std::byte* block) const {
    return static_cast<std::uint64_t>(block - base) / granule;
  }
  SIMT_INLINE static std::byte pattern(std::uint64_t at, std::uint32_t k) {
    return static_cast<std::byte>(at * 7 + k);
  }
  template <class Warp, class Own>
  SIMT_FN void release(Warp& warp, Own& own, std::uint64_t slot, bool sized) const {
    const std::uint64_t at = (slot >> 32) - 1;
    const auto bytes = static_cast<std::uint32_t>(slot);
    std::byte* const block = base + at * granule;
    check(warp, block, bytes);
    warp.sync();
    if (sized) {
      own.deallocate(warp, block, granules_of(bytes));
      warp.sync();
    } else if (warp.lane() == 0) {
      heap.deallocate(warp, block);
    }
  }
};

struct Drain {
  struct Scratch {};
  static constexpr unsigned block_threads = 64, blocks_per_multiprocessor = 1;
  Heapwood heap;
  std::byte* base;
  std::uint64_t* slots;
  std::uint32_t slot_count;

  template <class Warp>
  SIMT_FN void operator()(Warp& warp, Scratch&) const {
    for (std::uint32_t i = warp.worker() * Warp::width + warp.lane(); i < slot_count;
         i += warp.workers() * Warp::width) {
      if (slots[i] != 0) heap.deallocate(warp, base + ((slots[i] >> 32) - 1) * granule);
    }
  }
};

template <class Kernel, class Device>
void trade(const Device& device, std::size_t pool_bytes, std::uint32_t largest,
           std::uint32_t rounds, bool tight, const AllocatorOptions& options = {}) {
  constexpr std::uint32_t slot_count = 12;
  constexpr unsigned warps = 4;
  const simt::Memory memory({}, pool_bytes);
  const Pool pool{memory.data(), pool_bytes};
  simt::Buffer<std::uint64_t> slots({}, slot_count), counters({}, 4);
  slots.fill(0);
  counters.fill(0);
  const Heapwood heap = Heapwood::create(pool, options, device);
  for (int launch = 0; launch < 3; ++launch) {
    device.launch(
        Kernel{{heap, pool.base, slots.data(), slot_count, rounds, largest, counters.data(),
                counters.data() + 1, counters.data() + 2, counters.data() + 3}},
        warps);
  }
  EXPECT_EQ(counters.download()[0], 0u);
  EXPECT_EQ(counters.download()[1] > 0, tight);
  if (!tight) {
    EXPECT_GT(counters.download()[2], 0u);
    // Larger arenas always have room here.
    if (!options.has_persistent_warps) {
      EXPECT_GT(counters.download()[3], 0u);
    }
  }
  device.launch(Drain{heap, pool.base, slots.data(), slot_count}, 1);
  const auto regions = regions_of(heap, {});
  EXPECT_EQ(test::bytes_in(regions, Region::State::used), 0u);
}

TEST(Arena, WarpsTradeBlocksOnThreads) {
  trade<Trade>(simt::Cpu({.threads = 4}), 256 << 10, 3000, 200, false);
  trade<Trade>(simt::Cpu({.threads = 4}), 4096, 900, 60, true);
}
TEST(Arena, WarpsTradeBlocksOnSimulatedWarps) {
  trade<Trade>(simt::Lockstep<4>(4), 256 << 10, 3000, 40, false);
  trade<Trade>(simt::Lockstep<4>(4), 4096, 900, 15, true);
  trade<Trade>(simt::Lockstep<8>(2), 512 << 10, 40000, 20, false);
}
// Arenas of 32 KiB: pairs larger than one are allocated as runs.
TEST(Arena, WarpsThatStayTradeBlocksOfManyArenas) {
  constexpr std::size_t pool_bytes = std::size_t{400} << 20;
  for (const std::size_t bytes : {std::size_t{0}, pool_bytes / 4}) {
    const AllocatorOptions little{.has_persistent_warps = true, .spare_bytes_for_warps = bytes};
    trade<Trade>(simt::Cpu({.threads = 4}), pool_bytes, 600'000, 200, false, little);
    trade<Trade>(simt::Lockstep<8>(4), pool_bytes, 200'000, 30, false, little);
  }
  // Runs of more than a superblock too, from the reserve while it lasts.
  const AllocatorOptions spare{.has_persistent_warps = true,
                               .spare_bytes_for_warps = pool_bytes / 2};
  trade<Trade>(simt::Cpu({.threads = 4}), pool_bytes, 600'000, 200, false, spare);
  trade<Trade>(simt::Cpu({.threads = 4}), pool_bytes, 1'500'000, 200, false, spare);
  trade<Trade>(simt::Lockstep<8>(2), pool_bytes, 1'500'000, 40, false, spare);
  const AllocatorOptions roomy{.has_persistent_warps = true,
                               .spare_bytes_for_warps = 2 * pool_bytes};  // arenas of 64 KiB
  trade<Trade>(simt::Cpu({.threads = 4}), 2 * pool_bytes, 600'000, 200, false, roomy);
}
// A warp allocates more pairs of runs than fit into the range for runs, frees every third, and
// allocates as many again between those in use. `blocks` has 2 * most elements.
struct Runs {
  using Scratch = Heapwood::WarpState;
  static constexpr unsigned block_threads = 64, blocks_per_multiprocessor = 1;
  static constexpr std::uint32_t first = 2500, second = 4000;  // granules: 2 arenas each
  Heapwood heap;
  void** blocks;
  std::uint32_t most;
  std::uint32_t* taken;

  template <class Warp>
  SIMT_FN void operator()(Warp& warp, Scratch& scratch) const {
    typename Heapwood::Context<Warp> own(heap, warp, scratch);
    const auto take = [&](std::uint32_t i) {
      const BlockPair pair = own.allocate_pair(warp, first, second);
      if (warp.lane() == 0) {
        blocks[2 * i] = pair.first;
        blocks[2 * i + 1] = pair.second;
      }
      warp.sync();
      return pair.first != nullptr;
    };
    const auto give = [&](std::uint32_t i) {
      own.deallocate(warp, blocks[2 * i], first);
      warp.sync();
      own.deallocate(warp, blocks[2 * i + 1], second);
      warp.sync();
    };
    std::uint32_t n = 0;
    while (n < most && take(n)) ++n;
    for (std::uint32_t i = 0; i < n; i += 3) give(i);
    std::uint32_t again = 0;
    for (std::uint32_t i = 0; i < n; i += 3) again += take(i) ? 1 : 0;
    if (warp.lane() == 0) {
      taken[0] = n;
      taken[1] = again;
    }
    own.end(warp);
  }
};
TEST(Arena, RunsMeetRunsAndNothingIsLost) {
  constexpr std::size_t pool_bytes = std::size_t{400} << 20;
  constexpr std::uint32_t arenas = pool_bytes >> 15, most = arenas / 12;
  const simt::Memory memory({}, pool_bytes);
  const Pool pool{memory.data(), pool_bytes};
  const simt::Lockstep<8> device(1);
  const AllocatorOptions options{.has_persistent_warps = true,
                                 .spare_bytes_for_warps = pool_bytes / 4};
  const Heapwood heap = Heapwood::create(pool, options, device);
  std::vector<void*> blocks(2 * most);
  std::uint32_t taken[2] = {};
  device.launch(Runs{heap, blocks.data(), most, taken}, 1);
  EXPECT_EQ(taken[0], most);
  EXPECT_EQ(taken[1], (taken[0] + 2) / 3);
  blocks.resize(std::size_t{2} * taken[0]);
  std::vector<void*> sorted = blocks;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const auto apart = static_cast<std::byte*>(sorted[i]) - static_cast<std::byte*>(sorted[i - 1]);
    ASSERT_GE(apart, std::ptrdiff_t{2} << 15);
  }
  simt::Buffer<std::uint64_t> slots({}, blocks.size());
  std::vector<std::uint64_t> words;
  for (void* const block : blocks) {
    words.push_back(
        (static_cast<std::uint64_t>(static_cast<std::byte*>(block) - pool.base) / granule + 1)
        << 32);
  }
  slots.upload(words);
  device.launch(Drain{heap, pool.base, slots.data(), static_cast<std::uint32_t>(words.size())}, 1);
  EXPECT_EQ(test::bytes_in(regions_of(heap, {}), Region::State::used), 0u);
}
// One thread alone: a request is refused only if the memory is not there.
struct Alone {
  using Scratch = Heapwood::WarpState;
  static constexpr unsigned block_threads = 64, blocks_per_multiprocessor = 1;
  Heapwood heap;
  void** blocks;
  // Blocks of `bytes` served, blocks of `bytes` served from private arenas, and whether the
  // largest block was served.
  std::uint64_t* counts;
  std::size_t largest, bytes;

  template <class Warp>
  SIMT_FN void operator()(Warp& warp, Scratch& scratch) const {
    Heapwood h = heap;
    const auto free_all = [&](std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i) h.deallocate(warp, blocks[i]);
    };
    std::uint64_t n = 0;
    while (bytes != 0 && (blocks[n] = h.allocate(warp, bytes)) != nullptr) ++n;
    counts[0] = n;
    // An arena that becomes free is found again.
    if (n > 0) h.deallocate(warp, blocks[n - 1]);
    if (n > 0) free_all(n - 1);
    n = 0;
    typename Heapwood::Context<Warp> own(heap, warp, scratch);
    while (bytes != 0 &&
           (blocks[n] = own.allocate(warp, static_cast<std::uint32_t>(bytes / granule))) != nullptr)
      ++n;
    counts[1] = n;
    own.end(warp);
    free_all(n);
    void* const all = h.allocate(warp, largest);
    counts[2] = all != nullptr;
    h.deallocate(warp, all);
  }
};

// Allocates blocks of `bytes`, a divisor of the arena size, until the pool is exhausted. Then
// initializes the pool again and allocates all of it as one block.
void gets_everything(std::size_t pool_bytes, std::size_t bytes, const AllocatorOptions& options) {
  const simt::Memory memory({}, pool_bytes);
  const Pool pool{memory.data(), pool_bytes};
  const simt::Cpu device({.threads = 1});
  const Heapwood heap = Heapwood::create(pool, options, device);
  const std::vector<Region> regions = regions_of(heap, {});
  const std::size_t largest = test::largest_free(regions);
  const std::size_t most = test::bytes_in(regions, Region::State::free) / bytes;
  simt::Buffer<void*> blocks({}, most + 1);
  simt::Buffer<std::uint64_t> counts({}, 3);
  for (const bool only_large : {false, true}) {
    counts.fill(0);
    const Heapwood fresh = Heapwood::create(pool, options, device);
    device.launch(Alone{fresh, blocks.data(), counts.data(), largest, only_large ? 0 : bytes}, 1);
    EXPECT_EQ(counts.download()[0], only_large ? 0 : most) << pool_bytes;
    EXPECT_EQ(counts.download()[1], only_large ? 0 : most) << pool_bytes;
    EXPECT_EQ(counts.download()[2], 1u) << pool_bytes;
    EXPECT_EQ(test::bytes_in(regions_of(fresh, {}), Region::State::used), 0u);
  }
}
TEST(Arena, OneThreadGetsEveryGranuleAndThenOneLargeBlock) {
  for (const std::size_t pool_bytes : {4096u, 65536u, 100'000u, 1u << 20})
    gets_everything(pool_bytes, granule, {});
}
// The counts of the reserve start out as taken; requests that need it get it.
TEST(Arena, OneThreadGetsTheReserve) {
  constexpr std::size_t pool_bytes = std::size_t{400} << 20;
  gets_everything(pool_bytes, 32 << 10,
                  {.has_persistent_warps = true, .spare_bytes_for_warps = pool_bytes / 2});
}
TEST(Arena, AReserveIsHalfOfWhatIsSpareAtMost) {
  for (const std::size_t mebibytes : {400, 4000, 64 << 10}) {
    for (const std::size_t spare : {std::size_t{0}, mebibytes / 8, mebibytes / 2}) {
      const arena::Arenas a =
          arena::Layout::plan({nullptr, mebibytes << 20}, true, spare << 20).arenas;
      EXPECT_LE(std::size_t{a.reserve} << a.shift, (spare << 20) / 2);
      if (spare == mebibytes / 2) {
        EXPECT_GT(a.reserve, 0u) << mebibytes;
      }
    }
  }
}

// In pools of 48 MiB and more, each of an H200's 2,112 warps can keep two arenas and have filled a
// third.
TEST(Arena, SizesGrowWithThePool) {
  const auto arena_bytes = [](std::size_t mebibytes, bool has_persistent_warps = false,
                              std::size_t for_warps = 0) {
    return arena::Layout::plan({nullptr, mebibytes << 20}, has_persistent_warps, for_warps << 20)
        .arenas.arena_bytes();
  };
  EXPECT_EQ(arena_bytes(1), 512);
  EXPECT_EQ(arena_bytes(8), 4096);
  EXPECT_EQ(arena_bytes(47), 4096);
  EXPECT_EQ(arena_bytes(48), 8192);
  EXPECT_EQ(arena_bytes(96), 16384);
  EXPECT_EQ(arena_bytes(64 << 10), 16384);
  EXPECT_EQ(arena_bytes(9, true), 2048);
  EXPECT_EQ(arena_bytes(10, true), 4096);
  EXPECT_EQ(arena_bytes(23, true), 4096);
  EXPECT_EQ(arena_bytes(24, true), 8192);
  EXPECT_EQ(arena_bytes(383, true), 16384);
  EXPECT_EQ(arena_bytes(384, true), 32768);
  EXPECT_EQ(arena_bytes(64 << 10, true), 32768);
  // Larger arenas only if memory is spare.
  EXPECT_EQ(arena_bytes(70, true, 59), 8192);
  EXPECT_EQ(arena_bytes(70, true, 60), 16384);
  EXPECT_EQ(arena_bytes(300, true, 118), 16384);
  EXPECT_EQ(arena_bytes(300, true, 119), 32768);
  EXPECT_EQ(arena_bytes(64 << 10, true, 237), 32768);
  EXPECT_EQ(arena_bytes(500, true, 238), 65536);
  EXPECT_EQ(arena_bytes(1000, true, 475), 131072);
  EXPECT_EQ(arena_bytes(2000, true, 950), 262144);
  EXPECT_EQ(arena_bytes(64 << 10, true, 64 << 10), 262144);
  EXPECT_EQ(arena_bytes(64 << 10, false, 64 << 10), 16384);
}

// Spans of superblocks come from the end of the pool and need superblocks that are not split.
TEST(Arena, RunsEndBeforeTheLastQuarter) {
  for (const std::size_t mebibytes : {1, 34, 68, 136, 272, 400, 4000}) {
    for (const bool has_persistent_warps : {false, true}) {
      const arena::Arenas a =
          arena::Layout::plan({nullptr, mebibytes << 20}, has_persistent_warps).arenas;
      EXPECT_LE(a.run_first + a.run_capacity, a.arenas / 4 * 3) << mebibytes;
      EXPECT_GE(a.run_first, a.arenas / 4 * 2) << mebibytes;
    }
  }
}

// The resident warps of an H100, and pools of 2, 4 and 8 times the 17 MiB that blocks need at once.
// The caller expects them to need 26 MiB.
TEST(Arena, FewerWarpsArePreferredWhereArenasAreScarce) {
  constexpr std::uint32_t resident = 2640;
  const auto plan = [](std::size_t mebibytes) {
    return arena::Layout::plan({nullptr, mebibytes << 20}, true, (mebibytes - 26) << 20);
  };
  EXPECT_LT(plan(34).max_ample_warps, resident);
  EXPECT_LT(plan(51).max_ample_warps, resident);
  EXPECT_GE(plan(136).max_ample_warps, resident);
  EXPECT_EQ(plan(34).preferred_warps(resident), 465u);   // 8 MiB in arenas of 8 KiB
  EXPECT_EQ(plan(51).preferred_warps(resident), 1450u);  // 25 MiB in arenas of 8 KiB
  EXPECT_EQ(plan(136).preferred_warps(resident), resident);
  // 16 times the 4 MiB of a smaller scene. Larger arenas, which are just ample.
  EXPECT_GE(arena::Layout::plan({nullptr, std::size_t{66} << 20}, true, 60 << 20).max_ample_warps,
            resident);
  EXPECT_EQ(plan(51).preferred_warps(1000), 1000u);
  // Of small arenas, fewer suffice.
  const auto small = arena::Layout::plan({nullptr, std::size_t{18} << 20}, true, 12 << 20);
  EXPECT_EQ(small.arenas.arena_bytes(), 4096u);
  EXPECT_EQ(small.preferred_warps(10'000), small.spare_arenas / 5 * 3);
  // Where nothing is spare, arenas are scarce for any warp.
  EXPECT_EQ(arena::Layout::plan({nullptr, std::size_t{68} << 20}, true).max_ample_warps, 0u);
}

// In a large pool a slot whose search has failed refuses a limited number of requests and then
// searches again.
struct Impatient {
  struct Scratch {};
  static constexpr unsigned block_threads = 64, blocks_per_multiprocessor = 1;
  Heapwood heap;
  void** blocks;
  std::uint64_t* counts;  // blocks; requests refused after an arena was freed
  std::uint32_t one_arena;

  template <class Warp>
  SIMT_FN void operator()(Warp& warp, Scratch&) const {
    Heapwood h = heap;
    std::uint64_t n = 0;
    while ((blocks[n] = h.allocate(warp, 256)) != nullptr) ++n;
    for (std::uint32_t i = 0; i < one_arena; ++i)
      h.deallocate(warp, blocks[n / 2 - n / 2 % one_arena + i]);
    std::uint64_t vain = 0;
    while (vain < n && h.allocate(warp, 256) == nullptr) ++vain;
    counts[0] = n;
    counts[1] = vain;
  }
};

TEST(Arena, ASlotThatRefusesLooksAgain) {
  constexpr std::size_t pool_bytes = 7 << 19;  // 3.5 MiB: arenas of 1 KiB, over 100 superblocks
  const simt::Memory memory({}, pool_bytes);
  const Pool pool{memory.data(), pool_bytes};
  const simt::Cpu device({.threads = 1});
  const Heapwood heap = Heapwood::create(pool, {}, device);
  simt::Buffer<void*> blocks({}, pool_bytes / 256 + 1);
  simt::Buffer<std::uint64_t> counts({}, 2);
  counts.fill(0);
  device.launch(Impatient{heap, blocks.data(), counts.data(), 4}, 1);
  EXPECT_GT(counts.download()[0], pool_bytes / 256 * 99 / 100);
  EXPECT_GT(counts.download()[1], 0u);
  EXPECT_LE(counts.download()[1], pool_bytes / 1024 / 32 + 1);
}

}  // namespace
}  // namespace heapwood::alloc
