// SPDX-License-Identifier: MIT
// Checks the collectives of the CPU's Warp models against loops over the lanes. The GPU's are
// tested through the allocators and the builder, whose results must be the same on every device.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "simt/math.hpp"
#include "tests/simt/lockstep.hpp"

namespace heapwood::simt {
namespace {

std::uint32_t input(unsigned worker, unsigned lane, unsigned round) {
  std::uint32_t x = worker * 0x9e3779b9u + lane * 0x85ebca6bu + round * 0xc2b2ae35u;
  x = (x ^ (x >> 15)) * 0x2c1b3c6du;
  return x ^ (x >> 12);
}

struct Collectives {
  struct Scratch {
    std::uint32_t sum = 0;
  };
  std::uint32_t* wrong;   // counts wrong results
  std::uint32_t* visits;  // one per lane

  template <class Warp>
  void operator()(Warp& warp, Scratch& scratch) const {
    ++visits[warp.worker() * Warp::width + warp.lane()];
    for (unsigned round = 0; round < 20; ++round) {
      const unsigned source = round % Warp::width;
      const auto value = [&](unsigned lane) { return input(warp.worker(), lane, round); };
      const std::uint32_t x = value(warp.lane()), y = value(source);
      std::uint32_t sum = 0, prefix = 0, min = ~0u, max = 0, ballot = 0;
      bool any = false;
      for (unsigned lane = 0; lane < Warp::width; ++lane) {
        sum += value(lane);
        if (lane == warp.lane()) prefix = sum;
        min = std::min(min, value(lane));
        max = std::max(max, value(lane));
        ballot |= (value(lane) % 3 == 0 ? 1u : 0u) << lane;
        any |= value(lane) % 97 == 0;
      }
      bool right = warp.ballot(x % 3 == 0) == ballot;
      right &= warp.any(x % 97 == 0) == any;
      right &= warp.shfl(x, source) == y;
      right &= warp.shfl(static_cast<double>(x) * 0.1, source) == static_cast<double>(y) * 0.1;
      right &= warp.shfl(visits + x % 100, source) == visits + y % 100;
      right &= warp.reduce_add(x) == sum;
      right &= warp.reduce_min(x) == min;
      right &= warp.inclusive_add(x) == prefix;
      right &= warp.reduce_max(x) == max;
      if (warp.lane() == 0) scratch.sum = round;
      warp.sync();
      warp.scratch_add(scratch.sum, x);
      warp.sync();
      right &= scratch.sum == round + sum;
      warp.sync();
      if (!right) atomic_ref<std::uint32_t>(*wrong).fetch_add(1, relaxed);
    }
  }
};

template <class Device>
void check(const Device& device, unsigned workers) {
  std::uint32_t wrong = 0;
  std::vector<std::uint32_t> visits(workers * Device::Warp::width);
  EXPECT_GE(device.launch(Collectives{&wrong, visits.data()}, workers), 0.0);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(visits, std::vector<std::uint32_t>(visits.size(), 1));
}

// Lanes that reach a call at different times, or not at all.
struct Diverged {
  struct Scratch {};
  std::uint32_t* wrong;   // counts wrong results
  std::uint32_t* shared;  // counts sets of more than one lane
  std::uint32_t* words;   // one per lane: sync(lanes) must order plain accesses to them

  static std::uint64_t spread(std::uint32_t lanes) {
    std::uint64_t bits = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
      bits |= std::uint64_t{lanes >> lane & 1} << (2 * lane);
    return bits;
  }

  template <class Warp>
  void operator()(Warp& warp, Scratch&) const {
    std::uint32_t* mine = words + warp.worker() * Warp::width;
    for (unsigned round = 0; round < 50; ++round) {
      const std::uint32_t x = input(warp.worker(), warp.lane(), round);
      if (x % 4 == 0) continue;
      if (x % 4 == 1) warp.pause(64);
      const std::uint32_t lanes = warp.together();
      const unsigned lowest = lowest_bit(lanes);
      bool right = (lanes >> warp.lane() & 1) != 0 && warp.shfl(lanes, lanes, lowest) == lanes;
      right &= warp.ballot(lanes, true) == lanes && (warp.ballot(lanes, x % 2 == 0) & ~lanes) == 0;
      const LaneSum sum = sum_over<10>(warp, lanes, x % 1000);
      std::uint32_t before = 0, total = 0;
      for (unsigned lane = 0; lane < Warp::width; ++lane) {
        if ((lanes >> lane & 1) == 0) continue;
        const std::uint64_t other = warp.shfl(lanes, std::uint64_t{x % 1000} << 40, lane) >> 40;
        before += lane < warp.lane() ? static_cast<std::uint32_t>(other) : 0;
        total += static_cast<std::uint32_t>(other);
      }
      right &= sum.before == before && sum.total == total;
      mine[warp.lane()] = x;
      warp.sync(lanes);
      std::uint32_t seen = 0, expected = 0;
      for (unsigned lane = 0; lane < Warp::width; ++lane)
        seen += (lanes >> lane & 1) != 0 ? mine[lane] : 0;
      for (unsigned lane = 0; lane < Warp::width; ++lane) {
        if ((lanes >> lane & 1) != 0) expected += warp.shfl(lanes, x, lane);
      }
      right &= seen == expected;
      right &= warp.reduce_or(lanes, std::uint64_t{1} << (2 * warp.lane())) == spread(lanes);
      const std::uint32_t same = warp.together(words + x % 3);
      right &= (same >> warp.lane() & 1) != 0 && warp.shfl(same, x % 3, lowest_bit(same)) == x % 3;
      if (!right) atomic_ref<std::uint32_t>(*wrong).fetch_add(1, relaxed);
      if (lanes != 1u << warp.lane()) atomic_ref<std::uint32_t>(*shared).fetch_add(1, relaxed);
    }
  }
};

template <class Device>
void check_diverged(const Device& device, unsigned workers) {
  constexpr unsigned width = Device::Warp::width;
  std::uint32_t wrong = 0, shared = 0;
  std::vector<std::uint32_t> words(workers * width);
  device.launch(Diverged{&wrong, &shared, words.data()}, workers);
  EXPECT_EQ(wrong, 0u);
  if (width > 1) {
    EXPECT_GT(shared, 0u);  // otherwise no set was tested
  }
}

TEST(Warp, LanesThatCallTogetherShareCollectives) {
  check_diverged(Cpu(), 3);
  check_diverged(Lockstep<2>(), 2);
  check_diverged(Lockstep<4>(), 3);
  check_diverged(Lockstep<8>(), 1);
}

TEST(Warp, SerialCollectivesAgreeWithLoopsOverTheLanes) {
  check(Cpu(), 1);
  check(Cpu(), 5);
}
TEST(Warp, LockstepCollectivesAgreeWithLoopsOverTheLanes) {
  check(Lockstep<1>(), 2);
  check(Lockstep<2>(), 3);
  check(Lockstep<4>(), 3);
  check(Lockstep<8>(), 2);
  check(Lockstep<32>(), 1);
}

TEST(Math, OrderedKeysOrderLikeFloats) {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> ascending = {-inf, -3.4e38f, -1e20f, -1.5f, -1.0f, -1e-38f, -1e-44f};
  for (const float x : {0.0f, 1e-44f, 1e-38f, 0x1p-126f, 1.0f, 1.5f, 1e20f, 3.4e38f, inf})
    ascending.push_back(x);
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    EXPECT_EQ(from_ordered_key(ordered_key(ascending[i])), ascending[i]);
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      EXPECT_EQ(ordered_key(ascending[i]) < ordered_key(ascending[j]), i < j);
      EXPECT_EQ(min(ascending[i], ascending[j]), ascending[std::min(i, j)]);
      EXPECT_EQ(max(ascending[i], ascending[j]), ascending[std::max(i, j)]);
    }
  }
  for (unsigned i = 0; i < 100000; ++i) {
    const float a = from_bits(input(0, i, 1)), b = from_bits(input(0, i, 2));
    if (a != a || b != b) continue;
    ASSERT_EQ(bits(from_ordered_key(ordered_key(a))), bits(a));
    ASSERT_EQ(a < b && ordered_key(a) >= ordered_key(b), false);
  }
}

TEST(Math, CountsBits) {
  for (unsigned i = 0; i < 32; ++i) {
    EXPECT_EQ(lowest_bit(1u << i), i);
    EXPECT_EQ(lowest_bit(~0u << i), i);
    EXPECT_EQ(popcount((1u << i) - 1), i);
  }
  EXPECT_EQ(popcount(~0u), 32u);
}

// In a block of any shape, a warp's lanes are 32 threads with different lane numbers. (16 x 16
// threads have the same threadIdx.x & 31 in pairs.) The GPU suite checks it for blocks.
TEST(LinearIndex, ThreadsOfABlockHaveDifferentWarpsOrLanes) {
  for (const Index3 block : {Index3{256, 1, 1}, {16, 16, 1}, {5, 7, 3}, {1, 1, 64}, {33, 2, 2}}) {
    std::set<std::pair<unsigned, unsigned>> seen;
    for (unsigned z = 0; z < block.z; ++z) {
      for (unsigned y = 0; y < block.y; ++y) {
        for (unsigned x = 0; x < block.x; ++x) {
          const unsigned index = linear_index({x, y, z}, block);
          EXPECT_LT(index, block.x * block.y * block.z);
          EXPECT_TRUE(seen.emplace(index / 32, index % 32).second) << x << ' ' << y << ' ' << z;
        }
      }
    }
  }
}

TEST(LinearIndex, XVariesFastest) {
  EXPECT_EQ(linear_index({1, 0, 0}, {16, 16, 2}), 1u);
  EXPECT_EQ(linear_index({0, 1, 0}, {16, 16, 2}), 16u);
  EXPECT_EQ(linear_index({0, 0, 1}, {16, 16, 2}), 256u);
}

}  // namespace
}  // namespace heapwood::simt
