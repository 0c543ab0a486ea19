// SPDX-License-Identifier: MIT
// Work beside the window: jobs, screenshots, explanations of nodes; and another program, the one
// that copies pictures.
#include <sys/stat.h>

#include <algorithm>
#include <future>
#include <thread>

#include "tests/viewer/program.hpp"
#include "tests/viewer/recorded.hpp"
#include "viewer/jobs.hpp"
#include "viewer/node_view.hpp"
#include "viewer/screenshot.hpp"

namespace heapwood::viewer {

namespace {

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
  spec.device = cpu();
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
      if (outcome->spec.kind == JobSpec::Kind::build) builds.push_back(std::move(*outcome));
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

TEST(BackgroundScreenshots, AnOutcomeIsTakenBeforeTheNextOneStarts) {
  const tests::Folder folder;
  const std::shared_ptr<const BuiltScene> scene = built("pipes:1k");
  render::RenderJob job;
  job.width = job.height = 16;
  job.spp = 1;
  job.camera = scene->home;
  job.lighting = scene->lighting;
  Screenshots shots;
  ASSERT_TRUE(shots.start(scene, job, folder / "a.png"));
  ASSERT_TRUE(wait_for([&] { return std::filesystem::exists(folder / "a.png"); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until its thread ends
  EXPECT_FALSE(shots.start(scene, job, folder / "b.png"));
  std::optional<Screenshots::Finished> finished;
  ASSERT_TRUE(wait_for([&] { return (finished = shots.take()).has_value(); }));
  EXPECT_EQ(finished->how, Screenshots::Finished::How::fine) << finished->text;
  EXPECT_FALSE(shots.running());
  EXPECT_TRUE(shots.start(scene, job, folder / "b.png"));
}

TEST(BackgroundScreenshots, NoPictureIsOverwritten) {
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

namespace heapwood::tests {

namespace {

class Clipboard : public Program {};

// The viewer outlives an xclip that does not read the picture, and stores its settings.
TEST_F(Clipboard, AProgramThatEndsEarlyIsReported) {
  const std::string tool = path("xclip");
  write_file(tool, "#!/bin/sh\nexec <&-\nsleep 0.2\nexit 1\n");
  ::chmod(tool.c_str(), 0700);
  const Outcome outcome = on_display(
      {"/bin/sh", "-c",
       with_paths("unset WAYLAND_DISPLAY; PATH='@':$PATH exec '") + view_ +
           "' statue:5k --device cpu --tab learn --mode normals --spp 1 --size 1600x1000 "
           "--settings '" +
           path("settings.json") + "' --script '" +
           write_script("wait built; wait done; key C ctrl; wait 0.2; report @report; quit") +
           "'"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_PRED2(has, json("report")["messages"], "xclip has failed");
  EXPECT_TRUE(std::filesystem::exists(path("settings.json")));
}

}  // namespace

}  // namespace heapwood::tests
