// SPDX-License-Identifier: MIT
// Large blocks of a warp with a context where no run of arenas is free (run_collector.hpp).
#include <gtest/gtest.h>

#include <vector>

#include "alloc/allocators/heapwood.hpp"
#include "simt/lockstep.hpp"
#include "tests/alloc/conformance.hpp"
#include "workloads/exercise_run.hpp"

namespace heapwood::alloc {
namespace {

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

}  // namespace
}  // namespace heapwood::alloc
