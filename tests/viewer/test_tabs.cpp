// SPDX-License-Identifier: MIT
// The Compare tab, whose bars appear while a comparison runs; the Learn tab: nodes explained, and
// the lesson; program traces in the heap map.
#include <algorithm>
#include <set>

#include "alloc/recording/trace_file.hpp"
#include "bench/replay_bench.hpp"
#include "kdtree/check/quality.hpp"
#include "tests/viewer/program.hpp"
#include "tests/viewer/recorded.hpp"
#include "viewer/comparison.hpp"
#include "viewer/node_view.hpp"
#include "viewer/recording.hpp"
#include "workloads/program_trace/replay.hpp"

namespace heapwood::viewer {
namespace {

bench::BenchJob job_with(const std::vector<std::string>& ids, int runs) {
  bench::BenchJob job;
  job.scenes = {"pipes:1k"};
  for (const std::string& id : ids) job.allocators.push_back(registry::find(id));
  job.settings.runs = runs;
  job.device = simt::find_device("cpu", 2);
  return job;
}

// Results have the job's order, whatever order they were measured in, also while it runs.
TEST(Comparison, ResultsKeepTheirOrder) {
  const std::vector<std::string> ids{"atomic", "cmalloc", "cfmmalloc", "scatter"};
  const auto ids_of = [](const std::vector<bench::Result>& results) {
    std::vector<std::string> all;
    for (const bench::Result& result : results) all.push_back(result.allocator);
    return all;
  };
  std::size_t parts = 0;
  bench::BenchJob job = job_with(ids, 3);
  job.pool_probe = registry::find("atomic");
  const auto progress = [](std::size_t done, std::size_t total, const std::string&) {
    EXPECT_LE(done, total);
  };
  const auto partial = [&](std::vector<bench::Result> part) {
    ++parts;
    EXPECT_EQ(ids_of(part), ids);
    for (const CompareRow& row : compare_rows(part, true)) {
      EXPECT_FALSE(row.best || row.noisy);
      if (row.waiting) {
        EXPECT_EQ(row.ms, "waiting");
      }
    }
  };
  const auto results = compare_builds(job, {progress, partial, [](auto&, auto&) {}}).results;
  EXPECT_GT(parts, 0u);
  EXPECT_EQ(ids_of(results), ids);
  for (const bench::Result& result : results) {
    EXPECT_EQ(result.status, bench::Status::ok) << result.reason;
    EXPECT_EQ(result.runs_ms.size(), 3u);
    EXPECT_FALSE(is_waiting(result));
  }
}

// Builds of the same order in every comparison would have the same neighbours.
TEST(Comparison, TheOrderOfBuildsVaries) {
  const bench::BenchJob job = job_with({"atomic", "cmalloc", "cfmmalloc", "scatter"}, 1);
  std::set<std::vector<std::string>> orders;
  for (int i = 0; i < 12; ++i) {
    std::vector<std::string> order;
    compare_builds(job, {[](auto, auto, const auto&) {}, [](auto) {},
                         [&](auto&, bench::Result& result) { order.push_back(result.allocator); }});
    EXPECT_EQ(order.size(), 4u);
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 1u);
}

// One outlier does not shrink the other bars, and a noisy divisor is said.
TEST(Comparison, OutliersAndNoiseAreShown) {
  EXPECT_EQ(chart_end({1, 2, 3, 4, 500}), 4.4);
  EXPECT_EQ(chart_end({1, 2}), 2.2);
  std::vector<bench::Result> results(3);
  const char* ids[] = {"atomic", "cmalloc", "cfmmalloc"};
  for (std::size_t i = 0; i < 3; ++i) {
    results[i].set_allocator(*registry::find(ids[i])->traits);
    results[i].status = bench::Status::ok;
    results[i].slowdown_over = "atomic";
    results[i].runs_ms.assign(5, 10.0 * static_cast<double>(i + 1));
  }
  EXPECT_EQ(compare_warning(compare_rows(results)), "");
  EXPECT_EQ(compare_verdict(compare_rows(results)),
            "CMalloc is the fastest that frees: 20.00 ms; next is CFMMalloc, 1.50 times as long.");
  results[0].runs_ms = {5, 6, 10, 20, 30};
  results[1].runs_ms = {20, 21, 25, 40, 60};
  EXPECT_PRED2(tests::has, compare_warning(compare_rows(results)), "AtomicMalloc");
  EXPECT_PRED2(tests::has, compare_verdict(compare_rows(results)), "No allocator");
}

class NodeExplain : public testing::Test {
 protected:
  const kdtree::Tree& tree() const { return scene_->tree; }

  std::shared_ptr<const BuiltScene> scene_ = built("statue:1k");
};

TEST_F(NodeExplain, TheRootIsCutWhereItIsCheap) {
  const NodeExplanation root = explain(*scene_, root_of(tree()), {});
  EXPECT_EQ(root.refs, scene_->mesh.triangles.size());
  EXPECT_EQ(root.depth(), 0u);
  ASSERT_FALSE(root.leaf);
  EXPECT_EQ(root.plane, tree().nodes[0].split);
  EXPECT_GE(root.left + root.right, root.refs);
  EXPECT_EQ(root.sides.size(), root.refs);
  EXPECT_EQ(static_cast<std::uint32_t>(std::ranges::count(root.sides, Side::both)),
            root.left + root.right - root.refs);
  EXPECT_LT(root.split_cost, root.leaf_cost);
  EXPECT_LE(root.lowest, root.split_cost * 1.00001);
  for (unsigned axis = 0; axis < 3; ++axis) {
    const auto& curve = root.curve[axis];
    ASSERT_FALSE(curve.empty());
    EXPECT_LE(curve.size(), NodeExplanation::max_points);
    EXPECT_TRUE(std::ranges::is_sorted(
        curve, [](const auto& a, const auto& b) { return a.position < b.position; }));
  }
}

// The builder tries all candidates of small nodes, and the explanation repeats its arithmetic: the
// chosen plane is the lowest point of the curves, and the leaves have the refs that are explained.
TEST_F(NodeExplain, SmallNodesAreCutAtTheLowestPoint) {
  std::vector<RootPath> stack{root_of(tree())};
  unsigned nodes = 0;
  while (!stack.empty()) {
    const RootPath path = std::move(stack.back());
    stack.pop_back();
    const NodeExplanation node = explain(*scene_, path, {});
    if (node.leaf) {
      EXPECT_TRUE(node.sides.empty());
      EXPECT_EQ(node.refs, tree().nodes[path.back().node].count());
      continue;
    }
    for (const unsigned side : {0u, 1u}) {
      RootPath child = path;
      descend(tree(), child, side);
      EXPECT_EQ(child.size(), path.size() + 1);
      stack.push_back(std::move(child));
    }
    if (node.refs > 32) continue;
    ++nodes;
    EXPECT_EQ(node.split_cost, node.lowest) << "depth " << node.depth() << ", " << node.refs;
  }
  EXPECT_GT(nodes, 50u);
}

TEST_F(NodeExplain, PathsAndHistogramsAreThoseOfTheTree) {
  const kdtree::TreeStats stats = kdtree::measure(tree(), {});
  const LeafHistograms histograms = leaf_histograms(tree());
  std::uint64_t by_refs = 0, by_depth = 0;
  for (const std::uint64_t count : histograms.by_refs) by_refs += count;
  for (const std::uint64_t count : histograms.by_depth) by_depth += count;
  EXPECT_EQ(by_refs, stats.leaves);
  EXPECT_EQ(by_depth, stats.leaves);
  EXPECT_EQ(histograms.by_refs.front(), stats.empty_leaves);
  EXPECT_EQ(histograms.by_depth.size(), stats.depth + 1u);
  const Vec3 point = (tree().bounds.lo + tree().bounds.hi) * 0.5f;
  const RootPath path = path_to(tree(), point);
  ASSERT_FALSE(path.empty());
  EXPECT_TRUE(tree().nodes[path.back().node].leaf());
  for (unsigned axis = 0; axis < 3; ++axis) {
    EXPECT_LE(path.back().box.lo[axis], point[axis]);
    EXPECT_GE(path.back().box.hi[axis], point[axis]);
  }
}

using tests::Folder;

// The trace of a build, which leaves no block in use.
alloc::ProgramTrace trace_of_build() {
  const kdtree::RecordedRun run = Prepared("pipes:1k").run();
  const std::vector<std::uint64_t> ends{run.events.size()};
  return alloc::make_program_trace(run.events, ends, run.events_in_all, 0);
}

TEST(TraceRecording, IsTheTraceWithAddresses) {
  const Folder folder;
  const alloc::ProgramTrace trace = trace_of_build();
  const std::string file = folder / "pipes.trace";
  tests::write_file(file, alloc::program_trace_file(trace));
  EXPECT_TRUE(is_program_trace(file));
  EXPECT_TRUE(is_program_trace(folder / "missing.trace"));  // a message says what is missing
  EXPECT_FALSE(is_program_trace(folder / "missing.obj"));
  const workloads::TraceSummary summary = workloads::summarize(trace);
  const TraceRecorder recorder(file, {}, {registry::find("atomic")}, cpu(), 60);
  EXPECT_EQ(recorder.name(), "pipes");
  EXPECT_EQ(recorder.warning(), "");
  for (const char* id : {"cfmmalloc", "cmalloc", "atomic"}) {
    const std::shared_ptr<const Recording> served = recorder.record(*registry::find(id));
    const Recording& recording = *served;
    EXPECT_EQ(recording.events, trace.events.size()) << id;
    EXPECT_EQ(recording.high_water_bytes, summary.peak_bytes) << id;
    EXPECT_EQ(recording.history().unmatched_frees, 0u) << id;
    EXPECT_EQ(recording.history().overlaps, 0u) << id;
    EXPECT_EQ(recording.requests.failures, 0u) << id;
    EXPECT_TRUE(recording.is_trace);
    EXPECT_EQ(recording.at(recording.events).used_bytes, 0u);
  }
  // A pool that is too small refuses requests.
  bench::PoolSize small;
  small.kind = bench::PoolSize::Kind::bytes;
  small.bytes = summary.peak_bytes / 2;
  const TraceRecorder tight(file, small, {registry::find("cmalloc")}, cpu(), 60);
  EXPECT_GT(tight.record(*registry::find("cmalloc"))->requests.failures, 0u);
  // The pool is that of `heapwood replay`.
  bench::ReplayBench replay;
  replay.summary = summary;
  replay.device = cpu();
  replay.allocators = {registry::find("cmalloc")};
  for (const char* size : {"auto", "3x", "live:3", "1M"}) {
    const std::string given = size;
    const TraceRecorder sized(file, bench::parse_pool(given), replay.allocators, replay.device, 60);
    const bench::PoolSize pool = bench::parse_pool(given == "live:3" ? "3x" : given);
    EXPECT_EQ(sized.record(*replay.allocators.front())->pool_bytes, pool_bytes(replay, pool))
        << given;
  }
  tests::write_file(file, "HWTRACE\nbroken");
  EXPECT_THROW(TraceRecorder(file, {}, {}, cpu(), 60), Error);
}

}  // namespace
}  // namespace heapwood::viewer

namespace heapwood::tests {
namespace {

class Compare : public Program {};

TEST_F(Compare, BarsAppearWhileItRuns) {
  run("pipes:1k --runs 9 --mode normals --spp 1 --size 1280x900",
      "wait built; key C; wait bars 2; report @early; wait compared; report @end");
  const Json early = json("early"), end = json("end");
  EXPECT_EQ(early["comparing"], true);
  EXPECT_EQ(end["comparing"], false);
  ASSERT_EQ(early["table"].size(), end["table"].size());
  for (std::size_t i = 0; i < end["table"].size(); ++i) {
    EXPECT_EQ(early["table"][i][0], end["table"][i][0]);
    EXPECT_EQ(early["table"][i][4], false);  // no allocator is the fastest so far
    EXPECT_NE(end["table"][i][1], "waiting");
  }
}

class Learn : public Program {};

TEST_F(Learn, SixStepsThroughTheBuild) {
  std::string steps = "wait built; wait 0.2; report @start";
  for (int i = 1; i <= 6; ++i) {
    steps += std::string("; key PageDown; ") + (i == 6 ? "wait recorded; " : "") +
             "wait 0.4; report @step" + std::to_string(i);
    if (i == 3) steps += "; window @window.png 1280x800 1";
  }
  steps +=
      "; key PageUp; wait 0.2; report @back; key PageDown; key PageDown; wait 0.2; report @end";
  run("atrium:1k --size 1280x800 --mode normals --spp 1", steps);
  std::vector<std::string> captions;
  for (int i = 1; i <= 6; ++i) {
    const Json report = json("step" + std::to_string(i));
    EXPECT_EQ(report["lesson"], i);
    EXPECT_EQ(report["texts"]["lesson"].get<std::string>().substr(0, 2), std::to_string(i) + ".");
    captions.push_back(report["texts"]["caption"]);
    EXPECT_GT(captions.back().size(), 80u) << captions.back();
    EXPECT_EQ(report["tab"], i == 6 ? "heap" : "learn");
    // The camera is farther from its target than the atrium is long.
    const Json camera = Json::parse("[" + report["camera"].get<std::string>() + "]");
    EXPECT_GT(std::hypot(camera[0].get<double>() - camera[3].get<double>(),
                         camera[2].get<double>() - camera[5].get<double>()),
              25);
  }
  EXPECT_EQ(json("step6")["heap"].size(), 1u);
  EXPECT_EQ(json("step6")["heap_playing"], true);
  for (const char* key : {"camera", "fly"}) EXPECT_EQ(json("end")[key], json("start")[key]) << key;
  EXPECT_EQ(json("step2")["node"]["depth"], 0);
  EXPECT_PRED2(has, captions[2], "go left");
  EXPECT_EQ(json("step4")["tree"]["visible"], true);
  EXPECT_EQ(json("step5")["node"]["leaf"], true);
  EXPECT_EQ(json("back")["lesson"], 5);
  EXPECT_EQ(json("back")["tab"], "learn");
  EXPECT_TRUE(json("end")["lesson"].is_null());
  // Triangles of both sides are drawn in their colours.
  const render::Image window = picture("window.png");
  EXPECT_GT(count_pixels(window, [](auto c) { return c.b > c.r + 70 && c.b > c.g + 40; }), 5000);
  EXPECT_GT(count_pixels(window,
                         [](auto c) { return c.r > c.b + 90 && c.g > c.b + 20 && c.r > c.g + 30; }),
            5000);
}

TEST_F(Learn, ANodeIsExplained) {
  run("atrium:1k --allocator cfmmalloc --size 1280x800 --mode normals --spp 1",
      "wait built; wait samples 1; key N; wait 0.4; report @root; click Left child; wait 0.3; "
      "report @child; click Parent; wait 0.3; click 300 400; wait 0.3; report @picked; down Shift; "
      "click 300 400; up Shift; wait 0.3; report @leaf");
  const Json root = json("root")["node"], child = json("child")["node"];
  EXPECT_EQ(root["depth"], 0);
  EXPECT_EQ(child["depth"], 1);
  EXPECT_EQ(child["refs"], root["left"]);
  EXPECT_EQ(json("picked")["node"]["depth"], 1);
  EXPECT_EQ(json("leaf")["node"]["leaf"], true);
}

class Traces : public Program {};

TEST_F(Traces, ADroppedTraceIsAHeapMap) {
  write_file(path("program.trace"), alloc::program_trace_file(viewer::trace_of_build()));
  const Json report =
      run("atrium:1k --allocator cfmmalloc --second-allocator cmalloc --mode normals --spp 1 "
          "--size 1280x800",
          "wait built; drop @program.trace; wait recorded; key Space; wait 0.2; click Record "
          "again; wait recorded 2; wait 0.2");
  EXPECT_EQ(report["tab"], "heap");
  ASSERT_EQ(report["heap"].size(), 2u);
  for (const Json& heap : report["heap"]) {
    EXPECT_EQ(heap["scene"], "program");
    EXPECT_EQ(heap["refused"], 0);
    EXPECT_EQ(heap["overlaps"], 0);
  }
  EXPECT_EQ(report["heap"][0]["events"], report["heap"][1]["events"]);
  EXPECT_EQ(report["scene"], "atrium:1k");
}

// A trace is named, and no scene is shown that has nothing to do with it.
TEST_F(Traces, ATraceOnTheCommandLineIsNamed) {
  write_file(path("program.trace"), alloc::program_trace_file(viewer::trace_of_build()));
  const auto r = reports("@program.trace --size 1280x800",
                         "wait recorded; key Space; REPORT; key F6; key B; wait built; REPORT");
  const Json report = r[0], texts = report["texts"];
  EXPECT_TRUE(report["scene"].is_null());
  EXPECT_EQ(texts["name"], "program trace program");
  EXPECT_EQ(texts["shown"].get<std::string>().find("program trace program, 0 to "), 0u);
  EXPECT_EQ(r[1]["scene"], "atrium:10k");
}

TEST_F(Traces, AMissingTraceIsNoUnknownScene) {
  const Json report = run("@none.trace", "wait recorded; wait 0.1");
  EXPECT_PRED2(has, report["messages"], "none.trace: no such file");
  const Outcome picture = view("@none.trace --screenshot @none.png");
  EXPECT_EQ(picture.exit, 2) << picture.err;
  EXPECT_PRED2(has, picture.err, "a program trace has no picture");
}

}  // namespace
}  // namespace heapwood::tests
