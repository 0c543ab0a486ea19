// SPDX-License-Identifier: MIT
// A time limit applies to the whole build, including restarts with larger output arrays.
#include <gtest/gtest.h>

#include "alloc/allocators/atomic.hpp"
#include "kdtree/build/driver.hpp"
#include "simt/cpu.hpp"
#include "tests/kdtree/soup.hpp"
#include "tests/simt/turned_clock.hpp"

namespace heapwood::kdtree {
namespace {

struct BuildDeadlineRestarts : ::testing::Test {
  BuildDeadlineRestarts() : soup(random_soup(900, 5, 0.01f)), mesh({}, soup.view()) {
    // Each restart doubles an array: about ten restarts for each of the two.
    limits.nodes = 2;
    limits.output = 1;
    workspace.emplace(mesh, RefKind::clipped, std::size_t{16} << 20, limits);
  }
  ~BuildDeadlineRestarts() override { simt::clear_interrupt(); }

  // Builds with an allocator whose creation takes 20 ms; `made` counts creations.
  BuildRun build(const BuildOptions& options) {
    const simt::Cpu device({.kind = simt::DeviceKind::cpu, .index = 0, .threads = 2});
    return build_with<alloc::Atomic, RefKind::clipped>(device, *workspace, options, [&] {
      ++made;
      clock.turn(0.02);
      if (made == interrupt_at) simt::interrupt();
      return alloc::Atomic::create(workspace->pool(), workspace->allocator_options(), device);
    });
  }
  // The message of the exception that stops the build.
  std::string stopped(const BuildOptions& options, simt::Stopped::Reason reason) {
    try {
      build(options);
    } catch (const simt::Stopped& stop) {
      EXPECT_EQ(stop.reason(), reason);
      return stop.what();
    }
    ADD_FAILURE() << "not stopped after " << made << " starts";
    return "";
  }

  const tests::TurnedClock clock;
  Soup soup;
  DeviceMesh mesh;
  WorkspaceLimits limits;
  std::optional<Workspace> workspace;
  int made = 0, interrupt_at = 0;
};

TEST_F(BuildDeadlineRestarts, AreMany) {
  EXPECT_FALSE(build({}).incomplete);
  EXPECT_GE(made, 10);
}

TEST_F(BuildDeadlineRestarts, ShareTheTimeLimit) {
  BuildOptions options;
  options.seconds = 0.1;
  const std::string message = stopped(options, simt::Stopped::Reason::time_limit);
  EXPECT_EQ(message,
            "atomic: build: not finished within the time limit of 0.1 s; raise --timeout if it may "
            "take longer");
  EXPECT_EQ(made, 5);
}

// Time that the caller has spent before the build counts.
TEST_F(BuildDeadlineRestarts, TheLimitBeginsWhenTheCallerSays) {
  BuildOptions options;
  options.started = simt::HostClock::now() - std::chrono::milliseconds(59'970);
  const std::string message = stopped(options, simt::Stopped::Reason::time_limit);
  EXPECT_NE(message.find("time limit of 60 s"), std::string::npos) << message;
  EXPECT_EQ(made, 2);
}

TEST_F(BuildDeadlineRestarts, EndWithAnInterruption) {
  interrupt_at = 3;
  const std::string message = stopped({}, simt::Stopped::Reason::interrupted);
  EXPECT_NE(message.find("interrupted"), std::string::npos) << message;
  EXPECT_EQ(made, 3);
}

}  // namespace
}  // namespace heapwood::kdtree
