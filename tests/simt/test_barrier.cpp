// SPDX-License-Identifier: MIT
// Barrier: no warp passes it early, every warp sees all writes, and no warp waits for a failed one.
#include <gtest/gtest.h>

#include <vector>

#include "simt/barrier.hpp"
#include "simt/lockstep.hpp"

namespace heapwood::simt {
namespace {

// In each round every lane writes its own word and then checks the words of all lanes.
struct Rounds {
  struct Scratch {};
  std::uint32_t* arrived;
  // [round % 2][worker * width + lane]: a warp that is a round ahead writes to the other half.
  std::uint32_t* words;
  std::uint32_t* wrong;
  std::uint32_t rounds;

  template <class Warp>
  void operator()(Warp& warp, Scratch&) const {
    const std::uint32_t lanes = warp.workers() * Warp::width;
    Barrier barrier(arrived);
    for (std::uint32_t round = 1; round <= rounds; ++round) {
      std::uint32_t* const half = words + round % 2 * lanes;
      half[warp.worker() * Warp::width + warp.lane()] = round;
      if (!barrier.arrive_and_wait(warp)) return;
      for (std::uint32_t i = 0; i < lanes; ++i) {
        if (half[i] != round) atomic_ref<std::uint32_t>(*wrong).fetch_add(1, relaxed);
      }
    }
  }
};

template <class Device>
void expect_rounds(const Device& device, unsigned warps) {
  std::uint32_t arrived = 0, wrong = 0;
  std::vector<std::uint32_t> words(2 * std::size_t{warps} * Device::Warp::width);
  device.launch(Rounds{&arrived, words.data(), &wrong, 50}, warps);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(arrived, 50 * warps);
}

TEST(Barrier, NoWarpRunsAhead) {
  for (const unsigned warps : {1u, 2u, 7u}) expect_rounds(Cpu(), warps);
  expect_rounds(Lockstep<4>(), 1);
  expect_rounds(Lockstep<4>(), 3);
}

struct OneFails {
  struct Scratch {};
  std::uint32_t* arrived;
  std::uint32_t* passed;
  template <class Warp>
  void operator()(Warp& warp, Scratch&) const {
    if (warp.worker() == 0) {
      if (warp.lane() == 0) warp.fail(9, 1, 2, 3);
      return;
    }
    Barrier barrier(arrived);
    if (barrier.arrive_and_wait(warp)) atomic_ref<std::uint32_t>(*passed).fetch_add(1, relaxed);
  }
};

template <class Device>
void expect_failure(const Device& device, unsigned warps) {
  std::uint32_t arrived = 0, passed = 0;
  try {
    device.launch(OneFails{&arrived, &passed}, warps);
    ADD_FAILURE() << "no failure";
  } catch (const KernelFailure& failure) {
    EXPECT_EQ(failure.code, 9u);
  }
  EXPECT_EQ(passed, 0u);
}

TEST(Barrier, NoWarpWaitsForAFailedWarp) {
  expect_failure(Cpu(), 4);
  expect_failure(Lockstep<4>(), 3);
}

}  // namespace
}  // namespace heapwood::simt
