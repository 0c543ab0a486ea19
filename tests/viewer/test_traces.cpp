// SPDX-License-Identifier: MIT
// Program traces in the heap map.

#include "alloc/recording/trace_file.hpp"
#include "bench/replay_bench.hpp"
#include "tests/viewer/program.hpp"
#include "tests/viewer/recorded.hpp"
#include "viewer/recording.hpp"
#include "viewer/trace_recording.hpp"
#include "workloads/program_trace/trace_summary.hpp"

namespace heapwood::viewer {

namespace {

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
    EXPECT_EQ(sized.record(*replay.allocators.front())->pool_bytes,
              pool_bytes(replay, bench::parse_replay_pools(given == "live:3" ? "3x" : given)[0]))
        << given;
  }
  tests::write_file(file, "HWTRACE\nbroken");
  EXPECT_THROW(TraceRecorder(file, {}, {}, cpu(), 60), Error);
}

}  // namespace

}  // namespace heapwood::viewer

namespace heapwood::tests {

namespace {

class Traces : public Program {};

TEST_F(Traces, ADroppedTraceIsAHeapMap) {
  write_file(path("program.trace"), alloc::program_trace_file(viewer::trace_of_build()));
  const Json report =
      run("atrium:1k --allocator cfmmalloc --beside cmalloc --mode normals --spp 1 --size 1280x800",
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
