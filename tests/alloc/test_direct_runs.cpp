// SPDX-License-Identifier: MIT
// Blocks of several arenas that a warp with a context requests: pairs, of which one side may be
// empty, and blocks for which no run of arenas is free (run_collector.hpp).
#include <gtest/gtest.h>

#include <vector>

#include "tests/alloc/conformance.hpp"
#include "tests/alloc/launch.hpp"

namespace heapwood::alloc {
namespace {

// Pairs of several arenas, and of several superblocks, one or both of which are blocks.
TEST(Runs, PairsWithAnEmptySideAreFreed) {
  const simt::Lockstep<8> device(1);
  const test::OwnPool<Heapwood> pool(std::size_t{26} << 20, {.has_persistent_warps = true}, device);
  std::uint32_t refused = 0;
  test::launch_with_context(device, 1, pool.heap, [&](auto& warp, auto& own) {
    constexpr std::uint32_t granules = 8192 / granule;  // granules per arena
    for (const std::uint32_t arenas : {2u, 5u, 33u, 40u}) {
      const std::uint32_t n = arenas * granules;
      for (unsigned sides = 1; sides < 4; ++sides) {
        const std::uint32_t first = sides == 2 ? 0 : n, second = sides == 1 ? 0 : n;
        const BlockPair pair = own.allocate_pair(warp, first, second);
        warp.sync();
        if (warp.lane() == 0 && pair.first == nullptr) ++refused;
        if (first != 0) own.deallocate(warp, pair.first, first);
        if (second != 0) own.deallocate(warp, pair.second, second);
      }
    }
  });
  EXPECT_EQ(refused, 0u);
  test::expect_all_freed(pool.regions());
}

// A pool filled with blocks of an arena each, for tests that use a range of them again. One thread
// fills and empties it: simulated warps would take seconds.
struct FilledPool : test::OwnPool<Heapwood> {
  static constexpr std::uint32_t arena_bytes = 8192, arena_granules = arena_bytes / granule;
  std::byte* first;  // start of the range, which has no two adjacent free superblocks

  FilledPool() : OwnPool(std::size_t{26} << 20, {.has_persistent_warps = true}) {
    first = pool.base + regions().front().bytes + std::size_t{640} * arena_bytes;
    test::launch_with_context(simt::Cpu({.threads = 1}), 1, heap, [this](auto& warp, auto& own) {
      while (void* block = own.allocate(warp, arena_granules)) blocks_.push_back(block);
    });
    EXPECT_GT(blocks_.size(), pool.bytes / arena_bytes - 100);
  }
  // Frees all blocks but the n that start at `first`, and `block`.
  void free_all_but_range(std::uint32_t n, void* block = nullptr) {
    std::erase_if(blocks_, [&](void* b) {
      const std::ptrdiff_t offset = static_cast<std::byte*>(b) - first;
      return offset >= 0 && offset < std::ptrdiff_t{n} * arena_bytes;
    });
    if (block != nullptr) blocks_.push_back(block);
    test::launch_alone([this](auto& warp) {
      for (void* b : blocks_) heap.deallocate(warp, b);
    });
    EXPECT_EQ(used_bytes(), 0u);
  }
  std::size_t used_bytes() const { return test::bytes_in(regions(), Region::State::used); }

 private:
  std::vector<void*> blocks_;
};

// Frees all but one of `gaps` blocks and requests as many arenas as one block; then frees the last
// block too and repeats the request.
template <class Device>
void collects(const Device& device) {
  constexpr std::uint32_t gaps = 50, granules = FilledPool::arena_granules;
  FilledPool pool;
  const std::size_t filled = pool.used_bytes();
  std::byte* served[2] = {};
  test::launch_with_context(device, 1, pool.heap, [&](auto& warp, auto& own) {
    const auto arena = [&](std::uint32_t i) {
      return pool.first + std::size_t{i} * FilledPool::arena_bytes;
    };
    for (std::uint32_t i = 1; i < gaps; ++i) own.deallocate(warp, arena(i), granules);
    for (unsigned request = 0; request < 2; ++request) {
      auto* const block = static_cast<std::byte*>(own.allocate(warp, gaps * granules));
      if (warp.lane() == 0) served[request] = block;
      warp.sync();
      if (request == 0) own.deallocate(warp, arena(0), granules);
    }
  });
  EXPECT_EQ(served[0], nullptr);
  ASSERT_EQ(served[1], pool.first);
  EXPECT_EQ(pool.used_bytes(), filled);
  pool.free_all_but_range(gaps, served[1]);
}
TEST(RunCollector, LargeBlocksGetArenasThatBecomeFreeOneByOne) {
  collects(simt::Cpu({.threads = 1}));
  collects(simt::Lockstep<8>(1));
}

// All warps but the first hold arenas of a range and replace one at a time by another, until the
// first one has requested a number of large blocks. The range has enough arenas for these, but
// seldom side by side, so most are refused while arenas are being collected. Each block is filled
// with its warp's number.
template <class Device>
void crowds(const Device& device, std::uint32_t requests) {
  constexpr unsigned warps = 4;
  constexpr std::uint32_t range = 128, each = 24, large = 40, granules = FilledPool::arena_granules;
  FilledPool pool;
  std::vector<std::byte*> held(std::size_t{warps} * each);
  std::uint64_t wrong = 0, begun = 0, ended = 0;
  const auto load = [](std::uint64_t& word) {
    return simt::atomic_ref<std::uint64_t>(word).load(simt::relaxed);
  };
  test::launch_with_context(device, warps, pool.heap, [&](auto& warp, auto& own) {
    constexpr unsigned width = Device::Warp::width;
    const auto mark = static_cast<std::byte>(warp.worker() + 1);
    const auto add = [&](std::uint64_t& word) {
      if (warp.lane() == 0) test::count(word);
    };
    const auto allocate = [&](std::uint32_t n) {
      auto* const block = static_cast<std::byte*>(own.allocate(warp, n));
      for (std::uint32_t i = warp.lane(); i < n && block != nullptr; i += width)
        block[i * granule] = mark;
      return block;
    };
    const auto release = [&](std::byte* block, std::uint32_t n) {
      if (block == nullptr) return;
      bool is_whole = true;
      for (std::uint32_t i = warp.lane(); i < n; i += width)
        is_whole = is_whole && block[i * granule] == mark;
      if (warp.any(!is_whole)) add(wrong);
      own.deallocate(warp, block, n);
    };
    if (warp.worker() == 0) {
      for (std::uint32_t i = 0; i < range; ++i)
        own.deallocate(warp, pool.first + std::size_t{i} * FilledPool::arena_bytes, granules);
      own.release_if_scarce(warp);
      add(begun);
      simt::wait_until_all(warp, [&] { return load(begun) == warp.workers(); });
      for (std::uint32_t i = 0; i < requests && !warp.aborted(); ++i) {
        release(allocate(large * granules), large * granules);
        warp.pause(i);  // leaves the processors to the others
      }
      add(ended);
      return;
    }
    simt::wait_until_all(warp, [&] { return load(begun) > 0; });
    std::byte** const mine = held.data() + std::size_t{warp.worker()} * each;
    for (std::uint32_t i = 0; warp.any(i < each || load(ended) == 0) && !warp.aborted(); ++i) {
      std::byte*& place = mine[i % each];
      std::byte* const old = place;
      warp.sync();  // all lanes have read
      release(old, granules);
      own.release_if_scarce(warp);  // no free is deferred
      warp.pause(i);
      std::byte* const block = allocate(granules);
      if (warp.lane() == 0) place = block;
      warp.sync();
      if (i == each) add(begun);
    }
    for (std::uint32_t i = 0; i < each; ++i) release(mine[i], granules);
  });
  EXPECT_EQ(wrong, 0u);
  pool.free_all_but_range(range);
}
TEST(RunCollector, ManyWarpsDoNotDisturbIt) {
  crowds(simt::Cpu({.threads = 4}), 100);
  crowds(simt::Lockstep<2>(4), 4);
}

}  // namespace
}  // namespace heapwood::alloc
