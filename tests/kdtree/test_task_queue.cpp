// SPDX-License-Identifier: MIT
// The rounds of trimming of the builder's work queue. tests/model/queue_model.cpp checks the whole
// protocol.
#include <gtest/gtest.h>

#include <vector>

#include "kdtree/build/task_queue.hpp"
#include "simt/cpu.hpp"
#include "tests/simt/function_kernel.hpp"

namespace heapwood::kdtree {
namespace {

constexpr std::uint32_t warps = 2;

class TaskQueueTrim : public ::testing::Test {
 protected:
  // The first warp starts a round of trimming.
  bool trim() {
    bool trims = false;
    const TaskQueue queue(&counters_, ring_.data(), static_cast<std::uint32_t>(ring_.size()), {});
    simt::Cpu().launch(tests::FunctionKernel{[&](auto& warp) {
                         if (warp.worker() == 0) trims = TaskQueue::trim(queue, warp);
                       }},
                       warps);
    return trims;
  }

  std::vector<TaskQueue::RingEntry> ring_{4 * warps};
  TaskQueue::Counters counters_ = TaskQueue::initial(ring_.size(), warps);
};

TEST_F(TaskQueueTrim, GivesEachWarpAUnitOncePerRound) {
  counters_.pending = std::uint64_t{1} << 32;  // one deferred node, no unit
  EXPECT_TRUE(trim());
  EXPECT_EQ(static_cast<std::uint32_t>(counters_.pending), warps);
  EXPECT_EQ(counters_.tickets >> 32, warps - 1);
  EXPECT_FALSE(trim());
  EXPECT_EQ(counters_.trimmed, 0u);
}

// Another warp may take the last deferred node and end the build after this one has seen that only
// deferred nodes remain. Items after the end would take the tickets of `exit`, and the launch would
// wait for ever.
TEST_F(TaskQueueTrim, DoesNothingAfterTheEndOfTheBuild) {
  counters_.pending = 0;
  EXPECT_FALSE(trim());
  EXPECT_EQ(counters_.pending, 0u);
  EXPECT_EQ(counters_.tickets, 0u);
}

// Without space in the ring the warp keeps one unit: the warps that hold the others may have
// finished them meanwhile, and then only this one can end the build.
TEST_F(TaskQueueTrim, KeepsItsOwnUnitIfTheRingIsFull) {
  counters_.pending = std::uint64_t{1} << 32;
  counters_.room = 0;
  EXPECT_TRUE(trim());
  EXPECT_EQ(static_cast<std::uint32_t>(counters_.pending), 1u);
  EXPECT_EQ(counters_.room, 0);
  EXPECT_EQ(counters_.tickets, 0u);
}

}  // namespace
}  // namespace heapwood::kdtree
