// SPDX-License-Identifier: MIT
// The Live tab, and dynamic graphs in the Heap tab.
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/viewer/program.hpp"
#include "tests/viewer/recorded.hpp"
#include "viewer/live.hpp"
#include "viewer/live_loop.hpp"
#include "viewer/recording.hpp"
#include "viewer/trace_recording.hpp"

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
  const auto recording = std::make_shared<Recording>("scene", *spiky.allocator, "cpu", 1u << 20);
  spiky.recording = recording;
  EXPECT_PRED2(has, judge(a, spiky).detail, "despite a largest hole of 1.00 MiB: headers");
  recording->add(std::vector{alloc::RecordedEvent::make(alloc::RecordedEvent::Kind::allocate, 0, 0,
                                                        0, std::uint64_t{(1u << 20) - 1024})});
  recording->finish_rounds(0);
  EXPECT_PRED2(has, judge(a, spiky).detail, "largest hole of the pool is 1.00 KiB");
  EXPECT_EQ(slower_text(1.05), "is 5.0% slower");
  EXPECT_EQ(slower_text(12.4), "takes 12 times as long");
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

// The curves and the map at each round are those of the graph's own figures.
TEST(GraphRecording, IsTheGraphAfterEachRound) {
  GraphSettings settings{"rgg:500", 6, 100, true};
  const GraphRecorder recorder(settings, {}, cpu(), 60);
  unsigned rounds = 0;
  const auto record = [&](const char* id) {
    return recorder.record(*registry::find(id), [&](unsigned done) { rounds = done; });
  };
  const GraphRecording a = record("cmalloc"), b = record("cfmmalloc");
  EXPECT_EQ(rounds, 6u);
  EXPECT_EQ(a.edge_hash, b.edge_hash);
  EXPECT_EQ(a.recording->requests.failures, 0u);
  const Recording& recording = *a.recording;
  ASSERT_EQ(recording.rounds.size(), 7u);
  EXPECT_TRUE(recording.finished);
  EXPECT_EQ(recording.history().unmatched_frees, 0u);
  EXPECT_EQ(recording.history().overlaps, 0u);
  EXPECT_EQ(recording.time_at(0), recording.rounds.front());
  EXPECT_EQ(recording.time_at(1), recording.events);
  EXPECT_EQ(recording.round_of(recording.time_at(0.5)), 3u);
  EXPECT_EQ(recording.time_text(recording.events), "round 6 of 6");
  // Both allocators serve the same requests.
  for (std::size_t i = 0; i < 7; ++i) {
    const Recording::Point &p = recording.at(recording.rounds[i]),
                           &q = b.recording->at(b.recording->rounds[i]);
    EXPECT_EQ(p.time, recording.rounds[i]);
    EXPECT_EQ(p.pool.blocks, q.pool.blocks) << i;
    EXPECT_EQ(p.used_bytes, q.used_bytes) << i;
    const HeapMap map(recording, p.time, 40, 20, recording.reach, false);
    std::uint64_t blocks = 0;
    for (const std::uint32_t count : map.by_size) blocks += count;
    EXPECT_EQ(blocks, p.pool.blocks);
  }
  EXPECT_GT(recording.at(recording.events).pool.blocks, 400u);
  EXPECT_THROW(record("atomic"), Error);
  // A pool that is too small refuses requests and says so.
  bench::PoolSize small;
  small.kind = bench::PoolSize::Kind::bytes;
  small.bytes = 1 << 18;
  settings.graph = "rgg:20k";
  const GraphRecorder tight(settings, small, cpu(), 60);
  const GraphRecording full = tight.record(*registry::find("cfmmalloc"), [](unsigned) {});
  EXPECT_GT(full.recording->requests.failures, 0u);
}

// On CPU threads no build starts while the window is drawn, and the reverse; neither waits forever.
TEST(Live, BuildsAndTheWindowTakeTurns) {
  LiveLink link;
  link.begin();
  link.begin_builds();
  EXPECT_FALSE(link.begin_drawing(0.001));
  link.end_builds();
  EXPECT_TRUE(link.begin_drawing(0.001));
  std::atomic<bool> building{false};
  std::thread job([&] {
    link.begin_builds();
    building = true;
    link.end_builds();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(building);
  link.end_drawing();
  job.join();
  EXPECT_TRUE(building);
  link.begin_drawing(0.001);
  link.begin_builds();  // the window does not end: after a tenth of a second the build starts
  link.end_builds();
}

// The root is finished first, and the spans of all levels have the nodes of the tree.
TEST(Live, LevelsAreThoseOfTheRecording) {
  const Recording recording = record("pipes:1k");
  const std::vector<LevelSpan> spans = level_spans(recording);
  ASSERT_EQ(spans.size(), recording.depth + 1);
  EXPECT_EQ(spans.front().nodes, 1u);
  std::uint64_t nodes = 0, all = 0;
  for (const Recording::Level& level : recording.points.back().levels)
    all += level.inner + level.leaves;
  for (const LevelSpan& span : spans) {
    nodes += span.nodes;
    EXPECT_LE(span.first, span.quarter);
    EXPECT_LE(span.quarter, span.half);
    EXPECT_LE(span.half, span.three_quarters);
    EXPECT_LE(span.three_quarters, span.last);
    EXPECT_LE(span.last, 1);
    EXPECT_GE(span.first, spans.front().first);
  }
  EXPECT_EQ(nodes, all);
}

// The title, the outline and the curves show the same hole: the one below the highest address, or
// that of the whole pool.
TEST(HeapMap, TheHoleIsThatOfTheCurves) {
  const Recording recording = record("pipes:1k");
  unsigned outlined = 0;
  for (std::size_t i = 0; i < recording.points.size(); i += 40) {
    const Recording::Point& point = recording.points[i];
    for (const bool whole : {false, true}) {
      const HeapMap map(recording, point.time, 50, 30,
                        whole ? recording.pool_bytes : recording.reach, whole);
      const std::uint64_t hole =
          whole ? point.pool.largest_gap_bytes : point.pool.largest_below_bytes;
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
  }
  EXPECT_GT(outlined, 10u);
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

TEST_F(LiveTab, TwoAllocatorsBuildTheSameFrames) {
  const Json first =
      after("atrium:1k --tab live --allocator cfmmalloc --beside cmalloc",
            "wait live 13; wait 0.3; report @first; key 1; wait 0.1; wait live 3; report @other; "
            "key Space; wait 0.3; report @frozen; wait 0.3");
  const Json start = json("first")["live"], other = json("other")["live"];
  EXPECT_EQ(start["sides"][0]["allocator"], "cfmmalloc");
  EXPECT_EQ(start["sides"][1]["allocator"], "cmalloc");
  EXPECT_GE(start["compared"], 12);
  EXPECT_EQ(start["different"], 0);
  EXPECT_NE(json("first")["texts"]["verdict"], "Measuring ...");
  EXPECT_GT(start["trace_ms"], 0);
  EXPECT_PRED2(has, json("first")["texts"]["trace"], "ms trace");
  const std::string levels = json("first")["texts"]["levels"];
  EXPECT_PRED2(has_not, levels, "A 0 levels");
  EXPECT_PRED2(has_not, levels, "B 0 levels");
  EXPECT_EQ(other["sides"][1]["allocator"], registry::allocators().front().traits->id);
  EXPECT_EQ(json("frozen")["live"]["frozen"], true);
  EXPECT_EQ(json("frozen")["live"]["frames"], first["live"]["frames"]);
  EXPECT_EQ(first["fly"], true);  // the atrium surrounds its camera
}

// A choice ends the freeze: otherwise the old times would be shown under the new name.
TEST_F(LiveTab, AChoiceUnfreezes) {
  const Json report =
      after("atrium:1k --tab live --allocator cfmmalloc --beside cmalloc",
            "wait live 3; key Space; wait 0.2; report @frozen; key 1; wait 0.1; report @chosen; "
            "wait live 2");
  EXPECT_EQ(json("frozen")["live"]["frozen"], true);
  EXPECT_EQ(json("chosen")["live"]["frozen"], false);
  EXPECT_EQ(report["live"]["sides"][1]["allocator"], registry::allocators().front().traits->id);
}

// All number keys have a button at the usual size.
TEST_F(LiveTab, EachNumberKeyHasItsButton) {
  const Json report = after("atrium:1k --tab live --size 1280x720", "wait live 2");
  const std::size_t count = std::min<std::size_t>(registry::allocators().size(), 9);
  ASSERT_EQ(count, 9u);
  ASSERT_TRUE(report["places"].contains("choice 9"));
  const Json &last = report["places"]["choice 9"], &edge = report["places"]["panel edge"];
  EXPECT_LT(last[0].get<float>() + last[2].get<float>() / 2, edge[0].get<float>());
}

// Outside Live a moving scene is built as it stands, which its name says, or not at all.
TEST_F(LiveTab, AMovingSceneStandsInOtherTabs) {
  const Json still = after("statue~:1k --tab learn --size 1280x800", "wait built; wait 0.1");
  EXPECT_EQ(still["texts"]["name"], "statue:1k, unmoved");
  EXPECT_EQ(still["texts"].value("disabled", ""), "");
  const Json never = after("explode:1k --tab live",
                           "wait live 2; report @live; key F6; wait 0.2; key B; wait 0.1");
  EXPECT_EQ(json("live")["texts"]["name"], "explode:1k");
  EXPECT_EQ(never["texts"]["disabled"], "Build; Compare all; Heap map; ");
  EXPECT_PRED2(has, never["messages"], "a moving scene is built only in Live");
}

TEST_F(LiveTab, AnExhaustedPoolFreezesItsSide) {
  const Json report =
      after("atrium:3k --tab live --allocator cfmmalloc --beside cfmmalloc --pool 200K",
            "wait live 1; wait 0.2");
  EXPECT_EQ(report["live"]["sides"][0]["exhausted"], true);
  EXPECT_EQ(report["live"]["sides"][0]["samples"], 1);
  const std::string detail = report["texts"]["verdict detail"];
  EXPECT_PRED2(has, detail, "was refused");
  EXPECT_PRED2(has, detail, "largest hole");
  const std::string drawn = report["texts"]["refusal"];
  EXPECT_PRED2(has, drawn, "refused request");
  EXPECT_PRED2(has, drawn, "largest hole");
}

// A moving scene has another tree in each frame, the same on both sides. Pools that are kept stay
// fragmented.
TEST_F(LiveTab, AMovingSceneIsRebuiltInEveryFrame) {
  const Json kept =
      after("statue~:1k --tab live --allocator cfmmalloc --beside cmalloc --size 1280x800",
            "wait live 6; report @moving; click keep pool; wait 0.2; wait live 10");
  const Json moving = json("moving");
  EXPECT_EQ(moving["live"]["moves"], true);
  EXPECT_GE(moving["live"]["compared"], 5);
  EXPECT_EQ(moving["live"]["different"], 0);
  EXPECT_GT(moving["live"]["frames_per_second"], 0);
  EXPECT_EQ(moving["live"]["sides"][0]["keeps_pool"], false);
  EXPECT_EQ(moving["scene"], "statue~:1k");
  for (const Json& side : kept["live"]["sides"]) {
    EXPECT_EQ(side["keeps_pool"], true);
    EXPECT_TRUE(side["fragmentation"].is_number()) << side;
    EXPECT_EQ(side["exhausted"], false);
  }
  EXPECT_EQ(kept["live"]["different"], 0);
  EXPECT_PRED2(has, kept["texts"]["pool use"], "A kept");
}

// Outside Live a moving scene stands, or is refused with a message.
TEST(FrameSource, MovingScenesHaveStillOnes) {
  using viewer::is_moving;
  using viewer::still_source;
  EXPECT_TRUE(is_moving("statue~:5k"));
  EXPECT_FALSE(is_moving("statue:5k"));
  EXPECT_EQ(still_source("statue~:5k"), "statue:5k");
  EXPECT_EQ(still_source("atrium"), "atrium");
  EXPECT_EQ(still_source("explode:5k"), "");
}

TEST_F(LiveTab, AGraphIsShownOverItsRounds) {
  const Json report = after(
      "atrium:1k --tab heap --allocator cfmmalloc --beside cmalloc --size 1280x800",
      "wait built; click graph; key End; key Backspace; key Backspace; key Backspace; type 2k; key "
      "Enter; click Record graph; wait recorded; key Space; click time; key .; wait 0.2");
  ASSERT_EQ(report["heap"].size(), 2u);
  for (const Json& heap : report["heap"]) {
    EXPECT_EQ(heap["scene"], "rgg:2k");
    EXPECT_EQ(heap["rounds"], 61);
    EXPECT_GT(heap["round"], 20);
    EXPECT_GT(heap["used_bytes"], 0);
    EXPECT_EQ(heap["refused"], 0);
    EXPECT_EQ(heap["unmatched_frees"], 0);
  }
  EXPECT_EQ(report["heap"][0]["used_bytes"], report["heap"][1]["used_bytes"]);
  EXPECT_PRED2(has, report["texts"]["legend"], "largest hole");
}

}  // namespace

}  // namespace heapwood::tests
