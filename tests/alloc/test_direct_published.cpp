// SPDX-License-Identifier: MIT
// The circular lists as published: the pre-split of equation 1, the walk and its offset, merges,
// reuse of merged chunks, refusals, and threads that allocate and free in a nearly full pool.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "alloc/allocators/circular_lists_published.hpp"
#include "tests/alloc/conformance.hpp"
#include "tests/alloc/exercise_erased.hpp"
#include "tests/alloc/launch.hpp"

namespace heapwood::alloc {
namespace {

using Warp = simt::SerialWarp;

// One type for all tests, so that launches are compiled once.
void run(int threads, const std::function<void(Warp&)>& f) {
  test::launch(simt::Cpu({.threads = threads}), static_cast<unsigned>(threads), f);
}

template <class A>
std::vector<Region> free_regions(const A& heap) {
  std::vector<Region> regions = regions_of(heap, {});
  std::erase_if(regions, [](const Region& r) { return r.state != Region::State::free; });
  return regions;
}
template <class A>
std::size_t used_bytes(const A& heap) {
  return test::bytes_in(regions_of(heap, {}), Region::State::used);
}

template <class A>
class PublishedList : public testing::Test {
 protected:
  A create(std::size_t bytes, AllocatorOptions options = {}, int threads = 1) {
    pool_ = simt::Memory({}, bytes);
    return A::create({pool_.data(), bytes}, options, simt::Cpu({.threads = threads}));
  }

  simt::Memory pool_{{}, 256};
};
// Types that cover every argument of the template, but not every combination.
using Variants = testing::Types<CMallocPublished, CfMallocPublished, CmMallocPublished,
                                CfmMallocPublished, CfmMallocDraws, CfmMallocUngrouped>;
TYPED_TEST_SUITE(PublishedList, Variants);

// Threads exchange blocks of a pool that is too small for all of them, with each pre-split;
// searches begin at offsets or, with draws, at any chunk.
TYPED_TEST(PublishedList, BlocksHaveOneOwner) {
  using namespace test;
  constexpr std::uint32_t threads = 4, slots = 24, requests = 3000;
  using enum AllocatorOptions::Presplit;
  for (const auto presplit : {heap, uniform, root}) {
    const bool is_uniform = presplit == uniform;
    const AllocatorOptions options{
        .smallest_chunk = is_uniform ? 512u : 0u, .presplit = presplit, .request_bytes = 500};
    const auto size = [&](Random& random) {
      return 4 * (1 + random(random(16) == 0 && !is_uniform ? 400 : 60));
    };
    const ExerciseResult result = exercise<TypeParam, simt::Cpu>(
        job_of(is_uniform ? 8192 : 4096, threads, slots,
               {exchange_at_random(threads, slots, requests, 1, size), free_all(threads, slots)},
               options));
    EXPECT_GT(test::served(result.phases[0]), requests);
    EXPECT_TRUE(result.failures > 0 || is_uniform);
    EXPECT_EQ(test::used_bytes(result.phases[1]), 0u);
  }
}

// The largest chunk serves again whenever it is freed.
TYPED_TEST(PublishedList, AFreedBlockServesAgain) {
  TypeParam heap = this->create(1 << 14);
  const std::size_t bytes = test::largest_free(regions_of(heap, {}));
  run(1, [&](Warp& warp) {
    for (int i = 0; i < 50; ++i) {
      void* block = heap.allocate(warp, bytes);
      ASSERT_NE(block, nullptr) << i;
      heap.deallocate(warp, block);
    }
  });
}

template <class A>
using PublishedListOrder = PublishedList<A>;
using BothHeaders = testing::Types<CMallocPublished, CfmMallocPublished>;
TYPED_TEST_SUITE(PublishedListOrder, BothHeaders);

// Blocks follow each other, and the offset moves behind each of them.
TYPED_TEST(PublishedListOrder, TheOffsetMovesBehindEachBlock) {
  TypeParam heap = this->create(1 << 16);
  run(1, [&](Warp& warp) {
    auto* first = static_cast<std::byte*>(heap.allocate(warp, 48));
    for (int i = 1; i < 20; ++i)
      EXPECT_EQ(heap.allocate(warp, 48), first + i * std::ptrdiff_t{48}) << i;
  });
}

// A chunk of twice the size is split, a smaller one is not.
TYPED_TEST(PublishedListOrder, AChunkOfLessThanTwiceTheSizeIsTakenWhole) {
  TypeParam heap = this->create(1 << 16);
  const std::vector<Region> before = free_regions(heap);
  const std::size_t root = before[0].bytes;
  run(1, [&](Warp& warp) { heap.allocate(warp, root / 2); });
  EXPECT_EQ(used_bytes(heap), root / 2);
  TypeParam other = this->create(1 << 16);
  run(1, [&](Warp& warp) { other.allocate(warp, root / 2 + 1); });
  EXPECT_EQ(used_bytes(other), root);
}

// A free merges the next chunk and no other one, and moves the offset behind it.
TYPED_TEST(PublishedListOrder, AFreeMergesTheNextChunkOnly) {
  TypeParam heap = this->create(1 << 16);
  const std::size_t chunks = free_regions(heap).size();
  run(1, [&](Warp& warp) {
    void* blocks[3];
    for (void*& block : blocks) block = heap.allocate(warp, 48);
    heap.deallocate(warp, blocks[1]);
    EXPECT_EQ(free_regions(heap).size(), chunks + 1);
    heap.deallocate(warp, blocks[0]);  // also merges the chunk of blocks[1]
    EXPECT_EQ(free_regions(heap).size(), chunks + 1);
    EXPECT_EQ(free_regions(heap)[0].bytes, 2 * 48u);
    EXPECT_EQ(heap.allocate(warp, 48), static_cast<std::byte*>(blocks[2]) + 48)
        << "the offset is behind the merged chunk, at blocks[2]";
  });
}

// The memory of a merged chunk serves again at once, wherever searches still are.
TYPED_TEST(PublishedListOrder, AMergedChunkServesAgain) {
  TypeParam heap = this->create(1 << 14);
  run(1, [&](Warp& warp) {
    void *large = heap.allocate(warp, 112), *blocks[6];
    for (void*& block : blocks) block = heap.allocate(warp, 48);
    for (std::size_t bytes = 1 << 13; bytes > 0; bytes /= 2) {
      while (heap.allocate(warp, bytes) != nullptr) {
      }
    }
    for (void* block : {blocks[4], large, blocks[2], blocks[1]}) heap.deallocate(warp, block);
    EXPECT_EQ(heap.allocate(warp, 100), large) << "the offset is behind the merged chunk";
    EXPECT_EQ(heap.allocate(warp, 96), blocks[1]);
    EXPECT_EQ(heap.allocate(warp, 48), blocks[4]);
    EXPECT_EQ(heap.allocate(warp, 48), nullptr);
  });
}

void expect_adjacent_chunks(const published::Shape& s) {
  std::uint32_t position = 0;
  for (std::uint32_t heap = 0; heap < s.heaps; ++heap) {
    for (std::uint32_t i = 1; i <= s.heap_chunks(); ++i) {
      ASSERT_EQ(s.chunk(heap, i).position, position);
      position += s.chunk(heap, i).size;
    }
  }
  EXPECT_EQ(position, s.end_of_heaps());
}

TEST(PublishedListShape, FollowsEquationOne) {
  using published::Shape;
  // A pool of 2 GiB, less the headers at both ends, has 23 levels, a root of 64 MiB and about 604
  // MB left.
  const Shape large = Shape::choose((1u << 27) - 1, 1, 1);
  EXPECT_EQ(large.levels, 23u);
  EXPECT_EQ(large.root(), (64u << 20) / 16);
  EXPECT_EQ((std::size_t{large.units} - large.end_of_heaps()) * 16 / 1'000'000, 603u);
  for (const std::uint32_t heaps : {1u, 3u, 132u}) {
    for (const std::uint32_t smallest : {1u, 2u, 5u}) {
      const Shape s = Shape::choose(100'000, heaps, smallest);
      ASSERT_LE(s.end_of_heaps(), s.units);
      EXPECT_GT(std::uint64_t{s.levels + 1} * 2 * s.root() * heaps, s.units);
      expect_adjacent_chunks(s);
      for (std::uint32_t wanted = 1; wanted <= s.root(); wanted = wanted * 3 / 2 + 1) {
        const std::uint32_t fit = s.fits(wanted);
        EXPECT_GE(s.chunk(0, fit).size, wanted);
        EXPECT_TRUE(fit == s.heap_chunks() || s.chunk(0, fit + 1).size < wanted) << wanted;
      }
      EXPECT_EQ(s.fits(s.root() + 1), 0u);
    }
  }
}

// Chunks of one size, each a heap of one level; the offsets are spread evenly over them.
TEST(PublishedListShape, UniformHasChunksOfOneSize) {
  using published::Shape;
  for (const std::uint32_t offsets : {1u, 3u, 132u, 5000u}) {
    for (const std::uint32_t chunk : {1u, 2u, 77u, 100'000u}) {
      const Shape s = Shape::uniform(100'000, offsets, chunk);
      EXPECT_EQ(s.heaps, 100'000 / chunk);
      EXPECT_EQ(s.heap_units(), chunk);
      EXPECT_LT(s.units - s.end_of_heaps(), chunk) << "the last chunk is smaller";
      EXPECT_EQ(s.headers(), std::size_t{s.heaps} + 2);
      EXPECT_EQ(s.offsets, std::min(offsets, s.heaps));
      EXPECT_EQ(s.units_per_offset(), s.heaps / s.offsets * chunk);
      EXPECT_LT((s.offsets - 1) * s.units_per_offset(), s.end_of_heaps());
      EXPECT_EQ(s.fits(chunk), 1u);
      EXPECT_EQ(s.fits(chunk + 1), 0u);
    }
  }
}

TYPED_TEST(PublishedListOrder, UniformChunksServeRequestsUpToTheirSize) {
  constexpr std::size_t chunk = 1024, pool = 1 << 16;
  TypeParam heap = this->create(
      pool, {.smallest_chunk = chunk, .presplit = AllocatorOptions::Presplit::uniform}, 4);
  const std::vector<Region> before = free_regions(heap);
  ASSERT_GE(before.size(), 40u);
  for (std::size_t i = 0; i + 1 < before.size(); ++i) EXPECT_EQ(before[i].bytes, chunk) << i;
  EXPECT_LE(before.back().bytes, chunk);
  run(1, [&](Warp& warp) {
    EXPECT_EQ(heap.allocate(warp, chunk + 1), nullptr);
    std::size_t whole = 0;
    while (heap.allocate(warp, chunk) != nullptr) ++whole;
    EXPECT_EQ(whole, before.size() - (before.back().bytes < chunk));
  });
}

TEST(PublishedListUniform, HasADefaultSize) {
  const auto first_chunk = [](std::size_t bytes) {
    const test::OwnPool<CMallocPublished> pool(bytes,
                                               {.presplit = AllocatorOptions::Presplit::uniform});
    return free_regions(pool.heap)[0].bytes;
  };
  EXPECT_EQ(first_chunk(1 << 16), 1024u);
  EXPECT_EQ(first_chunk(8 << 20), 8192u);
}

TEST(PublishedListShape, HasTheSmallestChunkThatIsAskedFor) {
  const auto smallest_of = [](const AllocatorOptions& options) {
    const test::OwnPool<CfmMallocPublished> pool(1 << 18, options);
    std::size_t found = 1 << 18;
    for (const Region& r : free_regions(pool.heap)) found = std::min(found, r.bytes);
    return found;
  };
  for (const std::size_t bytes : {16, 64, 1024})
    EXPECT_EQ(smallest_of({.smallest_chunk = bytes}), bytes);
  // Every chunk serves a request, whose size need not be a power of two.
  using enum AllocatorOptions::Presplit;
  for (const std::size_t bytes : {16, 48, 112})
    EXPECT_EQ(smallest_of({.presplit = payload, .request_bytes = bytes}), bytes);
}

// 2 chunks of the first array's size, 4 of 0.8 times that, and so on.
TEST(PublishedListShape, FallsFromTheRoot) {
  using published::Shape;
  for (const std::uint32_t heaps : {1u, 3u}) {
    const Shape s = Shape::from_root(100'000, heaps, 1000);
    expect_adjacent_chunks(s);
    EXPECT_GT(s.heap_units() + s.chunk(0, s.heap_chunks() + 1).size, s.units / heaps);
    EXPECT_EQ(s.chunk(0, 2).size, 1000u);
    EXPECT_EQ(s.chunk(0, 3).size, 800u);
    EXPECT_EQ(s.chunk(0, 7).size, 640u);
  }
  const Shape none = Shape::from_root(100, 1, 101);
  EXPECT_EQ(none.headers(), 2u) << "one chunk of the whole pool";
}

}  // namespace
}  // namespace heapwood::alloc
