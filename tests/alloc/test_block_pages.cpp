// SPDX-License-Identifier: MIT
// Size classes, and the two allocators that divide pages into blocks of equal size: every block can
// be allocated again after any sequence of requests.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "alloc/allocators/halloc.hpp"
#include "alloc/allocators/scatter.hpp"
#include "alloc/primitives/sum_map.hpp"
#include "tests/alloc/conformance.hpp"
#include "tests/alloc/exercise_erased.hpp"
#include "tests/errors.hpp"

namespace heapwood::alloc::test {

namespace {

// The offset of the part of the pool that serves large requests.
template <class A>
constexpr std::size_t small_part(std::size_t pool) {
  return std::is_same_v<A, Scatter> ? pool / 2 : pool / 4 * 3;
}

// The number of free bytes in the pages.
template <class A>
std::size_t free_in_pages(const std::vector<Region>& regions, std::size_t pool) {
  std::size_t sum = 0;
  for (const Region& r : regions)
    sum += r.state == Region::State::free && r.offset < small_part<A>(pool) ? r.bytes : 0;
  return sum;
}

}  // namespace

TEST(SizeClass, IsTheSmallestThatHolds) {
  for (std::size_t bytes = 0; bytes <= 100'000; ++bytes) {
    const std::uint32_t k = size_class::of(bytes);
    ASSERT_GE(size_class::bytes(k), bytes);
    if (k > 0) {
      ASSERT_LT(size_class::bytes(k - 1), bytes);
    }
  }
  for (std::uint32_t k = 0; k < 40; ++k) {
    EXPECT_EQ(size_class::of(size_class::bytes(k)), k);
    for (std::uint32_t n = 0; n < 5000; ++n)
      ASSERT_EQ(size_class::divide(n, k), n / size_class::granules(k));
  }
}

template <class A>
class BlockPagesAllocators : public testing::Test {};
using Both = testing::Types<Scatter, Halloc>;
TYPED_TEST_SUITE(BlockPagesAllocators, Both);

// Threads allocate blocks of all sizes concurrently, then everything is freed, and one thread
// allocates blocks of one size until a request is refused: no page is lost, whatever its last class
// was.
TYPED_TEST(BlockPagesAllocators, EveryBlockCanBeAllocatedAgain) {
  constexpr std::size_t pool = 128 << 10;
  constexpr std::uint32_t warps = 4, slots = 400;
  for (const std::uint64_t bytes : {16u, 48u, 64u, 400u}) {
    const auto count = static_cast<std::uint32_t>(pool / bytes);
    const ExerciseJob j =
        job_of(pool, warps, std::max(slots, count),
               {exchange_at_random(warps, slots, 4000, bytes * 10,
                                   [](Random& random) { return random(500); }),
                free_all(warps, slots), of_shares(1, count, Kind::exchange, bytes),
                of_shares(1, count, Kind::free)});
    const ExerciseResult result = test::exercise<TypeParam, simt::Cpu>(j);
    EXPECT_EQ(bytes_in(result.phases[1].regions, Region::State::used), 0u);
    EXPECT_GT(free_in_pages<TypeParam>(result.phases[1].regions, pool), pool / 3);
    EXPECT_EQ(result.phases[2].ops[0].back().offset, OpResult::failed)
        << "the pool is too large for this test";
    EXPECT_EQ(free_in_pages<TypeParam>(result.phases[2].regions, pool), 0u) << bytes;
    EXPECT_EQ(bytes_in(result.phases[3].regions, Region::State::used), 0u);
  }
}

// A freed block serves its own size class; it does not make its page available to larger requests.
TYPED_TEST(BlockPagesAllocators, AFreeBlockServesOnlyItsClass) {
  constexpr std::size_t pool = 64 << 10;
  Script ops = of_slots(Kind::allocate, 0, 4000, 16);
  ops.push_back({Kind::free, 100});
  ops.push_back({Kind::allocate, 4001, 100});
  ops.push_back({Kind::allocate, 4002, 16});
  ops.push_back({Kind::allocate, 4003, 16});
  const ExerciseJob j = job_of(pool, 1, 4096, {{{ops}}});
  const auto result = test::exercise<TypeParam, simt::Cpu>(j);
  const auto& r = result.phases[0].ops[0];
  ASSERT_EQ(r[3999].offset, OpResult::failed);
  EXPECT_EQ(r[4001].offset, OpResult::failed);
  EXPECT_EQ(r[4002].offset, r[100].offset);
  EXPECT_EQ(r[4003].offset, OpResult::failed);
}

TEST(Scatter, PagesOfAllSizesServe) {
  for (std::size_t page = 256; page <= 1 << 20; page *= 4) {
    const auto size = [&](std::uint32_t slot) {
      return slot < 32 ? 10 + 100 * (slot % 8) : page - slot % 8;
    };
    const ExerciseJob j =
        job_of(8 << 20, 4, 64, {allocate_shares(4, 16, size), of_shares(4, 16, Kind::free)},
               {.page_bytes = page});
    const auto result = test::exercise<Scatter, simt::Cpu>(j);
    if (page < 64 << 10) {
      EXPECT_EQ(result.failures, 0u) << page;
    }
    EXPECT_EQ(bytes_in(result.phases[1].regions, Region::State::used), 0u) << page;
    EXPECT_GE(largest_free(result.initial), page);
  }
}

TEST(Scatter, RefusesPageSizesThatDoNotFit) {
  const simt::Cpu device(four_threads);
  simt::Memory memory(four_threads, 1 << 20);
  for (const std::size_t page :
       {std::size_t{128}, std::size_t{5000}, std::size_t{1} << 19, std::size_t{1} << 27}) {
    EXPECT_THROW(Scatter::create({memory.data(), memory.bytes()}, {.page_bytes = page}, device),
                 Error)
        << page;
  }
  // With the built-in malloc for large requests all of the pool is pages.
  tests::expect_error(Exit::usage, {"at most 524288 in this pool"}, [&] {
    ScatterBuiltin::create({memory.data(), memory.bytes()}, {.page_bytes = 1 << 20}, device);
  });
}

TEST(SumMap, FindsEveryBitOfSeveralLevels) {
  constexpr std::uint32_t bits = 70'000;
  std::uint32_t table[SumMap::table_entries] = {};
  std::vector<std::uint64_t> words(SumMap::plan(bits, 0, table), 0);
  EXPECT_EQ(table[SumMap::table_entries - 1], 2u);
  const SumMap map(words.data(), table, bits);
  EXPECT_EQ(map.find(0), SumMap::none);
  std::set<std::uint32_t> want;
  for (std::uint32_t i = 1; i < 300; ++i) want.insert(i * i * 7919u % bits);
  for (const std::uint32_t b : want) map.set(b);
  std::set<std::uint32_t> got;
  for (std::uint32_t b, start = 35'000; (b = map.find(start)) != SumMap::none; start = b) {
    EXPECT_TRUE(map.take(b));
    EXPECT_FALSE(map.take(b));
    got.insert(b);
  }
  EXPECT_EQ(got, want);
  EXPECT_FALSE(map.hinted());
  for (const std::uint64_t word : words) EXPECT_EQ(word, 0u);  // the words of hints too
}

}  // namespace heapwood::alloc::test
