// SPDX-License-Identifier: MIT
// Parts of a build: the number of warps, the message of a build with a bug, the allowance of refs,
// the rounds of trimming of the work queue (tests/model/queue_model.cpp checks its whole protocol),
// and the arrays of a workspace.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <vector>

#include "alloc/allocators/atomic.hpp"
#include "kdtree/build/driver.hpp"
#include "kdtree/build/task_queue.hpp"
#include "kdtree/build/workspace.hpp"
#include "kdtree/split/choose.hpp"
#include "simt/cpu.hpp"
#include "tests/errors.hpp"
#include "tests/kdtree/build_support.hpp"
#include "tests/kdtree/soup.hpp"
#include "tests/simt/function_kernel.hpp"

namespace heapwood::kdtree {
namespace {

struct Prefers {
  unsigned warps;
  unsigned preferred_warps(unsigned max) const { return std::min(max, warps); }
};

constexpr unsigned resident = 2000;
constexpr std::size_t small = 100'000, large = 1'000'000;  // triangles

// In a large scene each warp has work most of the time.
TEST(WarpsFor, IsWhatTheAllocatorPrefersInASmallSceneAndAtLeastTwoFifths) {
  EXPECT_EQ(warps_for(alloc::Atomic{}, small, resident), resident);
  EXPECT_EQ(warps_for(Prefers{1500}, small, resident), 1500u);
  EXPECT_EQ(warps_for(Prefers{1500}, large, resident), resident);
  EXPECT_EQ(warps_for(Prefers{5000}, small, resident), resident);
  EXPECT_EQ(warps_for(Prefers{0}, small, resident), 800u);
  EXPECT_EQ(warps_for(Prefers{0}, 1, 1), 1u);
  EXPECT_EQ(warps_for(Prefers{0}, 1, 2), 1u);
}

TEST(Driver, NamesTheCountsOfBothSides) {
  const SidePair chosen{5, 7}, moved{6, 1};
  EXPECT_EQ(count_mismatch_message({10, chosen.word(), moved.word()}),
            "internal error: partitioning 10 refs moved 6 and 1 to the children, but the split was "
            "chosen for 5 and 7; please report the scene");
}

// What a node inherits from the path from the root: the path's word and the allowance of refs.

// The refs allowed to the two children together never exceed those of their parent, and are hardly
// fewer.
TEST(NodeTaskAllowance, IsDividedAmongTheChildren) {
  Random random(7);
  for (int i = 0; i < 100000; ++i) {
    const std::uint32_t n = 1 + random.below(1u << random.below(28)), added = random.below(n + 1);
    const float allowance = random.uniform(1, 16);
    const double limit = static_cast<double>(allowance) * n,
                 children = static_cast<double>(allowance_below(allowance, n, added)) *
                            (double(n) + added);
    ASSERT_LE(children, limit * (1 + 1e-6));  // sums of floats are rounded
    ASSERT_GE(children, limit * (1 - 3e-4));
  }
  EXPECT_EQ(allowance_below(7, 100, 0), 7.0f);
}

// The rounds of trimming of the builder's work queue. tests/model/queue_model.cpp checks the whole
// protocol.

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

// If the ring has no space, the warp keeps one unit: the warps that hold the others may have
// finished them meanwhile, and then only this warp can end the build.
TEST_F(TaskQueueTrim, KeepsItsOwnUnitIfTheRingIsFull) {
  counters_.pending = std::uint64_t{1} << 32;
  counters_.room = 0;
  EXPECT_TRUE(trim());
  EXPECT_EQ(static_cast<std::uint32_t>(counters_.pending), 1u);
  EXPECT_EQ(counters_.room, 0);
  EXPECT_EQ(counters_.tickets, 0u);
}

// The arrays of a workspace: limits, and an array that cannot grow.

using namespace test;

// Limits the address space of the process to `more` bytes more than it has.
class AddressSpaceLimit {
 public:
  explicit AddressSpaceLimit(rlim_t more) {
    getrlimit(RLIMIT_AS, &before_);
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit = before_;
    limit.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + more;
    setrlimit(RLIMIT_AS, &limit);
  }
  ~AddressSpaceLimit() { setrlimit(RLIMIT_AS, &before_); }
  AddressSpaceLimit(const AddressSpaceLimit&) = delete;
  AddressSpaceLimit& operator=(const AddressSpaceLimit&) = delete;

 private:
  rlimit before_{};
};

TEST(Workspace, KeepsAnArrayThatCannotGrow) {
  if (sanitized) GTEST_SKIP() << "sanitizers need more address space than they use";
  const Soup soup = random_soup(100, 1, 0.1f);
  const DeviceMesh mesh(simt::DeviceId{.kind = simt::DeviceKind::cpu, .index = 0, .threads = 1},
                        soup.view());
  constexpr std::size_t nodes = (std::size_t{64} << 20) / sizeof(Node);
  Workspace workspace(mesh, RefKind::clipped, std::size_t{1} << 20, {.nodes = nodes});
  {
    const AddressSpaceLimit limit(rlim_t{16} << 20);
    EXPECT_THROW(workspace.parts().grow(nodes_overflow), Error);
  }
  EXPECT_EQ(workspace.parts().nodes.size(), nodes);
  workspace.parts().grow(nodes_overflow);
  EXPECT_EQ(workspace.parts().nodes.size(), 2 * nodes);
  workspace.parts().nodes = {};
  workspace.parts().grow(nodes_overflow);
  EXPECT_GT(workspace.parts().nodes.size(), 0u);
}

TEST(Workspace, RefusesScenesBeyondItsRange) {
  EXPECT_NO_THROW(require_buildable(max_triangles));
  tests::expect_error(Exit::failed,
                      {"the scene has 268435456 triangles, but a builder takes at most 268435455; "
                       "use a smaller scene"},
                      [] { require_buildable(max_triangles + 1); });
}

}  // namespace
}  // namespace heapwood::kdtree
