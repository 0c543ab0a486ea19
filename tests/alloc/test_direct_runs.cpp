// SPDX-License-Identifier: MIT
// Blocks of several arenas that a warp with a context requests: pairs, of which one side may be
// empty, and blocks for which no run of arenas is free (run_collector.hpp).
#include <gtest/gtest.h>

#include <vector>

#include "alloc/allocators/heapwood.hpp"
#include "simt/lockstep.hpp"
#include "tests/alloc/conformance.hpp"
#include "workloads/exercise_run.hpp"

namespace heapwood::alloc {
namespace {

// Pairs of several arenas, and of several superblocks, one or both of which are blocks.
struct Sides {
  using Scratch = Heapwood::WarpState;
  static constexpr unsigned block_threads = 64, blocks_per_multiprocessor = 1;
  Heapwood heap;
  std::uint32_t* refused;

  template <class Warp>
  SIMT_FN void operator()(Warp& warp, Scratch& scratch) const {
    typename Heapwood::Context<Warp> own(heap, warp, scratch);
    constexpr std::uint32_t granules = 8192 / granule;  // of an arena
    for (const std::uint32_t arenas : {2u, 5u, 33u, 40u}) {
      const std::uint32_t n = arenas * granules;
      for (unsigned sides = 1; sides < 4; ++sides) {
        const std::uint32_t first = sides == 2 ? 0 : n, second = sides == 1 ? 0 : n;
        const BlockPair pair = own.allocate_pair(warp, first, second);
        warp.sync();
        if (warp.lane() == 0 && pair.first == nullptr) ++*refused;
        if (first != 0) own.deallocate(warp, pair.first, first);
        if (second != 0) own.deallocate(warp, pair.second, second);
      }
    }
    own.end(warp);
  }
};
TEST(Runs, PairsWithAnEmptySideAreFreed) {
  constexpr std::size_t pool_bytes = std::size_t{26} << 20;
  const simt::Memory memory({}, pool_bytes);
  const simt::Lockstep<8> device(1);
  const Heapwood heap =
      Heapwood::create({memory.data(), pool_bytes}, {.has_persistent_warps = true}, device);
  std::uint32_t refused = 0;
  device.launch(Sides{heap, &refused}, 1);
  EXPECT_EQ(refused, 0u);
  EXPECT_EQ(test::bytes_in(workloads::regions_of(heap, {}), Region::State::used), 0u);
}

// Fills the pool with blocks of an arena each. The next launch frees `gaps` of them, from `first`
// on, and requests as many arenas as one block, twice: with one of the gaps in use, and without.
struct Gaps {
  using Scratch = Heapwood::WarpState;
  static constexpr unsigned block_threads = 64, blocks_per_multiprocessor = 1;
  static constexpr std::uint32_t gaps = 50;
  Heapwood heap;
  void** blocks;
  std::uint32_t* count;
  std::byte* first;
  std::uint32_t granules;  // of an arena
  std::byte** served;      // of the two requests

  template <class Warp>
  SIMT_FN void operator()(Warp& warp, Scratch& scratch) const {
    typename Heapwood::Context<Warp> own(heap, warp, scratch);
    if (first == nullptr) {
      std::uint32_t n = 0;
      for (void* block; (block = own.allocate(warp, granules)) != nullptr; ++n) {
        if (warp.lane() == 0) blocks[n] = block;
      }
      if (warp.lane() == 0) *count = n;
      return own.end(warp);
    }
    const auto arena = [&](std::uint32_t i) { return first + std::size_t{i} * granules * granule; };
    for (std::uint32_t i = 1; i < gaps; ++i) own.deallocate(warp, arena(i), granules);
    for (unsigned request = 0; request < 2; ++request) {
      auto* const block = static_cast<std::byte*>(own.allocate(warp, gaps * granules));
      if (warp.lane() == 0) served[request] = block;
      warp.sync();
      if (request == 0) own.deallocate(warp, arena(0), granules);
    }
    own.end(warp);
  }
};
struct FreeAll {
  struct Scratch {};
  static constexpr unsigned block_threads = 64, blocks_per_multiprocessor = 1;
  Heapwood heap;
  void** blocks;
  std::size_t count;

  template <class Warp>
  SIMT_FN void operator()(Warp& warp, Scratch&) const {
    for (std::size_t i = warp.lane(); i < count; i += Warp::width) heap.deallocate(warp, blocks[i]);
  }
};

// No two whole superblocks are free.
template <class Device>
void collects(const Device& device) {
  constexpr std::size_t pool_bytes = std::size_t{26} << 20, arena_bytes = 8192;
  const simt::Memory memory({}, pool_bytes);
  const Pool pool{memory.data(), pool_bytes};
  const Heapwood heap = Heapwood::create(pool, {.has_persistent_warps = true}, device);
  const std::size_t arenas = pool_bytes / arena_bytes,
                    begin = workloads::regions_of(heap, {}).front().bytes;
  std::vector<void*> blocks(arenas);
  std::uint32_t n = 0;
  std::byte* served[2] = {};
  Gaps gaps{heap, blocks.data(), &n, nullptr, arena_bytes / granule, served};
  device.launch(gaps, 1);
  EXPECT_GT(n, arenas - 100);
  gaps.first = pool.base + begin + 640 * arena_bytes;
  device.launch(gaps, 1);
  EXPECT_EQ(served[0], nullptr);
  ASSERT_EQ(served[1], gaps.first);
  const auto regions = workloads::regions_of(heap, {});
  EXPECT_EQ(test::bytes_in(regions, Region::State::used), n * arena_bytes);

  std::vector<void*> live{served[1]};
  for (void* const block : blocks) {
    const auto from_first = static_cast<std::byte*>(block) - gaps.first;
    const bool is_gap = from_first >= 0 && from_first < Gaps::gaps * std::ptrdiff_t{arena_bytes};
    if (block != nullptr && !is_gap) live.push_back(block);
  }
  device.launch(FreeAll{heap, live.data(), live.size()}, 1);
  EXPECT_EQ(test::bytes_in(workloads::regions_of(heap, {}), Region::State::used), 0u);
}
TEST(RunCollector, LargeBlocksGetArenasThatBecomeFreeOneByOne) {
  collects(simt::Cpu({.threads = 1}));
  collects(simt::Lockstep<8>(1));
}

// Most warps hold arenas all over a pool nine tenths full and replace one at a time by another.
// One of four requests large blocks meanwhile, for which there is no space in one piece. Each block
// is filled with its warp's number.
struct Crowd {
  using Scratch = Heapwood::WarpState;
  static constexpr unsigned block_threads = 64, blocks_per_multiprocessor = 1;
  Heapwood heap;
  std::byte** held;  // `each` per warp
  std::uint32_t each, rounds, granules;
  std::uint64_t *wrong, *served;
  std::uint32_t* filled;  // warps that hold their arenas

  template <class Warp>
  SIMT_FN void operator()(Warp& warp, Scratch& scratch) const {
    typename Heapwood::Context<Warp> own(heap, warp, scratch);
    const auto mark = static_cast<std::byte>(warp.worker() + 1);
    const auto allocate = [&](std::uint32_t n) {
      auto* const block = static_cast<std::byte*>(own.allocate(warp, n));
      if (block != nullptr) fill(warp, block, n, mark);
      return block;
    };
    const auto release = [&](std::byte* block, std::uint32_t n) {
      if (block == nullptr) return;
      check(warp, block, n, mark);
      own.deallocate(warp, block, n);
    };
    std::byte** const mine = held + std::size_t{warp.worker()} * each;
    const bool is_large = warp.worker() % 4 == 0;
    const std::uint32_t n = is_large ? 40 * granules : granules;
    // The pool is filled completely; then every tenth block makes room.
    for (unsigned pass = 0; pass < 2 && !is_large; ++pass) {
      for (std::uint32_t i = 0; i < each; i += pass == 0 ? 1 : 10) {
        std::byte* const old = mine[i];
        warp.sync();  // all lanes have read
        std::byte* const block = pass == 0 ? allocate(n) : nullptr;
        release(old, n);
        if (warp.lane() == 0) mine[i] = block;
        warp.sync();
      }
    }
    simt::atomic_ref<std::uint32_t> ready(*filled);
    if (warp.lane() == 0 && !is_large) ready.fetch_add(1, simt::relaxed);
    if (is_large)
      simt::wait_until_all(warp, [&] { return ready.load(simt::relaxed) == warp.workers() - 1; });
    for (std::uint32_t i = 0; i < (is_large ? rounds / 10 : rounds) && !warp.aborted(); ++i) {
      const std::uint32_t any = i * 7919 % each;
      std::byte*& place = mine[is_large ? 0 : any % 10 == 0 ? any + 1 : any];
      std::byte *const old = place, *block = nullptr;
      warp.sync();  // all lanes have read
      // A large block is not replaced by its own memory.
      if (is_large) block = allocate(n);
      release(old, n);
      if (!is_large) block = allocate(n);
      if (warp.lane() == 0) {
        place = block;
        if (is_large && block != nullptr) count(*served);
      }
      warp.sync();
    }
    for (std::uint32_t i = 0; i < each; ++i) release(mine[i], n);
    own.end(warp);
  }

 private:
  SIMT_INLINE static void count(std::uint64_t& word) {
    simt::atomic_ref<std::uint64_t>(word).fetch_add(1, simt::relaxed);
  }
  template <class Warp>
  SIMT_FN void fill(Warp& warp, std::byte* block, std::uint32_t n, std::byte mark) const {
    for (std::uint32_t i = warp.lane(); i < n; i += Warp::width) block[i * granule] = mark;
  }
  template <class Warp>
  SIMT_FN void check(Warp& warp, const std::byte* block, std::uint32_t n, std::byte mark) const {
    for (std::uint32_t i = warp.lane(); i < n; i += Warp::width) {
      if (block[i * granule] != mark) count(*wrong);
    }
  }
};
template <class Device>
void crowds(const Device& device, std::uint32_t rounds) {
  constexpr unsigned warps = 4;
  constexpr std::size_t pool_bytes = std::size_t{24} << 20, arena_bytes = 8192;
  const simt::Memory memory({}, pool_bytes);
  const Pool pool{memory.data(), pool_bytes};
  const Heapwood heap = Heapwood::create(pool, {.has_persistent_warps = true}, device);
  constexpr std::uint32_t each = pool_bytes / arena_bytes / (warps - 1) / 10 * 10;
  std::vector<std::byte*> held(std::size_t{warps} * each);
  std::uint64_t wrong = 0, served = 0;
  std::uint32_t filled = 0;
  device.launch(
      Crowd{heap, held.data(), each, rounds, arena_bytes / granule, &wrong, &served, &filled},
      warps);
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(served, 0u);
  EXPECT_EQ(test::bytes_in(workloads::regions_of(heap, {}), Region::State::used), 0u);
}
TEST(RunCollector, ManyWarpsDoNotDisturbIt) {
  crowds(simt::Cpu({.threads = 4}), 20'000);
  crowds(simt::Lockstep<4>(4), 3000);
}

}  // namespace
}  // namespace heapwood::alloc
