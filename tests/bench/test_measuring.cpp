// SPDX-License-Identifier: MIT
// What the commands that measure allocators have in common: help, interruptions, failures, and rows
// that --resume reads.
#include <csignal>
#include <nlohmann/json.hpp>

#include "bench/animate_bench.hpp"
#include "bench/graph_bench.hpp"
#include "bench/program/process.hpp"
#include "bench/replay_bench.hpp"
#include "bench/results/json_fields.hpp"
#include "tests/app/executable.hpp"

namespace heapwood::tests {
namespace {

volatile std::sig_atomic_t requests = 0;
void count_request(int) { requests = requests + 1; }

// timeout(1) signals the process and its group.
TEST(MeasuringDeathTest, ASignalToProcessAndGroupIsOneRequest) {
  const auto raise_twice = [](double min_seconds) {
    bench::install_signal_handlers(count_request, min_seconds);
    std::raise(SIGTERM);
    std::raise(SIGTERM);
    _exit(requests);
  };
  EXPECT_EXIT(raise_twice(1e9), testing::ExitedWithCode(1), "");
  EXPECT_EXIT(raise_twice(0), testing::KilledBySignal(SIGTERM), "");
}

class Measuring : public Executable {};

TEST_F(Measuring, HelpFitsTheTerminal) {
  const std::vector<std::vector<std::string>> words_of{
      {"stress", "--payload", "--touch", "--wait", "sweep", "--lanes", "--probability"},
      {"graph", "--layout", "--phase", "--batch", "--updates", "--strict", "LIST=100K"},
      {"replay", "--window", "--pool", "--dry-run", "--strict", "--resume"},
      {"animate", "--frames", "--trace", "--keep-pool", "--json", "WxH=1280x720"},
      {"host-bench", "--passes", "--smallest"},
      {"trace", "--rays", "--size"},
      {"reproduce", "--minutes", "--full"}};
  for (const std::vector<std::string>& words : words_of) {
    const Outcome outcome = run({words[0], "--help"});
    EXPECT_EQ(outcome.exit, 0) << words[0];
    for (const std::string& word : words)
      EXPECT_NE(outcome.out.find(word), std::string::npos) << words[0] << ' ' << word;
    EXPECT_NE(outcome.out.find("Examples:"), std::string::npos) << words[0];
    EXPECT_EQ(outcome.out.find("--keep-degenerate") == std::string::npos, words[0] != "trace");
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST_F(Measuring, AnInterruptionKeepsWhatWasMeasured) {
  const std::string scene = folder_ / "scene.obj", trace = folder_ / "p.trace",
                    file = folder_ / "out.json";
  write_file(scene, obj_text(100));
  ASSERT_EQ(run({"build", scene, "--device", "cpu", "--record-trace", trace}).exit, 0);
  for (std::vector<std::string> command :
       {std::vector<std::string>{"bench", scene, "--runs", "100000", "--builder", "single"},
        {"stress", "acd", "--payload", "4,8", "--runs", "100000"},
        {"graph", "rgg:200", "--runs", "100000"},
        {"replay", trace, "--runs", "100000"},
        {"animate", "statue~:1k", "--frames", "100000", "--trace", "none"}}) {
    SCOPED_TRACE(command[0]);
    command.insert(command.end(), {"--device", "cpu", "--threads", "2", "--allocators",
                                   "atomic,heapwood", "--json", file});
    Running running(binary_, command);
    running.wait_for_cpu_seconds(0.7);
    running.send(command[0] == "stress" ? SIGINT : SIGTERM);
    const Outcome outcome = running.wait();
    EXPECT_EQ(outcome.exit, 1) << outcome.err;
    EXPECT_NE(outcome.err.find("interrupted; the results so far are "), std::string::npos)
        << outcome.err;
    EXPECT_EQ(outcome.err.find("--resume") == std::string::npos, command[0] == "stress");
    expect_words(outcome.out, {"AtomicMalloc", "Heapwood", "interrupted"});
    EXPECT_EQ(outcome.out.find("nan"), std::string::npos) << outcome.out;
    const nlohmann::json results = nlohmann::json::parse(read_file(file)).at("results");
    ASSERT_EQ(results.size(), 2u);  // stress: of the first point
    EXPECT_NE(results[0].at("reason").get<std::string>().find("interrupted"), std::string::npos);
    for (const char* key : {"runs_ms", "frame_ms", "reset_ms"}) {
      EXPECT_LT(results[0].value(key, nlohmann::json::array()).size(), 100000u) << key;
    }
    EXPECT_FALSE(results[0].contains("overlaps"));  // they are inspected after the runs
  }
}

template <class Row>
void expect_read_back(Row row) {
  row.allocator = "atomic";
  row.frees = alloc::Frees::never;
  row.lower_bound = true;
  row.status = bench::Status::incomplete;
  row.reason = "a reason";
  row.seconds = 0.125;
  const bench::Json written = bench::described(row);
  Row read = bench::read_described<Row>(written);
  read.settings = row.settings;
  EXPECT_EQ(bench::described(read), written);
  bench::Json damaged = written;
  damaged["status"] = "unknown";
  EXPECT_THROW(bench::read_described<Row>(damaged), std::exception);
  damaged.erase("status");
  EXPECT_THROW(bench::read_described<Row>(damaged), std::exception);
}

TEST(MeasuringRows, RowsReadBack) {
  bench::AnimateRow animate;
  animate.frame_ms = {1, 2};
  animate.wrong_tree = true;
  animate.incomplete_frames = 1;
  animate.refused_bytes = 64;
  animate.hashes = {0x0123456789abcdef, 0};
  animate.pools = {{3, {}}};
  expect_read_back(animate);
  bench::GraphRow graph;
  graph.layout = bench::GraphLayout::pages;
  graph.digest = "0";
  graph.phases.resize(2);
  graph.phases[1] = {bench::GraphPhase::mixed, 200, {1, 2, 3}, {4}, 100, 5, 6, 7};
  graph.memory.emplace();
  graph.rounds = {{7, 200, {}}};
  graph.rounds[0].memory.measured = true;
  graph.rounds[0].memory.held_bytes = 4096;
  graph.triangles = 0;
  graph.levels = 3;
  graph.hashes = {1, 2};
  expect_read_back(graph);
  expect_read_back(bench::GraphRow{});
  bench::ReplayRow replay;
  replay.runs_ms = {1};
  replay.refused = 2;
  replay.first_refused_bytes = 64;
  replay.peak_held_bytes = {128};
  replay.samples.resize(2);
  replay.samples[1].event = 5;
  replay.samples[1].pool.live_bytes = 64;
  replay.samples[1].pool.fragmentation.measured = true;
  replay.peak_sample = 1;
  expect_read_back(replay);
  expect_read_back(bench::ReplayRow{});
}

}  // namespace
}  // namespace heapwood::tests
