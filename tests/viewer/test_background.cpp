// SPDX-License-Identifier: MIT
// Work of other threads than the window's: jobs and explanations of nodes.

#include <future>

#include "tests/app/executable.hpp"
#include "tests/viewer/recorded.hpp"
#include "viewer/jobs.hpp"
#include "viewer/node_view.hpp"
#include "viewer/state.hpp"

namespace heapwood::viewer {
namespace {

// A build that waits for a live frame to end is cancelled immediately and never begins.
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
  spec.device = cpu();
  jobs.live().choose({&entry, &entry});
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
      if (outcome->spec.kind == JobSpec::Kind::build) builds.push_back(std::move(*outcome));
    }
    return !builds.empty() && builds.back().ended;
  };
  ASSERT_TRUE(wait_for(take_build));
  ASSERT_EQ(builds.size(), 1u);  // no outcome with a scene precedes it
  EXPECT_TRUE(builds.back().cancelled);
  builds.clear();
  ASSERT_TRUE(jobs.start(spec));  // nothing of the cancelled one is left
  ASSERT_TRUE(wait_for(take_build));
  EXPECT_FALSE(builds.back().cancelled);
  ASSERT_TRUE(builds.front().scene);
}

TEST(Screenshots, NoPictureIsOverwritten) {
  const tests::Folder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  EXPECT_EQ(free_name("atrium:1k"), "atrium-1k-001.png");
  for (unsigned i = 0; i < 999; ++i) tests::write_file(free_name("atrium:1k"), "");
  EXPECT_EQ(free_name("atrium:1k"), "atrium-1k-1000.png");
  std::filesystem::current_path(before);
}

// The latest request follows the explanation that is being made.
TEST(BackgroundNodes, TheLatestRequestIsExplained) {
  const std::shared_ptr<const BuiltScene> scene = built("statue:50k");
  const RootPath root = root_of(scene->tree);
  std::vector<RootPath> children(2, root);
  for (const unsigned side : {0u, 1u}) descend(scene->tree, children[side], side);
  NodeView view;
  view.choose(scene, root, {});
  view.take(scene, {});
  for (const RootPath& path : children) view.choose(scene, path, {});
  ASSERT_TRUE(wait_for([&] {
    view.take(scene, {});
    return view.shown && view.shown->place().node != root.back().node;
  }));
  EXPECT_EQ(view.shown->place().node, children[1].back().node);
}

}  // namespace
}  // namespace heapwood::viewer
