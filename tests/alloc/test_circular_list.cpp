// SPDX-License-Identifier: MIT
// Properties of the circular lists only: pieces of the pre-split keep their boundaries, searches
// merge free chunks that frees have left separate, large requests take whole pieces, and the
// pieces' counts show that the pool is exhausted.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "alloc/allocators/circular_lists.hpp"
#include "tests/alloc/conformance.hpp"
#include "tests/alloc/exercise_erased.hpp"
#include "tests/alloc/launch.hpp"

namespace heapwood::alloc {
namespace {

using namespace test;

// A job of one thread.
ExerciseJob job_alone(std::size_t pool_bytes, std::uint32_t slots) {
  ExerciseJob job = job_of(pool_bytes, 1, slots);
  job.device.threads = 1;
  return job;
}

template <class A>
class CircularListPieces : public testing::Test {};
using Lists = testing::Types<CMalloc, CMallocR, CfMalloc, CmMalloc, CfmMalloc>;
TYPED_TEST_SUITE(CircularListPieces, Lists);

std::set<std::size_t> free_starts(const std::vector<Region>& regions) {
  std::set<std::size_t> starts;
  for (const Region& r : regions) {
    if (r.state == Region::State::free) starts.insert(r.offset);
  }
  return starts;
}

// Frees in ascending order merge nothing, because the next chunk is still used. The largest chunk
// becomes whole only if the search that needs it merges the parts.
TYPED_TEST(CircularListPieces, SearchesMergeWhatFreesLeftInPieces) {
  constexpr std::uint32_t slots = 4096;
  ExerciseJob j = job_alone(64 << 10, slots + 1);
  j.phases = {{{of_slots(Kind::allocate, 0, slots, 16)}}, {{of_slots(Kind::free, 0, slots)}}};
  const std::size_t largest = largest_free(test::exercise<TypeParam, simt::Cpu>(j).initial);
  j.phases[1].scripts[0].push_back({Kind::allocate, slots, largest});
  const ExerciseResult result = test::exercise<TypeParam, simt::Cpu>(j);
  ASSERT_EQ(bytes_in(result.phases[0].regions, Region::State::free), 0u)
      << "the pool is too large for this test";
  EXPECT_NE(result.phases[1].ops[0].back().offset, OpResult::failed);
}

// Threads allocate blocks of several pieces and small ones. At the end the largest chunk can be
// allocated as one block.
TYPED_TEST(CircularListPieces, LargeBlocksTakeAndReturnPieces) {
  constexpr std::uint32_t slots = 24, warps = 4;
  ExerciseJob j = job_of(2 << 20, warps, slots + 1);
  const std::size_t largest = largest_free(test::exercise<TypeParam, simt::Cpu>(j).initial);
  ASSERT_GT(largest, j.pool_bytes / 4);
  const auto size = [](Random& random) { return random(random(4) == 0 ? 150'000 : 3000); };
  j.phases = {exchange_at_random(warps, slots, 600, 1, size), free_all(warps, slots)};
  j.phases.push_back({{{{Kind::allocate, slots, largest + 1},
                        {Kind::allocate, slots, largest},
                        {Kind::free, slots}}}});
  const ExerciseResult result = test::exercise<TypeParam, simt::Cpu>(j);
  EXPECT_EQ(result.phases[2].ops[0][0].offset, OpResult::failed);
  EXPECT_NE(result.phases[2].ops[0][1].offset, OpResult::failed);
}

// A pool of 100,000 blocks: requests that visited all of them twice would exceed the time limit.
TYPED_TEST(CircularListPieces, AFullPoolRefusesQuickly) {
  constexpr std::uint32_t slots = 160'000;
  ExerciseJob j = job_alone(3 << 20, slots + 1);
  j.phases = {{{of_slots(Kind::allocate, 0, slots, 16)}},
              {{Script(20'000, {Kind::allocate, slots, 16})}}};
  j.seconds = 20;
  const ExerciseResult result = test::exercise<TypeParam, simt::Cpu>(j);
  EXPECT_EQ(bytes_in(result.phases[0].regions, Region::State::free), 0u)
      << "the pool is too large for this test";
  EXPECT_EQ(result.phases[1].ops[0].back().offset, OpResult::failed);
}

// Every second block at the end of an exhausted pool is freed and requested again: the counts of
// full pieces hide none of them.
TYPED_TEST(CircularListPieces, TheLastFreeChunksAreFound) {
  constexpr std::uint32_t slots = 100'000, holes = 60;
  ExerciseJob j = job_alone(3 << 19, slots);
  j.phases = {{{of_slots(Kind::allocate, 0, slots, 16)}}};
  const ExerciseResult full = test::exercise<TypeParam, simt::Cpu>(j);
  ASSERT_EQ(bytes_in(full.phases[0].regions, Region::State::free), 0u)
      << "the pool is too large for this test";
  std::map<std::uint64_t, std::uint32_t> slot_at;
  for (std::uint32_t s = 0; s < slots; ++s) {
    const std::uint64_t offset = full.phases[0].ops[0][s].offset;
    if (offset != OpResult::failed) slot_at[offset] = s;
  }
  ASSERT_GT(slot_at.size(), 2 * holes);
  Script drain, again;
  for (auto block = slot_at.rbegin(); drain.size() < holes; ++block, ++block) {
    drain.push_back({Kind::free, block->second, 0});
    again.push_back({Kind::allocate, block->second, 16});
  }
  j.phases.push_back({{drain}});
  j.phases.push_back({{again}});
  const ExerciseResult result = test::exercise<TypeParam, simt::Cpu>(j);
  for (const OpResult& op : result.phases[2].ops[0]) EXPECT_NE(op.offset, OpResult::failed);
}

TYPED_TEST(CircularListPieces, PresplitStaysUnderChurn) {
  constexpr std::uint32_t slots = 64, warps = 4;
  ExerciseJob j = job_of(512 << 10, warps, slots);
  unsigned i = 0;
  const auto size = [&](Random& random) { return random(i++ % 8 == 0 ? 6000 : 600); };
  j.phases = {exchange_at_random(warps, slots, 3000, 0, size), free_all(warps, slots)};
  const ExerciseResult result = test::exercise<TypeParam, simt::Cpu>(j);
  const std::set<std::size_t> before = free_starts(result.initial),
                              after = free_starts(result.phases[1].regions);
  EXPECT_GT(before.size(), 100u);
  for (const std::size_t start : before) EXPECT_EQ(after.count(start), 1u) << start;
}

// Fills the pool with blocks of one size, then lets every thread repeatedly free a block and
// allocate one. The number of blocks held at the end must not be smaller: if it is, a request was
// refused although a block was free.
template <class A>
void expect_exact_out_of_memory() {
  constexpr std::uint32_t warps = 4, each = 200, bytes = 64;
  ExercisePhase churn;
  for (std::uint32_t s = 0; s < warps; ++s) {
    churn.scripts.emplace_back();
    for (std::uint32_t i = 0; i < 5 * each; ++i) {
      const std::uint32_t slot = s * each + i % each;
      churn.scripts[s].push_back({Kind::free, slot, 0});
      churn.scripts[s].push_back({Kind::allocate, slot, bytes});
    }
  }
  const ExerciseJob j = job_of(
      16 << 10, warps, warps * each,
      {of_shares(warps, each, Kind::allocate, bytes), churn, of_shares(warps, each, Kind::free)});
  const ExerciseResult result = test::exercise<A, simt::Cpu>(j);
  const std::uint32_t held = served(result.phases[0]);
  ASSERT_LT(held, warps * each) << "the pool is too large for this test";
  ASSERT_GT(held, 20u);
  // Threads with empty slots make requests too, and may get the block that another slot has freed,
  // so totals are compared.
  std::uint64_t holding = 0;
  for (std::uint32_t s = 0; s < warps; ++s) {
    const auto& ops = result.phases[1].ops[s];
    for (std::size_t i = ops.size() - 2 * each; i < ops.size(); i += 2)
      holding += ops[i + 1].offset != OpResult::failed;
  }
  EXPECT_GE(holding, held);
}

TYPED_TEST(CircularListPieces, SayFullOnlyWhenFull) {
  for (int i = 0; i < 10; ++i) expect_exact_out_of_memory<TypeParam>();
}

TYPED_TEST(CircularListPieces, PresplitIsAsPublishedIfChunksMayBeSmall) {
  std::vector<Region> chunks =
      OwnPool<TypeParam>(1 << 20, {.smallest_chunk = 16}, simt::Cpu(four_threads)).regions();
  std::erase_if(chunks, [](const Region& r) { return r.state != Region::State::free; });
  ASSERT_GT(chunks.size(), 4000u);
  for (const int i : {1, 2}) EXPECT_EQ(chunks[i].bytes, chunks[0].bytes / 2);
  EXPECT_EQ(std::ranges::min(chunks, {}, &Region::bytes).bytes, 16u);
}

TYPED_TEST(CircularListPieces, DefaultPresplitKeepsHalfInOneChunk) {
  const std::vector<Region> regions =
      OwnPool<TypeParam>(64 << 20, {}, simt::Cpu(four_threads)).regions();
  EXPECT_LE(free_starts(regions).size(), 8192u);
  EXPECT_GE(largest_free(regions), bytes_in(regions, Region::State::free) / 2);
}

}  // namespace

// Every shape fits into the pool, its pieces cover it, each with an entry of its own, and those
// that fit a request are numbered level by level.
TEST(Presplit, EveryShapeFitsAndCoversThePool) {
  for (const std::uint32_t units :
       {1u, 2u, 5u, 17u, 100u, 1000u, 65536u, 5'000'000u, header::next}) {
    for (const std::uint32_t heaps : {1u, 4u, 132u, 5000u}) {
      for (const std::uint32_t smallest : {0u, 1u, 4u, 1000u}) {
        SCOPED_TRACE(testing::Message() << units << ' ' << heaps << ' ' << smallest);
        const PresplitShape s = PresplitShape::choose(units, heaps, smallest);
        ASSERT_LE(s.rest(), units);
        EXPECT_GE(s.heaps, 1u);
        EXPECT_GE(s.root() >> (s.levels - 1), 1u);
        std::uint32_t next_index = 0, pieces = 0;
        for (std::uint32_t position = 0; position < units; ++pieces) {
          const Piece piece = s.piece(position), last = s.piece(piece.end - 1);
          ASSERT_GT(piece.end, position);
          ASSERT_TRUE(piece.begin == position && last.begin == position && last.end == piece.end);
          ASSERT_GE(s.index(position), next_index);
          next_index = s.index(position) + 1;
          ASSERT_EQ(s.begin_of(s.index(position)), position);
          if (position < s.rest()) {
            const std::uint32_t after = s.past_smaller(position);
            ASSERT_TRUE(after == s.rest() || s.piece(after).end - after == s.root());
          }
          position = piece.end;
        }
        EXPECT_LT(next_index, s.table_size() + 1);
        EXPECT_LT(pieces, 80'000u);
        if (s.rest() == 0) continue;
        for (std::uint32_t wanted = 1; wanted <= s.root(); wanted += 1 + wanted / 3) {
          const std::uint32_t count = s.fits(wanted);
          ASSERT_GE(count, 1u);
          const unsigned level = simt::highest_bit(count);
          EXPECT_EQ(count, (2u << level) - 1);
          EXPECT_GE(s.root() >> level, wanted);
          EXPECT_TRUE(level + 1 == s.piece_levels || (s.root() >> (level + 1)) < wanted) << wanted;
          for (const std::uint32_t chunk : {1u, count / 2 + 1, count}) {
            const std::uint32_t position = s.position(s.heaps - 1, chunk);
            EXPECT_EQ(s.piece(position).begin, position);
            EXPECT_EQ(s.piece(position).end - position, s.root() >> simt::highest_bit(chunk));
          }
        }
        EXPECT_EQ(s.fits(s.root() + 1), 0u);
      }
    }
  }
}

// Blocks of gigabytes, which only a large pool with a large smallest chunk has.
TEST(CircularListPresplit, UnitsOfManyBlocksAreAtMostThePool) {
  PresplitShape shape;
  shape.units = (1u << 30) - 2;
  EXPECT_EQ(shape.units_for(5, 32), 160u);
  EXPECT_EQ(shape.units_for(1u << 25, 31), 31u << 25);
  for (const std::uint32_t units : {1u << 25, 1u << 27, (1u << 27) + 1, 1u << 29, shape.units})
    EXPECT_EQ(shape.units_for(units, 32), shape.units) << units;
}

}  // namespace heapwood::alloc
