// SPDX-License-Identifier: MIT
// Lanes that request different sizes at once (alloc/heapwood/group_request.hpp), on simulated warps
// of eight lanes, whose groups form by chance.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "alloc/heapwood/group_request.hpp"
#include "tests/alloc/conformance.hpp"
#include "tests/alloc/exercise_erased.hpp"
#include "tests/alloc/launch.hpp"

namespace heapwood::alloc::test {
namespace {

using arena::GroupRequest;
using arena::PackedPlace;

constexpr unsigned lanes = 8, rounds = 300;
constexpr std::uint32_t capacity = 100;  // granules of an arena

struct Packed {
  std::uint32_t group, lane, n, min;
  GroupRequest request, rest;  // `rest`: of the lanes whose place is not in the first arena
  PackedPlace place;
};

std::uint32_t size_of(unsigned worker, unsigned lane, unsigned round) {
  Random random((worker * rounds + round) * lanes + lane);
  const std::uint32_t largest = round % 3 == 0 ? capacity : round % 3 == 1 ? capacity / 4 : 7;
  return round % 7 == 0 ? 1 + round % capacity : 1 + random(largest);
}

// Checks what the lanes of one group have got.
void check_group(const std::vector<Packed>& group) {
  std::uint32_t total = 0, min = capacity, served = 0;
  for (const Packed& p : group) {
    EXPECT_EQ(p.request.below, total);
    total += p.n;
    min = std::min(min, p.n);
    if (p.request.below + p.n <= capacity) served += p.n;
  }
  std::map<std::uint32_t, std::vector<Packed>> arenas;
  for (const Packed& p : group) {
    EXPECT_EQ(p.request.total, total);
    EXPECT_EQ(p.min, min);
    if (p.request.below + p.n > capacity) {
      EXPECT_EQ(p.rest.total, total - served);
      EXPECT_EQ(p.rest.below, p.request.below - served);
    }
    arenas[p.place.first_lane].push_back(p);
  }
  unsigned last = 0;
  for (auto& [first, inside] : arenas) {
    EXPECT_TRUE(std::any_of(inside.begin(), inside.end(), [first = first](const Packed& p) {
      return p.lane == first;
    })) << "the lane that claims the arena is not one of its own";
    last += inside.front().place.is_last ? 1 : 0;
    std::sort(inside.begin(), inside.end(),
              [](const Packed& a, const Packed& b) { return a.place.granule < b.place.granule; });
    std::uint32_t at = 0;
    for (const Packed& p : inside) {
      EXPECT_EQ(p.place.granule, at) << "overlap or hole";
      at += p.n;
      EXPECT_EQ(p.place.lanes, inside.size());
      EXPECT_EQ(p.place.arenas, arenas.size());
      EXPECT_EQ(p.place.is_last, inside.front().place.is_last);
    }
    EXPECT_LE(at, capacity);
    for (const Packed& p : inside) EXPECT_EQ(p.place.granules, at);
    // What is in the last arena fits no other.
    if (inside.front().place.is_last && arenas.size() > 1) {
      for (const auto& [other, theirs] : arenas) {
        if (other == first) continue;
        std::uint32_t used = 0;
        for (const Packed& p : theirs) used += p.n;
        for (const Packed& p : inside) EXPECT_GT(used + p.n, capacity);
      }
    }
  }
  EXPECT_EQ(last, 1u);
}

template <class Device>
void check_packing(const Device& device, unsigned workers) {
  constexpr unsigned width = Device::Warp::width;
  // At most one group per lane and round.
  std::vector<Packed> results(std::size_t{workers} * rounds * width * lanes);
  std::uint32_t groups = 0;
  launch(device, workers, [&](auto& warp) {
    for (unsigned round = 0; round < rounds; ++round) {
      if ((warp.lane() + round) % 5 == 0) continue;
      const LaneGroup group(warp, warp.together(results.data()));
      const std::uint32_t number = group.once(
          [&] { return simt::atomic_ref<std::uint32_t>(groups).fetch_add(1, simt::relaxed); });
      Packed& mine = results[number * lanes + warp.lane()];
      mine.group = group.lanes();
      mine.lane = warp.lane();
      mine.n = size_of(warp.worker(), warp.lane(), round);
      mine.min = arena::min_request(warp, group, mine.n);
      mine.request = GroupRequest::of(warp, group, mine.n);
      mine.place = PackedPlace::of(warp, group, mine.n, mine.request, capacity);
      // Splits the group as the end of an arena does.
      const bool fits = mine.request.below + mine.n <= capacity;
      const LaneGroup side = group.part(fits);
      mine.rest = fits ? mine.request : mine.request.remaining_for(warp, side);
    }
  });
  unsigned mixed = 0;
  for (unsigned g = 0; g < groups; ++g) {
    std::vector<Packed> group;
    for (unsigned lane = 0; lane < width; ++lane) {
      const Packed& p = results[std::size_t{g} * lanes + lane];
      if (p.group != 0) group.push_back(p);
    }
    check_group(group);
    if (testing::Test::HasFailure()) return;
    mixed += group.size() > 2 ? 1 : 0;
  }
  if (width > 1) {
    EXPECT_GT(mixed, 20u);  // otherwise nothing was tested
  }
}

TEST(MixedGroup, PacksItsRequestsIntoArenas) {
  check_packing(simt::Cpu({.threads = 2}), 2);
  check_packing(simt::Lockstep<lanes>(3), 3);
}

constexpr unsigned warps = 3, scripts = warps * lanes;

// Lanes request different sizes, small ones and up to an arena's, free them in another order and
// request again, until the pool is exhausted and beyond.
TEST(MixedGroup, GetsDisjointBlocksFromHeapwood) {
  for (const std::size_t pool : {std::size_t{128} << 10, std::size_t{8} << 20}) {
    for (const std::uint32_t largest : {64u, 500u, 2000u, 4096u}) {
      constexpr std::uint32_t slots = 32;
      ExerciseJob j;
      j.pool_bytes = pool;
      j.warps = warps;
      j.lanes = lanes;
      j.slots = slots * scripts;
      ExercisePhase mix, last;
      last.scripts.resize(scripts);
      for (unsigned s = 0; s < scripts; ++s) {
        Random random(s + largest);
        mix.scripts.emplace_back();
        for (std::uint32_t i = 0; i < 3 * slots; ++i) {
          const std::uint32_t slot = s * slots + i % slots;
          if (i >= slots && i % 3 == 0) mix.scripts[s].push_back({Kind::free, slot});
          mix.scripts[s].push_back({Kind::exchange, slot, 1 + random(largest)});
        }
        for (std::uint32_t i = 0; i < slots; ++i)
          last.scripts[s].push_back({Kind::free, s * slots + i});
      }
      j.phases = {mix, last};
      const auto result = test::exercise<Heapwood, simt::Lockstep<lanes>>(j);
      EXPECT_EQ(result.mismatches, 0u);
      EXPECT_EQ(bytes_in(result.phases[1].regions, Region::State::used), 0u);
    }
  }
}

}  // namespace
}  // namespace heapwood::alloc::test
