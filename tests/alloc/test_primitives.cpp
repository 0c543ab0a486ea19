// SPDX-License-Identifier: MIT
// Properties that the conformance suite cannot require of every allocator: exact exhaustion where
// it is claimed, merging that loses nothing, the shape of the pre-split, large units.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "alloc/allocators/circular_lists.hpp"
#include "alloc/primitives/buddy.hpp"
#include "tests/alloc/conformance.hpp"
#include "tests/alloc/exercise_erased.hpp"

namespace heapwood::alloc {

namespace {

using namespace test;

template <class A>
std::vector<Region> walked(const A& a) {
  return regions_of(a, four_threads);
}

template <class A>
class CircularLists : public testing::Test {};
using Lists = testing::Types<CMalloc, CfMalloc, CmMalloc, CfmMalloc>;
TYPED_TEST_SUITE(CircularLists, Lists);

// A buddy allocator as an allocator of its own.
struct Pages {
  static constexpr AllocatorTraits traits{.id = "pages", .label = "Pages", .paper = "none"};
  Buddy buddy;
  std::byte* base = nullptr;
  template <class Device>
  static Pages create(Pool pool, const AllocatorOptions&, const Device& device) {
    return {Buddy::create(pool.base, pool.bytes, 8, device), pool.base};
  }
  template <class Thread>
  void* allocate(Thread& thread, std::size_t bytes) {
    return buddy.allocate(thread, bytes);
  }
  template <class Thread>
  void deallocate(Thread&, void* block) {
    if (block != nullptr) buddy.deallocate(block);
  }
  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    buddy.walk(host, base, visit);
  }
};

// Fills the pool with blocks of one size, then lets every thread repeatedly free a block and
// allocate one. The number of blocks held at the end must not be smaller: if it is, a request was
// refused although a block was free.
template <class A>
void expect_exact_out_of_memory(std::size_t pool, std::uint64_t bytes) {
  constexpr std::uint32_t warps = 4, each = 200;
  ExercisePhase churn;
  for (std::uint32_t s = 0; s < warps; ++s) {
    churn.scripts.emplace_back();
    for (std::uint32_t i = 0; i < 5 * each; ++i) {
      // `free` reports whether the slot held a block: only slots whose request was served hold one
      // in the next round.
      const std::uint32_t slot = s * each + i % each;
      churn.scripts[s].push_back({Kind::free, slot, 0});
      churn.scripts[s].push_back({Kind::allocate, slot, bytes});
    }
  }
  const ExerciseJob j = job_of(
      pool, warps, warps * each,
      {of_shares(warps, each, Kind::allocate, bytes), churn, of_shares(warps, each, Kind::free)});
  const ExerciseResult result = test::exercise<A, simt::Cpu>(j);
  const std::uint32_t held = served(result.phases[0]);
  ASSERT_LT(held, warps * each) << "the pool is too large for this test";
  ASSERT_GT(held, 20u);
  // Empty slots make requests too, and may get the block that another slot has freed. Hence the
  // comparison of totals.
  std::uint64_t holding = 0;
  for (std::uint32_t s = 0; s < warps; ++s) {
    const auto& ops = result.phases[1].ops[s];
    for (std::size_t i = ops.size() - 2 * each; i < ops.size(); i += 2)
      holding += ops[i + 1].offset != OpResult::failed;
  }
  EXPECT_GE(holding, held);
}

}  // namespace

TYPED_TEST(CircularLists, SayFullOnlyWhenFull) {
  for (int i = 0; i < 10; ++i) expect_exact_out_of_memory<TypeParam>(16 << 10, 64);
}

TYPED_TEST(CircularLists, PresplitAsPublished) {
  const simt::Cpu device(four_threads);
  simt::Memory memory(four_threads, 1 << 20);
  const auto a = TypeParam::create({memory.data(), memory.bytes()}, {.smallest_chunk = 16}, device);
  const auto regions = walked(a);
  std::size_t smallest = memory.bytes(), chunks = 0, root = 0;
  for (const Region& r : regions) {
    if (r.state != Region::State::free) continue;
    ++chunks;
    smallest = std::min(smallest, r.bytes);
    if (chunks == 1) root = r.bytes;
    if (chunks == 2 || chunks == 3) {
      EXPECT_EQ(r.bytes, root / 2);
    }
  }
  EXPECT_EQ(smallest, 16u);
  EXPECT_GT(chunks, 4000u);
}

TYPED_TEST(CircularLists, DefaultPresplitKeepsHalfInOneChunk) {
  const simt::Cpu device(four_threads);
  simt::Memory memory(four_threads, 64 << 20);
  const auto a = TypeParam::create({memory.data(), memory.bytes()}, {}, device);
  std::size_t chunks = 0, most = 0, all = 0;
  for (const Region& r : walked(a)) {
    if (r.state != Region::State::free) continue;
    ++chunks;
    most = std::max(most, r.bytes);
    all += r.bytes;
  }
  EXPECT_LE(chunks, 8192u);
  EXPECT_GE(most, all / 2);
}

TEST(Buddy, SaysFullOnlyWhenFull) {
  for (int i = 0; i < 10; ++i) expect_exact_out_of_memory<Pages>(64 << 10, 256);
}

TEST(Buddy, MergesEverythingAfterRandomTraces) {
  const auto size = [](Random& random) { return random(20) * 256 + 16; };
  const ExerciseJob j =
      job_of(96 << 10, 4, 32, {exchange_at_random(4, 32, 1000, 7, size), free_all(4, 32)});
  const ExerciseResult result = test::exercise<Pages, simt::Cpu>(j);
  EXPECT_EQ(result.mismatches, 0u);
  ASSERT_EQ(result.phases[1].regions.size(), result.initial.size());
  for (std::size_t i = 0; i < result.initial.size(); ++i) {
    EXPECT_EQ(result.phases[1].regions[i].bytes, result.initial[i].bytes);
  }
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
  for (const std::uint64_t word : words) EXPECT_EQ(word, 0u);  // hint words too
}

}  // namespace heapwood::alloc
