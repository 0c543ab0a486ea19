// SPDX-License-Identifier: MIT
// Lanes of a warp that act as a group, and the allocators that serve a group with one operation on
// a page's words or one walk, on simulated warps of eight lanes, whose groups form by chance.
#include <gtest/gtest.h>

#include "alloc/adaptors/coalesced.hpp"
#include "alloc/allocators/circular_lists.hpp"
#include "alloc/allocators/flatter_scatter.hpp"
#include "alloc/allocators/gallatin.hpp"
#include "alloc/allocators/halloc.hpp"
#include "alloc/allocators/scatter.hpp"
#include "tests/alloc/conformance.hpp"
#include "tests/alloc/exercise_erased.hpp"
#include "tests/alloc/launch.hpp"

namespace heapwood::alloc::test {

namespace {

constexpr unsigned warps = 3, lanes = 8, scripts = warps * lanes;

ExerciseJob job_of(std::size_t pool, std::uint32_t slots) {
  ExerciseJob j = test::job_of(pool, warps, slots);
  j.lanes = lanes;
  return j;
}

// Combines values of a group's lanes in several ways.
template <class Device>
void check_sums(const Device& device, unsigned workers) {
  std::uint32_t wrong = 0, joined = 0, total = 0;
  const auto ones = [](unsigned n) {
    std::uint64_t bits = 0;
    for (unsigned i = 0; i < n; ++i) bits |= std::uint64_t{1} << (i * 9);
    return bits;
  };
  launch(device, workers, [&](auto& warp) {
    for (unsigned round = 0; round < 100; ++round) {
      if ((warp.lane() + round) % 5 == 0) continue;
      LaneGroup group(warp, warp.together(&total + warp.lane() % 2));
      const std::uint32_t before = group.once([&] {
        return simt::atomic_ref<std::uint32_t>(total).fetch_add(group.size(), simt::relaxed);
      });
      bool right = group.reduce_or(std::uint64_t{1} << (group.rank() * 9)) == ones(group.size());
      right &= before == group.once([&] { return before; }) && group.rank() < group.size();
      const bool side = group.rank() < 2;
      const LaneGroup part = group.part(side);
      right &= part.size() == (side ? std::min(group.size(), 2u) : group.size() - 2);
      if (!right) count(wrong);
      if (!group.has_one_lane()) count(joined);
    }
  });
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(total, Device::Warp::width * 80 * workers);
  if (Device::Warp::width > 1) {
    EXPECT_GT(joined, 0u);  // otherwise nothing was tested
  }
}

}  // namespace

TEST(LaneGroup, ActsOnceForAllItsLanes) {
  check_sums(simt::Cpu(), 2);
  check_sums(simt::Lockstep<4>(), 2);
  check_sums(simt::Lockstep<8>(), 1);
}

TEST(LaneGroup, FindsTheNthBit) {
  Random random(5);
  for (int i = 0; i < 2000; ++i) {
    std::uint64_t bits = std::uint64_t{random(~0u)} << 32 | random(~0u);
    if (i % 2 == 0) bits &= std::uint64_t{random(~0u)} << 32 | random(~0u);
    unsigned n = 0;
    for (unsigned bit = 0; bit < 64; ++bit) {
      if ((bits >> bit & 1) != 0) {
        ASSERT_EQ(nth_bit(bits, n++), bit);
      }
    }
  }
  for (unsigned n = 0; n < 64; ++n) EXPECT_EQ(nth_bit(~std::uint64_t{0}, n), n);
}

template <class A>
class GroupedLanes : public testing::Test {};
using Grouped = testing::Types<Scatter, Halloc, CfMalloc, CmMalloc, Gallatin, FlatterScatter>;
TYPED_TEST_SUITE(GroupedLanes, Grouped);

// All lanes request one size until the pool is exhausted. Groups that find memory for some of their
// lanes only, or find it block by block in several words, miss no block and get none twice. (A
// request may be refused while other threads are in the allocator, so one lane continues alone.)
TYPED_TEST(GroupedLanes, TakeEveryBlockOnce) {
  constexpr std::size_t pool = 32 << 10;
  constexpr std::uint32_t more = 100;
  for (const std::uint64_t bytes : {16u, 48u, 200u}) {
    const auto each = static_cast<std::uint32_t>(pool / bytes / scripts);
    ExerciseJob j = job_of(pool, scripts * each + 2 * more);
    ExercisePhase holes, again;
    for (std::uint32_t s = 0; s < scripts; ++s) {
      const std::uint32_t first = s * each + s % 2, end = (s + 1) * each;
      holes.scripts.push_back(of_slots(Kind::free, first, end, 0, 2));
      again.scripts.push_back(of_slots(Kind::exchange, first, end, bytes, 2));
    }
    const auto rest = [&](std::uint32_t i) {
      const std::uint32_t first = scripts * each + i * more;
      return ExercisePhase{{of_slots(Kind::exchange, first, first + more, bytes)}};
    };
    j.phases = {of_shares(scripts, each, Kind::exchange, bytes),
                rest(0),
                holes,
                again,
                rest(1),
                free_all(scripts, j.slots)};
    const auto result = test::exercise<TypeParam, simt::Lockstep<lanes>>(j);
    for (const unsigned phase : {1u, 4u}) {
      std::size_t left = 0;
      for (const Region& r : result.phases[phase].regions) {
        left += r.state == Region::State::free && r.offset < pool / 2 && r.bytes >= bytes;
      }
      EXPECT_EQ(left, 0u) << bytes;
      EXPECT_EQ(result.phases[phase].ops[0].back().offset, OpResult::failed)
          << "the pool is too large for this test";
    }
    EXPECT_EQ(bytes_in(result.phases[5].regions, Region::State::used), 0u);
  }
}

// Lanes of two heaps request small blocks, for which each heap's lanes share one.
TEST(CoalescedLanes, ShareABlockOnlyWithLanesOfTheirHeap) {
  ExerciseJob j = job_of(1 << 20, scripts);
  j.two_heaps = true;
  for (unsigned round = 0; round < 20; ++round) {
    j.phases.push_back(of_shares(scripts, 1, Kind::allocate, 16 + round * 20));
    j.phases.push_back(free_all(scripts, scripts));
  }
  const auto result = test::exercise<Coalesced<Heapwood>, simt::Lockstep<lanes>>(j);
  EXPECT_EQ(result.failures, 0u) << "a block is not in its heap";
  for (std::size_t p = 0; p < j.phases.size(); p += 2)
    expect_disjoint(j.phases[p], result.phases[p]);
  EXPECT_EQ(bytes_in(result.phases.back().regions, Region::State::used), 0u);
}

}  // namespace heapwood::alloc::test
