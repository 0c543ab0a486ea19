// SPDX-License-Identifier: MIT
// What the commands that measure allocators have in common: help, interruptions, failures, and rows
// that --resume reads.

#include <csignal>
#include <optional>

#include "bench/animate_bench.hpp"
#include "bench/graph_bench.hpp"
#include "bench/program/process.hpp"
#include "bench/replay_bench.hpp"
#include "bench/results/json_fields.hpp"
#include "render/backend.hpp"
#include "simt/device.hpp"
#include "tests/app/executable.hpp"
#include "tests/errors.hpp"
#include "workloads/stress_primitives.hpp"

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
      {""},
      {"list"},
      {"build"},
      {"bench"},
      {"render"},
      {"stress", "--payload", "--touch", "--wait", "sweep", "--lanes", "--probability"},
      {"graph", "--layout", "--phase", "--batch", "--updates", "--strict", "LIST=100K"},
      {"replay", "--window", "--pool", "--dry-run", "--strict", "--resume"},
      {"animate", "--frames", "--trace", "--keep-pool", "--json", "WxH=1280x720"},
      {"host-bench", "--passes", "--smallest"},
      {"trace", "--rays", "--size"},
      {"reproduce", "--minutes", "--full"}};
  for (const std::vector<std::string>& words : words_of) {
    const Outcome outcome = run(words[0] + " --help", 0);
    EXPECT_EQ(outcome.err, "");
    expect_words(outcome.out, words);
    expect_words(outcome.out, {"Examples:"});
    if (words.size() > 1) {
      EXPECT_EQ(outcome.out.find("--keep-degenerate") == outcome.out.npos, words[0] != "trace");
    }
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  }
  EXPECT_EQ(output("--version").rfind("heapwood ", 0), 0u);
}

TEST_F(Measuring, AnInterruptionKeepsWhatWasMeasured) {
  const std::string scene = folder_ / "scene.obj", trace = folder_ / "p.trace",
                    file = folder_ / "out.json";
  write_file(scene, obj_text(100));
  output("build " + scene + " --device cpu --record-trace " + trace);
  for (const std::string& line :
       {"bench " + scene + " --runs 100000", std::string("stress acd --payload 4,8 --runs 100000"),
        std::string("graph rgg:200 --runs 100000"), "replay " + trace + " --runs 100000",
        std::string("animate statue~:1k --frames 100000 --trace none")}) {
    SCOPED_TRACE(line);
    const std::string command = line.substr(0, line.find(' '));
    Running running =
        start(line + " --device cpu --threads 2 --allocators atomic,heapwood --json " + file);
    running.wait_for_cpu_seconds(0.5);
    running.send(command == "stress"  ? SIGINT
                 : command == "graph" ? SIGHUP  // the signal of a closed terminal
                                      : SIGTERM);
    const Outcome outcome = running.wait();
    EXPECT_EQ(outcome.exit, 1) << outcome.err;
    expect_words(outcome.err, {"interrupted; the results so far are "});
    EXPECT_EQ(outcome.err.find("--resume") == std::string::npos, command == "stress");
    expect_words(outcome.out, {"AtomicMalloc", "Heapwood", "interrupted"});
    EXPECT_EQ(outcome.out.find("nan"), std::string::npos) << outcome.out;
    const nlohmann::json report = nlohmann::json::parse(read_file(file)),
                         results = report.at("results");
    EXPECT_EQ(report.at("interrupted"), true);
    ASSERT_EQ(results.size(), 2u);  // stress: the results of its first point
    expect_words(results[0].at("reason").get<std::string>(), {"interrupted"});
    for (const char* key : {"runs_ms", "frame_ms", "reset_ms"}) {
      EXPECT_LT(results[0].value(key, nlohmann::json::array()).size(), 100000u) << key;
    }
    EXPECT_FALSE(results[0].contains("overlaps"));  // overlaps are inspected after the runs
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

namespace heapwood::bench {
namespace {

// Two processes do not measure on one GPU at the same time.

class GpuLocks : public testing::Test {
 protected:
  // Names of this process: other tests run at the same time.
  static ProcessLock lock(const std::string& id, bool waits = false) {
    static const std::string prefix = "test " + std::to_string(getpid()) + " ";
    return lock_gpu("cuda:0", prefix + id, waits);
  }
};

TEST_F(GpuLocks, ThereIsOnePerGpu) {
  std::optional<ProcessLock> first(lock("a"));
  EXPECT_TRUE(lock("b").is_held());
  tests::expect_error(Exit::device, {"cuda:0: another heapwood is measuring", "--wait-for-gpu"},
                      [] { lock("a"); });
  first.reset();
  EXPECT_TRUE(lock("a").is_held());
}

TEST_F(GpuLocks, EndsWithTheProcess) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  lock("a");  // chooses the prefix of lock names before the fork
  const pid_t holder = fork();
  if (holder == 0) {
    const ProcessLock held = lock("a");
    if (write(ready[1], "x", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char x = 0;
  ASSERT_EQ(read(ready[0], &x, 1), 1);
  EXPECT_THROW(lock("a"), Error);
  // The holder is killed when the next one says that it waits.
  const int standard_error = dup(STDERR_FILENO);
  dup2(ready[1], STDERR_FILENO);
  std::string note;
  std::thread killer([&] {
    for (char c = 0; c != '\n' && read(ready[0], &c, 1) == 1;) note += c;
    kill(holder, SIGKILL);
    waitpid(holder, nullptr, 0);
  });
  EXPECT_TRUE(lock("a", true).is_held());
  killer.join();
  dup2(standard_error, STDERR_FILENO);
  close(standard_error);
  tests::expect_words(note, {"note: cuda:0: waiting"});
  for (const int end : ready) close(end);
}

TEST_F(GpuLocks, SurvivesExecv) {
  const auto id = [] { return "execv " + std::to_string(getpid()); };
  constexpr const char* replaced = "HEAPWOOD_TEST_EXECV";
  if (std::getenv(replaced)) {
    EXPECT_FALSE(ProcessLock("gpu:" + id()).is_held());
    EXPECT_TRUE(lock_gpu("cuda:0", id(), false).is_held());
    return;
  }
  const pid_t process = fork();
  if (process == 0) {
    const ProcessLock held = lock_gpu("cuda:0", id(), false);
    setenv(replaced, "1", 1);
    execl("/proc/self/exe", "test", "--gtest_filter=GpuLocks.SurvivesExecv", nullptr);
    _exit(1);
  }
  int status = 1;
  waitpid(process, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(GpuLocks, WaitingEndsOnCtrlC) {
  const ProcessLock held = lock("a");
  simt::interrupt();
  EXPECT_THROW(lock("a", true), Error);
  simt::clear_interrupt();
}

}  // namespace
}  // namespace heapwood::bench

namespace heapwood {
namespace {

// A program without CUDA says so where it is asked to use a GPU.

template <class F>
void expect_absent(std::string_view message, F f) {
  if (simt::has_cuda) GTEST_SKIP() << "built with CUDA";
  tests::expect_error(Exit::device, {message}, f);
}

constexpr simt::DeviceId gpu{simt::DeviceKind::cuda, 0, 0};

TEST(WithoutCuda, NothingIsRendered) {
  expect_absent(
      "rendering on a GPU: this program was built without CUDA; use --device cpu, or rebuild with "
      "a "
      "CUDA compiler: make demo CUDA=on",
      [] { render::backend(gpu); });
}

TEST(WithoutCuda, NoPrimitiveIsMeasured) {
  expect_absent("stress: this program was built without CUDA", [] {
    workloads::PrimitiveJob job;
    job.device = gpu;
    workloads::run_primitive(job);
  });
}

}  // namespace
}  // namespace heapwood
