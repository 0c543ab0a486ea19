// SPDX-License-Identifier: MIT
// Properties of the circular lists only: pieces of the pre-split keep their boundaries, searches
// merge free chunks that frees have left separate, large requests take whole pieces, and the
// pieces' counts show that the pool is exhausted.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "alloc/allocators/circular_lists.hpp"
#include "simt/cpu.hpp"
#include "tests/alloc/conformance.hpp"
#include "tests/alloc/exercise_erased.hpp"

namespace heapwood::alloc {
namespace {

using K = workloads::Op::Kind;

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
TYPED_TEST(CircularListPieces, WalkersJoinWhatFreesLeftInPieces) {
  constexpr std::uint32_t slots = 4096;
  workloads::ExerciseJob j;
  j.device = {.kind = simt::DeviceKind::cpu, .index = 0, .threads = 1};
  j.pool_bytes = 64 << 10;
  j.slots = slots + 1;
  j.phases.resize(2);
  std::vector<workloads::Op> fill, drain;
  for (std::uint32_t s = 0; s < slots; ++s) fill.push_back({K::allocate, s, 16});
  for (std::uint32_t s = 0; s < slots; ++s) drain.push_back({K::free, s, 0});
  j.phases[0].scripts.push_back(fill);
  j.phases[1].scripts.push_back(drain);
  const std::size_t largest = test::largest_free(test::exercise<TypeParam, simt::Cpu>(j).initial);
  j.phases[1].scripts[0].push_back({K::allocate, slots, largest});
  const workloads::ExerciseResult result = test::exercise<TypeParam, simt::Cpu>(j);
  ASSERT_EQ(test::bytes_in(result.phases[0].regions, Region::State::free), 0u)
      << "the pool is too large for this test";
  EXPECT_NE(result.phases[1].ops[0].back().offset, workloads::OpResult::failed);
}

// Threads allocate blocks of several pieces and small ones. At the end the largest chunk can be
// allocated as one block.
TYPED_TEST(CircularListPieces, LargeBlocksTakePiecesAndGiveThemBack) {
  constexpr std::uint32_t slots = 24, warps = 4;
  workloads::ExerciseJob j;
  j.device = {.kind = simt::DeviceKind::cpu, .index = 0, .threads = warps};
  j.pool_bytes = 2 << 20;
  j.warps = warps;
  j.slots = slots + 1;
  j.phases.resize(2);
  const std::size_t largest = test::largest_free(test::exercise<TypeParam, simt::Cpu>(j).initial);
  ASSERT_GT(largest, j.pool_bytes / 4);
  for (std::uint32_t w = 0; w < warps; ++w) {
    test::Random random(w + 1);
    std::vector<workloads::Op> mix, drain;
    for (int i = 0; i < 600; ++i) {
      const std::uint32_t slot = random(slots);
      mix.push_back({K::exchange, slot, random(slot % 4 == 0 ? 150'000 : 3000)});
    }
    for (std::uint32_t s = w; s < slots; s += warps) drain.push_back({K::free, s, 0});
    j.phases[0].scripts.push_back(mix);
    j.phases[1].scripts.push_back(drain);
  }
  j.phases.push_back(
      {{{{K::allocate, slots, largest + 1}, {K::allocate, slots, largest}, {K::fill, slots}}}});
  const workloads::ExerciseResult result = test::exercise<TypeParam, simt::Cpu>(j);
  EXPECT_EQ(result.mismatches, 0u);
  EXPECT_EQ(result.phases[2].ops[0][0].offset, workloads::OpResult::failed);
  EXPECT_NE(result.phases[2].ops[0][1].offset, workloads::OpResult::failed);
}

// A pool of 100,000 blocks: requests that visited all of them twice would exceed the time limit.
TYPED_TEST(CircularListPieces, AFullPoolRefusesQuickly) {
  constexpr std::uint32_t slots = 160'000;
  workloads::ExerciseJob j;
  j.device = {.kind = simt::DeviceKind::cpu, .index = 0, .threads = 1};
  j.pool_bytes = 3 << 20;
  j.slots = slots + 1;
  j.phases.resize(2);
  std::vector<workloads::Op> fill, more(20'000, {K::allocate, slots, 16});
  for (std::uint32_t s = 0; s < slots; ++s) fill.push_back({K::allocate, s, 16});
  j.phases[0].scripts.push_back(fill);
  j.phases[1].scripts.push_back(more);
  j.seconds = 20;
  const workloads::ExerciseResult result = test::exercise<TypeParam, simt::Cpu>(j);
  EXPECT_EQ(test::bytes_in(result.phases[0].regions, Region::State::free), 0u)
      << "the pool is too large for this test";
  EXPECT_EQ(result.phases[1].ops[0].back().offset, workloads::OpResult::failed);
}

// Every second block at the end of an exhausted pool is freed and requested again: the counts of
// full pieces hide none of them.
TYPED_TEST(CircularListPieces, TheLastFreeChunksAreFound) {
  constexpr std::uint32_t slots = 100'000, holes = 60;
  workloads::ExerciseJob j;
  j.device = {.kind = simt::DeviceKind::cpu, .index = 0, .threads = 1};
  j.pool_bytes = 3 << 19;
  j.slots = slots;
  j.phases.resize(1);
  j.phases[0].scripts.resize(1);
  for (std::uint32_t s = 0; s < slots; ++s) j.phases[0].scripts[0].push_back({K::allocate, s, 16});
  const workloads::ExerciseResult full = test::exercise<TypeParam, simt::Cpu>(j);
  ASSERT_EQ(test::bytes_in(full.phases[0].regions, Region::State::free), 0u)
      << "the pool is too large for this test";
  std::map<std::uint64_t, std::uint32_t> slot_at;
  for (std::uint32_t s = 0; s < slots; ++s) {
    const std::uint64_t offset = full.phases[0].ops[0][s].offset;
    if (offset != workloads::OpResult::failed) slot_at[offset] = s;
  }
  ASSERT_GT(slot_at.size(), 2 * holes);
  std::vector<workloads::Op> drain, again;
  for (auto block = slot_at.rbegin(); drain.size() < holes; ++block, ++block) {
    drain.push_back({K::free, block->second, 0});
    again.push_back({K::allocate, block->second, 16});
  }
  j.phases.push_back({{drain}});
  j.phases.push_back({{again}});
  const workloads::ExerciseResult result = test::exercise<TypeParam, simt::Cpu>(j);
  for (const workloads::OpResult& op : result.phases[2].ops[0])
    EXPECT_NE(op.offset, workloads::OpResult::failed);
}

TYPED_TEST(CircularListPieces, PresplitStaysUnderChurn) {
  constexpr std::uint32_t slots = 64, warps = 4;
  workloads::ExerciseJob j;
  j.device = {.kind = simt::DeviceKind::cpu, .index = 0, .threads = warps};
  j.pool_bytes = 512 << 10;
  j.warps = warps;
  j.slots = slots;
  j.phases.resize(2);
  for (std::uint32_t w = 0; w < warps; ++w) {
    test::Random random(w);
    std::vector<workloads::Op> mix, drain;
    for (int i = 0; i < 3000; ++i)
      mix.push_back({K::exchange, random(slots), random(i % 8 == 0 ? 6000 : 600)});
    for (std::uint32_t s = w; s < slots; s += warps) drain.push_back({K::free, s, 0});
    j.phases[0].scripts.push_back(mix);
    j.phases[1].scripts.push_back(drain);
  }
  const workloads::ExerciseResult result = test::exercise<TypeParam, simt::Cpu>(j);
  EXPECT_EQ(result.mismatches, 0u);
  const std::set<std::size_t> before = free_starts(result.initial),
                              after = free_starts(result.phases[1].regions);
  EXPECT_GT(before.size(), 100u);
  for (const std::size_t start : before) EXPECT_EQ(after.count(start), 1u) << start;
}

}  // namespace

TEST(Presplit, PiecesThatFit) {
  for (const std::uint32_t units : {1u, 100u, 1000u, 65536u, 5'000'000u, header::next}) {
    for (const std::uint32_t heaps : {1u, 4u, 132u}) {
      for (const std::uint32_t smallest : {0u, 1u, 4u, 1000u}) {
        const PresplitShape s = PresplitShape::choose(units, heaps, smallest);
        for (std::uint32_t wanted = 1; wanted <= s.root(); wanted += 1 + wanted / 3) {
          const std::uint32_t count = s.fits(wanted);
          ASSERT_GE(count, 1u);
          // The pieces are numbered level by level: every piece that is large enough, and no other.
          const unsigned last = simt::highest_bit(count);
          EXPECT_EQ(count, (2u << last) - 1);
          EXPECT_GE(s.root() >> last, wanted);
          EXPECT_TRUE(last + 1 == s.piece_levels || (s.root() >> (last + 1)) < wanted) << wanted;
          for (const std::uint32_t chunk : {1u, count / 2 + 1, count}) {
            const std::uint32_t at = s.position(s.heaps - 1, chunk);
            EXPECT_EQ(s.piece(at).begin, at);
            EXPECT_EQ(s.piece(at).end - at, s.root() >> simt::highest_bit(chunk));
          }
        }
        EXPECT_EQ(s.fits(s.root() + 1), 0u);
      }
    }
  }
}

TEST(Presplit, PiecesCoverThePool) {
  for (const std::uint32_t units : {1u, 17u, 1000u, 65536u, 5'000'000u, header::next}) {
    for (const std::uint32_t heaps : {1u, 4u, 132u}) {
      for (const std::uint32_t smallest : {0u, 1u, 1000u}) {
        const PresplitShape s = PresplitShape::choose(units, heaps, smallest);
        ASSERT_LE(s.rest(), units);
        std::uint32_t next_index = 0;
        std::uint32_t pieces = 0;
        for (std::uint32_t at = 0; at < units; ++pieces) {
          const Piece piece = s.piece(at);
          ASSERT_EQ(piece.begin, at);
          ASSERT_GT(piece.end, at);
          ASSERT_GE(s.index(at), next_index);  // each piece has its own entry
          next_index = s.index(at) + 1;
          ASSERT_EQ(s.begin_of(s.index(at)), at);
          const Piece last = s.piece(piece.end - 1);
          ASSERT_EQ(last.begin, at);
          ASSERT_EQ(last.end, piece.end);
          if (at < s.rest()) {
            const std::uint32_t after = s.past_smaller(at);
            ASSERT_TRUE(after == s.rest() || s.piece(after).end - after == s.root());
          }
          at = piece.end;
        }
        EXPECT_LT(next_index, s.table_size() + 1);
        EXPECT_LT(pieces, 70'000u);
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
