// SPDX-License-Identifier: MIT
// Barrier: no warp passes it early, every warp sees all writes, and no warp waits for a failed one.
#include <gtest/gtest.h>

#include <vector>

#include "simt/barrier.hpp"
#include "tests/simt/function_kernel.hpp"
#include "tests/simt/lockstep.hpp"

namespace heapwood::simt {
namespace {

// In each round every lane writes its own word and then checks the words of all lanes.
template <class Device>
void expect_rounds(const Device& device, unsigned warps) {
  const std::uint32_t lanes = warps * Device::Warp::width;
  std::uint32_t arrived = 0, wrong = 0;
  // [round % 2][worker * width + lane]: a warp that is a round ahead writes to the other half.
  std::vector<std::uint32_t> words(2 * std::size_t{lanes});
  device.launch(tests::FunctionKernel{[&](auto& warp) {
                  Barrier barrier(&arrived);
                  for (std::uint32_t round = 1; round <= 50; ++round) {
                    std::uint32_t* const half = words.data() + round % 2 * lanes;
                    half[warp.worker() * warp.width + warp.lane()] = round;
                    if (!barrier.arrive_and_wait(warp)) return;
                    for (std::uint32_t i = 0; i < lanes; ++i) {
                      if (half[i] != round) atomic_ref<std::uint32_t>(wrong).fetch_add(1, relaxed);
                    }
                  }
                }},
                warps);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(arrived, 50 * warps);
}

TEST(Barrier, NoWarpRunsAhead) {
  for (const unsigned warps : {1u, 2u, 7u}) expect_rounds(Cpu(), warps);
  expect_rounds(Lockstep<4>(), 1);
  expect_rounds(Lockstep<4>(), 3);
}

template <class Device>
void expect_failure(const Device& device, unsigned warps) {
  std::uint32_t arrived = 0, passed = 0;
  const tests::FunctionKernel one_fails{[&](auto& warp) {
    if (warp.worker() == 0) {
      if (warp.lane() == 0) warp.fail(9, 1, 2, 3);
      return;
    }
    Barrier barrier(&arrived);
    if (barrier.arrive_and_wait(warp)) atomic_ref<std::uint32_t>(passed).fetch_add(1, relaxed);
  }};
  try {
    device.launch(one_fails, warps);
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
