// SPDX-License-Identifier: MIT
// The Live tab.
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/viewer/program.hpp"
#include "tests/viewer/recorded.hpp"
#include "viewer/live.hpp"

namespace heapwood::viewer {
namespace {

using tests::has;

LiveSide side_with(const char* allocator, std::vector<double> ms) {
  LiveSide side;
  side.allocator = registry::find(allocator);
  for (std::size_t i = 0; i < ms.size(); ++i) side.times.add({i, ms[i], 7, true, 0});
  return side;
}

TEST(Live, RanksASideThatIsNearlyAlwaysSlower) {
  using Kind = LiveVerdict::Kind;
  const std::vector<double> fast{10, 11, 12, 10, 11, 12, 10, 11, 12, 10, 11, 12};
  std::vector<double> slow = fast;
  for (double& ms : slow) ms *= 3;
  const LiveSide a = side_with("cfmmalloc", fast);
  EXPECT_EQ(judge(a, side_with("atomic", {30, 31})).kind, Kind::measuring);
  const LiveVerdict ranked = judge(side_with("atomic", slow), a);
  EXPECT_EQ(ranked.kind, Kind::ranked);
  EXPECT_EQ(ranked.slower, 0u);
  EXPECT_PRED2(has, ranked.text, "takes 3.0 times as long");
  slow.assign(12, 11.5);
  EXPECT_EQ(judge(a, side_with("atomic", slow)).kind, Kind::noisy);
  EXPECT_EQ(judge(a, a).kind, Kind::noisy);
  // What disturbs both sides of a frame does not matter; 11 of 12 frames are enough, 10 are not.
  std::vector<double> drifting, both;
  for (int i = 0; i < 12; ++i) {
    drifting.push_back(10 + 5 * i);
    both.push_back(11 + 5 * i);
  }
  both[3] = 1;
  const LiveSide drift = side_with("cfmmalloc", drifting);
  const LiveVerdict paired = judge(drift, side_with("atomic", both));
  EXPECT_EQ(paired.kind, Kind::ranked);
  EXPECT_PRED2(has, paired.detail, "11 of 12 frames");
  both[4] = 1;
  EXPECT_EQ(judge(drift, side_with("atomic", both)).kind, Kind::noisy);
  // One slow frame in a hundred does not blur the range; an incomplete tree is no time at all.
  LiveSide spiky = side_with("atomic", std::vector<double>(100, 40.0));
  spiky.times.add({100, 4, 7, true, 0});
  EXPECT_EQ(judge(a, spiky).kind, Kind::ranked);
  spiky.times.add({101, 1, 0, false, 5000});
  EXPECT_EQ(spiky.times.median(), 40);
  const LiveVerdict full = judge(a, spiky);
  EXPECT_EQ(full.kind, Kind::exhausted);
  EXPECT_EQ(full.slower, 1u);
  EXPECT_PRED2(has, full.detail, "4.88 KiB");
  // A hole that is large enough did not help: the text says why.
  const auto with = [&](const std::vector<alloc::RecordedEvent>& events) {
    spiky.recording =
        std::make_shared<Recording>("scene", *spiky.allocator, "cpu", 1u << 20, events);
    return judge(a, spiky).detail;
  };
  EXPECT_PRED2(has, with({}), "the use of its largest hole, 1.00 MiB");
  EXPECT_PRED2(has,
               with({alloc::RecordedEvent::make(alloc::RecordedEvent::Kind::allocate, 0, 0, 0,
                                                std::uint64_t{(1u << 20) - 1024})}),
               "largest hole shrinks to 1.00 KiB");
  // What a build takes longer than AtomicMalloc's of the same frame is what allocation costs.
  const LiveVerdict cost =
      judge(side_with("atomic", std::vector<double>(12, 30.0)), a, side_with("atomic", fast).times);
  EXPECT_PRED2(has, cost.text, "allocation takes 19 of 30 ms");
  EXPECT_PRED2(has, cost.detail, ": 0 of 11 ms. ");
  EXPECT_EQ(slower_text(1.05), "is 5.0% slower");
  EXPECT_EQ(slower_text(12.4), "takes 12 times as long");
}

// The slower side of a race is in an earlier part of the animation, whose frames may be heavier:
// the factor is that of frames with the same mesh.
TEST(Live, RatiosAreThoseOfTheSameMesh) {
  constexpr std::uint64_t period = 40;
  const auto ms = [](std::uint64_t frame) { return frame % period < 20 ? 1.0 : 10.0; };
  LiveSide fast{registry::find("atomic"), LiveTimes(period), {}},
      slow{registry::find("cfmmalloc"), LiveTimes(period), {}};
  for (std::uint64_t i = 0; i < 300; ++i) fast.times.add({i, ms(i)});
  for (std::uint64_t i = 0; i < 30; ++i) slow.times.add({i, 2 * ms(i)});
  const LiveVerdict verdict = judge(fast, slow);
  EXPECT_EQ(verdict.kind, LiveVerdict::Kind::ranked);
  EXPECT_EQ(verdict.slower, 1u);
  EXPECT_EQ(verdict.factor, 2);
  EXPECT_PRED2(has, verdict.detail, "30 of 30 frames");
}

// Builds that got half of the processor time took twice as long.
TEST(Live, ABusyComputerIsSaid) {
  LiveView view;
  for (const double share : {0.9, 0.3}) {
    for (LiveSide& side : view.sides) {
      side = {};
      for (std::uint64_t i = 0; i < 12; ++i) side.times.add({i, 1, 0, true, 0, 0, 0, 0, share});
    }
    EXPECT_EQ(view.slowed_by_others() > 3, share < 0.5);
    EXPECT_EQ(view.slowed_by_others() == 1, share > 0.5);
  }
}

TEST(Live, KeepsTheLatestFramesAndComparesTrees) {
  LiveTimes times;
  for (std::uint64_t i = 0; i < 300; ++i) times.add({i, i < 150 ? 1.0 : 2.0, 7, true, 0});
  EXPECT_EQ(times.samples().size(), LiveTimes::window);
  EXPECT_EQ(times.low(), 2);
  LiveView view;
  for (const std::uint64_t hash : {7u, 8u}) {
    for (const unsigned side : {0u, 1u}) {
      LiveEvent event;
      event.side = side;
      event.sample = {hash, 1, side ? 7 : hash, true, 0};
      view.take(event);
    }
  }
  EXPECT_EQ(view.compared, 2u);
  EXPECT_EQ(view.different, 1u);
}

// On CPU threads no build starts while the window is drawn, and the reverse; neither waits forever.
TEST(Live, BuildsAndTheWindowTakeTurns) {
  LiveLink link;
  link.begin();
  link.begin_build();
  EXPECT_FALSE(link.begin_drawing(0.001));
  link.end_build();
  EXPECT_TRUE(link.begin_drawing(0.001));
  std::atomic<bool> building{false};
  std::thread job([&] {
    link.begin_build();
    building = true;
    link.end_build();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(building);
  link.end_drawing();
  job.join();
  EXPECT_TRUE(building);
  link.begin_drawing(0.001);
  link.begin_build();  // the window never ends its frame, so the build starts after 0.1 s
  link.end_build();
}

// The title, the outline and the curves show the same hole.
TEST(HeapMap, TheHoleIsThatOfTheCurves) {
  const Recording recording = record("pipes:1k");
  unsigned outlined = 0;
  for (std::size_t i = 0; i < recording.points.size(); i += 40) {
    const Recording::Point& point = recording.points[i];
    const HeapMap map(recording, point.time, 50, 30, recording.reach);
    const std::uint64_t hole = point.pool.largest_below_bytes;
    ASSERT_EQ(map.hole_bytes, hole) << i;
    ASSERT_EQ(map.taken_bytes, point.pool.used_bytes) << i;
    ASSERT_EQ(map.taken_blocks, point.pool.blocks) << i;
    const HeapMap::Run run = map.hole_cells();
    for (std::uint64_t c = run.first; c < run.first + run.count; ++c)
      ASSERT_EQ(map.cells[c].used_bytes, 0u);
    EXPECT_LE(run.count * map.cell_bytes, hole + map.cell_bytes);
    EXPECT_GE((run.count + 2) * map.cell_bytes, hole);
    outlined += run.count > 0;
  }
  EXPECT_GT(outlined, 5u);
}

}  // namespace
}  // namespace heapwood::viewer

namespace heapwood::tests {
namespace {

class LiveTab : public Program {
 protected:
  Json after(const std::string& arguments, const std::string& steps) const {
    return run(arguments + " --mode normals --spp 1", steps);
  }
};

// A choice ends the freeze: otherwise the old times would be shown under the new name.
TEST_F(LiveTab, TwoAllocatorsBuildTheSameFrames) {
  const Json chosen =
      after("atrium:1k --tab live --allocator cfmmalloc --second-allocator cmalloc",
            "wait live 13; wait 0.3; report @first; key Space; wait 0.3; report @frozen; wait 0.3; "
            "report @still; key 8; wait 0.1; report @unfrozen; wait live 3");
  const Json first = json("first"), start = first["live"], frozen = json("frozen")["live"];
  EXPECT_EQ(start["sides"][0]["allocator"], "cfmmalloc");
  EXPECT_EQ(start["sides"][1]["allocator"], "cmalloc");
  EXPECT_GE(start["compared"], 1);
  EXPECT_EQ(start["different"], 0);
  EXPECT_NE(first["texts"]["verdict"], "Measuring ...");
  for (const char* part : {"build_a", "build_b", "rays"}) EXPECT_GT(start["frame_ms"][part], 0);
  EXPECT_PRED2(has, first["texts"]["frame"], ", rays ");
  EXPECT_PRED2(has, start["pool"], "live:4");
  EXPECT_EQ(first["fly"], true);  // the atrium surrounds its camera
  EXPECT_EQ(frozen["frozen"], true);
  EXPECT_EQ(frozen["frames"], json("still")["live"]["frames"]);
  EXPECT_EQ(json("unfrozen")["live"]["frozen"], false);
  EXPECT_EQ(chosen["live"]["sides"][1]["allocator"], "atomic");
}

// All number keys have a button at the usual size.
TEST_F(LiveTab, EachNumberKeyHasItsButton) {
  const Json report = after("atrium:1k --tab live --size 1280x720", "wait live 2");
  ASSERT_TRUE(report["places"].contains("choice 9"));
  const Json& last = report["places"]["choice 9"];
  // The label ends left of the panel.
  EXPECT_LT(last[0].get<float>() + last[2].get<float>() / 2, 1280 - 340);
}

TEST_F(LiveTab, AMovingSceneIsBuiltOnlyInLive) {
  const Json never =
      after("cloth:1k --tab live", "wait live 2; report @live; key F6; wait 0.2; key B; wait 0.1");
  EXPECT_EQ(json("live")["texts"]["name"], "cloth:1k");
  EXPECT_EQ(never["texts"]["disabled"], "Build; Compare all; Heap map; ");
  EXPECT_PRED2(has, never["messages"], "a moving scene is built only in Live");
}

TEST_F(LiveTab, AnExhaustedPoolFreezesItsSide) {
  const Json report =
      after("atrium:3k --tab live --allocator cfmmalloc --second-allocator cfmmalloc --pool 200K",
            "wait live 1; wait 0.2");
  EXPECT_EQ(report["live"]["sides"][0]["exhausted"], true);
  EXPECT_EQ(report["live"]["sides"][0]["samples"], 1);
  const std::string detail = report["texts"]["verdict detail"];
  EXPECT_PRED2(has, detail, "was refused");
  EXPECT_PRED2(has, detail, "largest hole");
}

// A moving scene has another tree in each frame, the same on both sides.
TEST_F(LiveTab, AMovingSceneIsRebuiltInEveryFrame) {
  const Json moving = after(
      "statue~:1k --tab live --allocator cfmmalloc --second-allocator cmalloc --size 1280x800",
      "wait live 6");
  EXPECT_EQ(moving["live"]["moves"], true);
  EXPECT_GE(moving["live"]["compared"], 1);
  EXPECT_EQ(moving["live"]["different"], 0);
  EXPECT_GT(moving["live"]["frames_per_second"], 0);
  EXPECT_EQ(moving["scene"], "statue~:1k");
}

// A race: each side has a frame of its own, until both are kept in step. A picture per side is
// refined while they are frozen.
TEST_F(LiveTab, EachSideOfARaceHasItsFrame) {
  const auto r = reports(
      "statue~:2k --tab live --allocator heapwood --second-allocator cmalloc --size 1280x800",
      "wait live 20; click keep both in step; wait live 30; REPORT; key Space; window @live.png "
      "1280x800 4");
  const Json& sides = r[0]["live"]["sides"];
  EXPECT_LE(std::abs(sides[0]["frame"].get<int>() - sides[1]["frame"].get<int>()), 1);
  EXPECT_EQ(r[0]["live"]["in_step"], true);
  // The statue is in both halves: neither is all sky.
  const render::Image image = picture("live.png");
  for (const unsigned x : {235u, 705u}) EXPECT_LT(image.at(x, 260).b, image.at(x, 60).b + 40) << x;
}

// --pool live:N, given or typed, is N times the peak of the scene's builds.
TEST_F(LiveTab, ThePoolIsAMultipleOfThePeak) {
  for (const char* scene : {"atrium:5k", "statue~:2k"}) {
    const auto r = reports(std::string(scene) + " --tab live --pool live:3 --size 1280x800",
                           "wait live 1; REPORT; click pool; key End; key Backspace; type 9; key "
                           "Enter; wait 0.3; wait live 1; REPORT");
    const double first = r[0]["live"]["pool_bytes"], second = r[1]["live"]["pool_bytes"];
    EXPECT_NEAR(second / first, 3, 0.35) << scene;
    EXPECT_LT(first, 4 << 20) << scene;  // less than any automatic pool
  }
}

// A file that cannot be read does not end the comparison of the scene that is shown.
TEST_F(LiveTab, AWrongFileKeepsTheScene) {
  const Json report =
      after("atrium:1k --tab live", "wait live 1; drop /nowhere/lost.obj; wait 0.5; wait live 2");
  EXPECT_PRED2(has, report["messages"], "/nowhere/lost.obj");
  EXPECT_EQ(report["live"]["problem"], "");
  EXPECT_EQ(report["scene"], "atrium:1k");
}

// The screenshot of the tab shows times and both maps, not a window that is still measuring.
TEST_F(LiveTab, AScreenshotWaitsForFigures) {
  run("atrium:1k --tab live --screenshot @live.png --panel --size 1280x800 --frames 1");
  const render::Image image = picture("live.png");
  EXPECT_GT(count_near(image, {104, 196, 134}, 30), 100);
  EXPECT_GT(count_near(image, {107, 173, 242}, 30), 100);
  // Its pictures have full resolution, and so sharp edges.
  unsigned sharp = 0;
  for (unsigned y = 100; y < 400; ++y)
    for (unsigned x = 20; x < 450; ++x)
      sharp += std::abs(image.at(x, y).r - image.at(x + 1, y).r) > 40;
  EXPECT_GT(sharp, 500u);
}

}  // namespace
}  // namespace heapwood::tests
