// SPDX-License-Identifier: MIT
// Work beside the window: jobs.
#include <algorithm>
#include <chrono>
#include <future>
#include <thread>

#include "tests/viewer/program.hpp"
#include "viewer/jobs.hpp"

namespace heapwood::viewer {

namespace {

template <class Condition>
bool wait_for(const Condition& condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// A build that waits for a live frame to end is cancelled at once and never begins.
TEST(BackgroundJobs, AJobThatHasNotBegunIsCancelled) {
  std::promise<void> in_frame, cancelled;
  bool first = true;
  Jobs jobs([&](bool held) {
    if (!held || !std::exchange(first, false)) return;
    in_frame.set_value();
    cancelled.get_future().wait();
  });
  const registry::RegisteredAllocator& entry = *registry::find("cfmmalloc");
  JobSpec spec;
  spec.kind = JobSpec::Kind::live;
  spec.source = "pipes:1k";
  spec.device = simt::find_device("cpu", 2);
  jobs.live().choose({{&entry, &entry}});
  ASSERT_TRUE(jobs.start(spec));
  in_frame.get_future().wait();
  spec.kind = JobSpec::Kind::build;
  spec.allocators = {&entry};
  ASSERT_TRUE(jobs.start(spec));
  jobs.cancel();
  EXPECT_FALSE(jobs.progress().running);
  cancelled.set_value();

  std::vector<JobOutcome> builds;
  const auto take_build = [&] {
    while (auto outcome = jobs.take()) {
      if (outcome->kind == JobSpec::Kind::build) builds.push_back(std::move(*outcome));
    }
    return !builds.empty() && builds.back().ended;
  };
  ASSERT_TRUE(wait_for(take_build));
  ASSERT_EQ(builds.size(), 1u);  // no scene precedes it
  EXPECT_TRUE(builds.back().cancelled);
  builds.clear();
  ASSERT_TRUE(jobs.start(spec));  // nothing of the cancelled one is left
  ASSERT_TRUE(wait_for(take_build));
  EXPECT_FALSE(builds.back().cancelled);
  ASSERT_TRUE(builds.front().scene);
}

}  // namespace

}  // namespace heapwood::viewer
