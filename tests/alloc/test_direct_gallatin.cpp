// SPDX-License-Identifier: MIT
// Properties of Gallatin that the conformance suite cannot require of every allocator: no block is
// refused while a segment is free, contiguous segments come from the end of the pool, slices of a
// block are handed out in order, and blocks and segments are returned.
#include <gtest/gtest.h>

#include "alloc/allocators/gallatin.hpp"
#include "tests/alloc/conformance.hpp"
#include "tests/alloc/exercise_erased.hpp"

namespace heapwood::alloc {
namespace {

using namespace test;

constexpr std::size_t pool = 64 << 10, segment = 512, block = 128;  // bytes
constexpr std::uint32_t slices = 8;                                 // slices per block

template <class Device>
struct Gallatins : testing::Test {
  static constexpr unsigned lanes = std::is_same_v<Device, simt::Cpu> ? 1 : 4;
  static constexpr unsigned scripts = 4 * lanes;
  static ExerciseJob job(std::uint32_t slots, std::vector<ExercisePhase> phases = {},
                         std::size_t bytes = pool) {
    ExerciseJob j = job_of(bytes, 4, slots, std::move(phases));
    j.lanes = lanes;
    return j;
  }
  static ExerciseResult run(const ExerciseJob& j) { return test::exercise<Gallatin, Device>(j); }
  static std::size_t all_segments() { return largest_free(run(job(1)).initial); }
};
using Devices = testing::Types<simt::Cpu, simt::Lockstep<4>>;
TYPED_TEST_SUITE(Gallatins, Devices);

// Each thread has at most one block, and there are as many segments as threads. Segments change
// their size of blocks all the time.
TYPED_TEST(Gallatins, RefusesNoBlockWhileASegmentIsFree) {
  constexpr std::uint32_t scripts = TestFixture::scripts;
  const std::size_t filled = TestFixture::all_segments() - scripts * segment;
  for (const std::uint32_t sizes : {1u, 3u}) {
    ExerciseJob j = TestFixture::job(scripts + 1);
    j.phases.resize(2);
    j.phases[0].scripts = {{{Kind::allocate, scripts, filled}}};
    for (std::uint32_t s = 0; s < scripts; ++s) {
      Random random(s);
      Script& script = j.phases[1].scripts.emplace_back();
      for (unsigned i = 0; i < 300; ++i) {
        script.push_back({Kind::allocate, s, segment >> random(sizes)});
        script.push_back({Kind::free, s});
      }
    }
    EXPECT_EQ(TestFixture::run(j).failures, 0u) << sizes << " sizes";
  }
}

// Of four segments, most threads request three at a time and often fail after reserving some of
// them. The thread that requests a single segment is never refused.
TYPED_TEST(Gallatins, RefusesNoSegmentThatAFailingRequestHolds) {
  constexpr std::uint32_t scripts = TestFixture::scripts;
  ExerciseJob j = TestFixture::job(scripts + 1);
  j.phases.resize(2);
  j.phases[0].scripts = {{{Kind::allocate, scripts, TestFixture::all_segments() - 4 * segment}}};
  for (std::uint32_t s = 0; s < scripts; ++s) {
    Script& script = j.phases[1].scripts.emplace_back();
    for (unsigned i = 0; i < 400; ++i) {
      script.push_back({Kind::allocate, s, s == 0 ? segment : 3 * segment});
      script.push_back({Kind::free, s});
    }
  }
  const ExerciseResult result = TestFixture::run(j);
  for (const OpResult& r : result.phases[1].ops[0]) EXPECT_NE(r.offset, OpResult::failed);
}

TYPED_TEST(Gallatins, ServesSeveralSegmentsFromTheEnd) {
  const std::size_t all = TestFixture::all_segments();
  ExerciseJob j = TestFixture::job(3);
  j.phases = {{{{{Kind::allocate, 0, 16}, {Kind::allocate, 1, 3 * segment + 1}}}},
              {{{{Kind::allocate, 2, 2 * segment}}}},
              {{{{Kind::free, 0}, {Kind::free, 1}, {Kind::free, 2}}}},
              {{{{Kind::allocate, 0, all}}}},
              {{{{Kind::free, 0}}}}};
  const ExerciseResult result = TestFixture::run(j);
  EXPECT_EQ(result.failures, 0u);
  const std::size_t begin = result.initial.at(0).bytes + result.initial.at(1).bytes;
  EXPECT_EQ(result.phases[0].ops[0][0].offset, begin);
  EXPECT_EQ(result.phases[0].ops[0][1].offset, begin + all - 4 * segment);
  EXPECT_EQ(result.phases[1].ops[0][0].offset, begin + all - 6 * segment);
  EXPECT_EQ(used_bytes(result.phases[1]), slices * 2 + 6 * segment);
  EXPECT_EQ(largest_free(result.phases[4].regions), all);
}

// Requests for one to three segments, which may meet and fail, lose no segment.
TYPED_TEST(Gallatins, LosesNoSegmentOfLargeRequests) {
  constexpr std::uint32_t slots = 40;
  const std::size_t all = TestFixture::all_segments();
  ExerciseJob j = TestFixture::job(slots);
  j.phases = {exchange_at_random(TestFixture::scripts, slots, 200, 7,
                                 [](Random& random) { return 1 + random(3 * segment); }),
              free_all(TestFixture::scripts, slots),
              {{{{Kind::allocate, 0, all}, {Kind::free, 0}}}}};
  const ExerciseResult result = TestFixture::run(j);
  EXPECT_NE(result.phases[2].ops[0][0].offset, OpResult::failed);
  expect_all_freed(result.phases[1].regions);
}

// The lanes of a warp get slices in order, and the first request that exceeds a block brings
// another.
TYPED_TEST(Gallatins, HandsOutSlicesInARow) {
  constexpr std::uint32_t lanes = TestFixture::lanes, each = 3 * slices / lanes;
  ExerciseJob j = TestFixture::job(3 * slices, {of_shares(lanes, each, Kind::allocate, 16)});
  j.warps = 1;
  const ExerciseResult result = TestFixture::run(j);
  std::vector<std::uint64_t> offsets;
  for (const auto& ops : result.phases[0].ops) {
    for (const OpResult& r : ops) offsets.push_back(r.offset);
  }
  std::sort(offsets.begin(), offsets.end());
  for (std::size_t i = 1; i < offsets.size(); ++i) EXPECT_EQ(offsets[i], offsets[0] + i * 16);
}

TYPED_TEST(Gallatins, ABlockReturnsWithItsLastSlice) {
  ExerciseJob j = TestFixture::job(slices + 1);
  j.phases = {{{of_slots(Kind::allocate, 0, slices, 16)}},
              {{of_slots(Kind::free, 1, slices)}},
              {{{{Kind::free, 0}}}}};
  const ExerciseResult result = TestFixture::run(j);
  EXPECT_EQ(used_bytes(result.phases[0]), block);
  EXPECT_EQ(used_bytes(result.phases[1]), block);
  EXPECT_EQ(largest_free(result.phases[2].regions), largest_free(result.initial));
}

// Buffers keep an unused block of each size; a request that needs their segments gets them.
TYPED_TEST(Gallatins, BuffersGiveUpUnusedBlocks) {
  const std::size_t all = TestFixture::all_segments();
  ExerciseJob j = TestFixture::job(TestFixture::scripts * 3);
  j.phases = {allocate_shares(TestFixture::scripts, 3,
                              [](std::uint32_t slot) { return 16u << (slot % 3); }),
              free_all(TestFixture::scripts, j.slots),
              {{{{Kind::allocate, 0, all}, {Kind::free, 0}}}}};
  const ExerciseResult result = TestFixture::run(j);
  EXPECT_EQ(result.failures, 0u);
  EXPECT_GT(bytes_in(result.phases[1].regions, Region::State::held), 0u);
}

// The pool's last free slices, fifteen of one block, are in the buffer of one multiprocessor.
TYPED_TEST(Gallatins, TakesSlicesOfOtherBuffersIfTheRestIsFull) {
  constexpr std::size_t bytes = 512 << 10, its_segment = 4096;
  constexpr std::uint32_t lanes = TestFixture::lanes, small = its_segment / 16 - 15,
                          large = bytes / its_segment;
  ExerciseJob j = TestFixture::job(small + large + 2, {}, bytes);
  ExercisePhase other;
  other.scripts.resize(lanes + 1);
  other.scripts[lanes] = {{Kind::allocate, small + large, 16},
                          {Kind::allocate, small + large + 1, 32}};
  j.phases = {{{of_slots(Kind::allocate, 0, small, 16)}},
              {{of_slots(Kind::allocate, small, small + large, its_segment)}},
              other};
  const ExerciseResult result = TestFixture::run(j);
  EXPECT_EQ(result.phases[1].ops[0].back().offset, OpResult::failed) << "the pool is not full";
  EXPECT_EQ(result.phases[2].ops[lanes][0].offset, result.phases[0].ops[0].back().offset + 16);
  EXPECT_EQ(result.phases[2].ops[lanes][1].offset, OpResult::failed);
}

}  // namespace
}  // namespace heapwood::alloc
