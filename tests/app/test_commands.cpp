// SPDX-License-Identifier: MIT
// The executable's output and errors.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>
#include <tuple>

#include "tests/app/executable.hpp"

namespace heapwood::tests {
namespace {

using nlohmann::json;

class Commands : public Executable {
 protected:
  void SetUp() override {
    Executable::SetUp();
    scene_ = folder_ / "scene.obj";
    write_file(scene_, obj_text(400));
  }
  // With options that keep a run short.
  std::vector<std::string> bench(std::vector<std::string> more) const {
    more.insert(more.begin(),
                {"bench", scene_, "--device", "cpu", "--threads", "2", "--runs", "2"});
    if (std::find(more.begin(), more.end(), "--builder") == more.end()) {
      more.insert(more.end(), {"--builder", "single"});
    }
    return more;
  }
  std::vector<std::string> build(std::vector<std::string> more) const {
    more.insert(more.begin(),
                {"build", scene_, "--device", "cpu", "--threads", "2", "--runs", "2"});
    return more;
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  std::string scene_;
};

TEST_F(Commands, HelpAndVersionGoToStandardOutput) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--help"},
                                                    {"list", "--help"},
                                                    {"build", "--help"},
                                                    {"bench", "--help"},
                                                    {"render", "--help"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit, 0);
    EXPECT_TRUE(outcome.err.empty());
    EXPECT_TRUE(has(outcome.out, "Examples:"));
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  }
  EXPECT_EQ(run({"--version"}).out.rfind("heapwood ", 0), 0u);
}

TEST_F(Commands, WrongUsage) {
  expect_error({}, 2, {"no command", "list", "build", "bench", "render"});
  expect_error({"frobnicate"}, 2, {"'frobnicate'", "bench"});
  expect_error({"--frobnicate"}, 2, {"unknown option", "--frobnicate"});
  expect_error({"--host-allocator", "tlsf", "nothing"}, 2, {"unknown command 'nothing'"});
  expect_error({"--host-allocator", "tlsf"}, 2, {"no command"});
  expect_error({"--host-allocator", "nonsense", "list"}, 2, {"--host-allocator", "nonsense"});
  expect_error({"--host-trace", "", "list"}, 2, {"--host-trace", "empty"});
  expect_error({"list", "--host-trace", ""}, 2, {"--host-trace", "empty"});
  expect_error({"list", "colours"}, 2, {"colours"});
  expect_error({"stress", "alloc", "--order", "lifo"}, 2,
               {"stress alloc: --order is for lifetimes"});
  expect_error({"stress", "ad", "--probability", "0.25"}, 2, {"--probability is for p"});
  expect_error({"stress", "ad", "--seed", "0"}, 2, {"--seed is for p, mixed"});
  expect_error({"stress", "ad", "--rounds", "2"}, 2, {"--rounds is for alloc, mixed"});
  expect_error({"stress", "nonsense", "--seed", "1"}, 2, {"unknown test 'nonsense'"});
  expect_error({"build"}, 2, {"no scene", "atrium"});
  expect_error({"bench"}, 2, {"no scene", "atrium"});
  expect_error({"render"}, 2, {"no scene"});
  expect_error({"render", scene_}, 2, {"-o"});
  expect_error(build({"--builder", "fast"}), 2, {"'fast'", "single or per-level"});
  expect_error(build({"--builder", "per-level", "--host-allocator", "nonsense"}), 2,
               {"nonsense", "tlsf"});
  expect_error(build({"--allocator", "nonsense"}), 2, {"'nonsense'", "atomic", "cfmmalloc"});
  expect_error(build({"--allocator", "fdg"}), 2, {"fdg", "one by one", "list allocators"});
  expect_error({"render", scene_, "-o", folder_ / "a.png", "--allocator", "fdg"}, 2,
               {"fdg", "list allocators"});
  expect_error(bench({"--allocators", "atomic,nonsense"}), 2, {"'nonsense'", "atomic"});
  expect_error(build({"--runs", "0"}), 2, {"--runs"});
  expect_error(build({"--runs", "many"}), 2, {"--runs"});
  expect_error(build({"--pool", "much"}), 2, {"--pool", "'much'"});
  expect_error(build({"--refs", "fancy"}), 2, {"--refs", "'fancy'"});
  expect_error(build({"--prefer", "speed"}), 2,
               {"--prefer", "'speed'", "balanced, build or trace"});
  expect_error(build({"--nonsense"}), 2, {"--nonsense"});
  expect_error(bench({"--format", "xml"}), 2, {"--format"});
  expect_error(bench({"--resume"}), 2, {"--json"});
  expect_error({"build", "no-such-scene"}, 2, {"no-such-scene"});
  expect_error({"bench", "no-such-scene"}, 2, {"no-such-scene"});
  for (const char* folder : {"copy", "other"}) std::filesystem::create_directory(folder_ / folder);
  std::filesystem::copy_file(scene_, folder_ / "copy/scene.obj");
  write_file(folder_ / "other/scene.obj", obj_text(3));
  expect_error({"bench", folder_ / "other/scene.obj", scene_, folder_ / "copy/scene.obj"}, 2,
               {"same name and contents"});
  expect_error({"build", scene_, "--device", "toaster"}, 2, {"toaster"});
  expect_error({"render", scene_, "-o", folder_ / "a.png", "--camera", "1,2,3"}, 2, {"camera"});
  expect_error({"render", scene_, "-o", folder_ / "a.png", "--size", "big"}, 2, {"'big'"});
  expect_error({"render", scene_, "-o", folder_ / "a.png", "--mode", "cubist"}, 2, {"cubist"});
  expect_error({"trace"}, 2, {"no scene"});
  expect_error({"trace", scene_, "--rays", "primary,secondary"}, 2, {"secondary"});
  expect_error({"trace", scene_, "--size", "100x30"}, 2, {"100x30", "multiple of 8"});
}

TEST_F(Commands, UnreadableScenes) {
  expect_error({"build", folder_ / "none.obj"}, 3, {"none.obj"});
  expect_error({"bench", scene_, folder_ / "none.ply"}, 3, {"none.ply"});
  write_file(folder_ / "bad.obj", "v 0 0 0\nf 1 2 3\n");
  expect_error({"build", folder_ / "bad.obj", "--device", "cpu"}, 3, {"bad.obj"});
}

TEST_F(Commands, NoSuchDevice) {
  expect_error({"build", scene_, "--device", "cuda:77"}, 4, {"cuda:77"});
  expect_error({"bench", scene_, "--device", "cuda:all"}, 2,
               {"one process per GPU", "--device cuda:N --shard I/N", "heapwood merge"});
}

TEST_F(Commands, AutoReportsOnceWhyThereIsNoGpu) {
  const Outcome outcome = run({"build", scene_, "--runs", "1"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  if (has(outcome.out, "cuda:")) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(outcome.err.rfind("heapwood: note: running on the CPU: ", 0), 0u) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST_F(Commands, ListShowsEverything) {
  const Outcome outcome = run({"list"});
  EXPECT_EQ(outcome.exit, 0);
  for (const char* word : {"atomic", "cfmmalloc", "RegEff", "atrium", "cpu", "toy"})
    EXPECT_TRUE(has(outcome.out, word)) << word;
  const json all = json::parse(run({"list", "--json"}).out);
  EXPECT_EQ(all.at("allocators").at(0).at("id"), "atomic");
  EXPECT_TRUE(all.at("allocators").at(0).at("lower_bound"));
  EXPECT_EQ(all.at("devices").back().at("key"), "cpu");
  for (const json& device : all.at("devices"))
    EXPECT_TRUE(device.at("usable") || !device.at("reason").empty());
  const json scenes = json::parse(run({"list", "scenes", "--json"}).out);
  EXPECT_TRUE(scenes.contains("scenes") && !scenes.contains("devices"));
}

TEST_F(Commands, BuildTellsTimeTreeMemoryAndRequests) {
  const std::string report = folder_ / "build.json";
  const Outcome outcome = run(build({"--json", report, "--validate"}));
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* word : {"400 triangles", "Heapwood", "median of 2", "SAH cost",
                           "refs per triangle", "hash", "pool", "allocations", "sigma", "valid"}) {
    EXPECT_TRUE(has(outcome.out, word)) << word << "\n" << outcome.out;
  }
  EXPECT_FALSE(has(outcome.out, "nan"));
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 200u) << line;
  const json result = json::parse(read_file(report)).at("results").at(0);
  EXPECT_EQ(result.at("runs_ms").size(), 2u);
  EXPECT_EQ(result.at("allocations").at("count"), result.at("allocations").at("deallocations"));
}

TEST_F(Commands, ZeroAreaTrianglesAreDroppedUnlessAsked) {
  write_file(scene_, obj_text(50) + "f 1 1 2\nf 4 4 4\n");
  EXPECT_TRUE(has(run(build({})).out, "50 triangles (2 of zero area dropped)"));
  EXPECT_TRUE(has(run(build({"--keep-degenerate"})).out, "52 triangles,"));
}

TEST_F(Commands, ASmallPoolGivesAnIncompleteTreeAndSaysWhy) {
  write_file(scene_, obj_text(5000));
  const Outcome outcome = run(build({"--pool", "64K", "--validate"}));
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "INCOMPLETE")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "valid"));
  for (const char* word : {"heapwood: warning: ", "exhausted", "requested", "used", "free",
                           "largest free region", "--pool auto"}) {
    EXPECT_TRUE(has(outcome.err, word)) << word << "\n" << outcome.err;
  }
  expect_error(build({"--pool", "64K", "--strict"}), 5, {"exhausted", "requested", "--pool auto"});
  EXPECT_EQ(run(build({"--pool", "auto", "--strict"})).exit, 0);
}

TEST_F(Commands, BenchPrintsTheTable) {
  const Outcome outcome = run(bench({}));
  ASSERT_EQ(outcome.exit, 0) << outcome.err << outcome.out;
  EXPECT_EQ(outcome.err, "");
  for (const char* word :
       {"triangles", "refs per triangle", "allocations", "mean size", "sigma", "AtomicMalloc *",
        "slowdown", "CFMMalloc", "external", "peak bytes in use", "device:", "method:"}) {
    EXPECT_TRUE(has(outcome.out, word)) << word << "\n" << outcome.out;
  }
  EXPECT_FALSE(has(outcome.out, "nan"));
}

TEST_F(Commands, NothingMeasuredIsAFailure) {
  const std::string trace = folder_ / "x.trace";
  const Outcome outcome = run(bench({"--allocators", "fdg"}));
  EXPECT_EQ(outcome.exit, 1) << outcome.out;
  EXPECT_TRUE(has(outcome.err, "nothing was measured")) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "skipped")) << outcome.out;
  expect_error({"build", scene_, "--device", "cpu", "--pool", "live:1e6"}, 1, {"cannot allocate"});
  write_file(scene_, obj_text(5000));
  expect_error({"build", scene_, "--device", "cpu", "--pool", "64K", "--record-trace", trace}, 1,
               {"no request succeeded", "--pool auto"});
  EXPECT_FALSE(std::filesystem::exists(trace));
}

TEST_F(Commands, AllocatorsOfAnotherTableAreIncluded) {
  const json all = json::parse(run({"list", "allocators", "--json"}).out);
  const std::string id = all.at("allocators").back().at("id"),
                    label = all.at("allocators").back().at("label");
  EXPECT_TRUE(has(id, "toy"));
  EXPECT_TRUE(has(run(bench({"--allocators", "atomic," + id})).out, label));
}

TEST_F(Commands, BenchFormats) {
  const std::vector<std::string> two{"--allocators", "atomic,cfmmalloc", "--format"};
  const auto with = [&](const char* format) {
    std::vector<std::string> more = two;
    more.push_back(format);
    return run(bench(more)).out;
  };
  const std::string csv = with("csv");
  EXPECT_EQ(csv.rfind("scene,triangles,allocator,label,", 0), 0u) << csv;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
  EXPECT_TRUE(has(with("markdown"), "| scene | scene |\n| :--- | ---: |"));
  const json report = json::parse(with("json"));
  EXPECT_EQ(report.at("schema"), "heapwood.bench/1");
  EXPECT_EQ(report.at("results").size(), 2u);
}

// `--builder both` is the default of bench.
TEST_F(Commands, BenchComparesTheBuilders) {
  const std::string report = folder_ / "out.json";
  const std::vector<std::string> both =
      bench({"--allocators", "atomic", "--builder", "both", "--json", report});
  const Outcome outcome = run(both);
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  for (const char* word : {"AtomicMalloc *", "Builders:", "per level", "launches", "host share",
                           "peak bytes in use"}) {
    EXPECT_TRUE(has(outcome.out, word)) << word << "\n" << outcome.out;
  }
  const json results = json::parse(read_file(report)).at("results");
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].at("builder"), "single-kernel");
  EXPECT_EQ(results[1].at("builder"), "per-level");
  EXPECT_EQ(results[1].at("allocator"), "tlsf");
  EXPECT_EQ(results[1].at("tree").at("hash"), results[0].at("tree").at("hash"));
  EXPECT_EQ(results[1].at("slowdown_over"), "atomic");
  EXPECT_GE(results[1].at("per_level").at("launches"),
            3 * results[1].at("per_level").at("levels").get<unsigned>());
  std::vector<std::string> again = both;
  again.emplace_back("--resume");
  EXPECT_TRUE(has(run(again).err, "2 of 2 results reused"));
  // The per-level builder alone, without a workspace or pool.
  const Outcome alone =
      run(bench({"--builder", "per-level", "--host-allocator", "segfit", "--refs", "ids"}));
  ASSERT_EQ(alone.exit, 0) << alone.err;
  EXPECT_TRUE(has(alone.out, "SegFit")) << alone.out;
  EXPECT_FALSE(has(alone.out, "AtomicMalloc")) << alone.out;
}

TEST_F(Commands, BuildsAndRendersPerLevel) {
  const Outcome outcome = run(build({"--builder", "per-level", "--validate"}));
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  for (const char* word :
       {"per level with TLSF", "host allocator", "launches", "The tree is valid"}) {
    EXPECT_TRUE(has(outcome.out, word)) << word << "\n" << outcome.out;
  }
  const std::vector<std::string> camera{"--size",   "32x24", "--spp",    "1",
                                        "--device", "cpu",   "--camera", "-9,3,30,8,6,5,40"};
  std::string pictures[2];
  for (const char* builder : {"single", "per-level"}) {
    std::string& picture = pictures[builder == std::string("single") ? 0 : 1];
    std::vector<std::string> arguments{"render",          scene_,      "-o",
                                       folder_ / "a.png", "--builder", builder};
    arguments.insert(arguments.end(), camera.begin(), camera.end());
    ASSERT_EQ(run(arguments).exit, 0);
    picture = read_file(folder_ / "a.png");
  }
  EXPECT_TRUE(pictures[0] == pictures[1]);
}

TEST_F(Commands, UnwritableOutputIsReportedBeforeMeasuring) {
  // These runs would take minutes.
  const std::vector<std::string> slow{"bench", scene_, "--runs", "100000", "--json"};
  for (const auto& [file, text] : {std::pair("/no/such/folder/out.json", "cannot write"),
                                   std::pair(folder_.path().c_str(), "directory")}) {
    std::vector<std::string> command = slow;
    command.push_back(file);
    expect_error(command, 1, {file, text});
  }
  expect_error({"render", scene_, "-o", "/no/such/folder/a.png"}, 1, {"/no/such/folder/a.png"});
}

TEST_F(Commands, AFullDiskIsReported) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP();
  expect_error(bench({"--allocators", "atomic", "--json", "/dev/full"}), 1,
               {"/dev/full", "No space left"});
  const Outcome outcome = Running(binary_, bench({"--allocators", "atomic"}), "/dev/full").wait();
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_TRUE(has(outcome.err, "standard output")) << outcome.err;
  for (const char* option : {"--help", "--version"}) {
    const Outcome help = Running(binary_, {option}, "/dev/full").wait();
    EXPECT_EQ(help.exit, 1) << option;
    EXPECT_TRUE(has(help.err, "standard output")) << help.err;
  }
  // More than stdio's buffer, so that printing itself fails.
  const Outcome more = Running(binary_, {"list"}, "/dev/full").wait();
  EXPECT_EQ(more.exit, 1);
  EXPECT_TRUE(has(more.err, "standard output")) << more.err;
}

// What was measured is printed, whatever the file.
TEST_F(Commands, TablesArePrintedIfTheFileCannotBeWritten) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP();
  const std::string results = folder_ / "results.json";
  ASSERT_EQ(run(build({"--json", results})).exit, 0);
  const std::vector<std::string> cpu{"--device", "cpu", "--threads", "2", "--runs", "1"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), cpu.begin(), cpu.end());
    return words;
  };
  const std::pair<std::vector<std::string>, const char*> commands[] = {
      {build({"--json", "/dev/full"}), "400 triangles"},
      {with({"build", scene_, "--profile", "/dev/full"}), "allocate"},
      {with({"trace", scene_, "--size", "64x32", "--json", "/dev/full"}), "primary"},
      {{"host-bench", "--allocators", "tlsf", "--steps", "100", "--slots", "10", "--largest", "64K",
        "--device", "cpu", "--json", "/dev/full"},
       "TLSF"},
      {{"compare", results, results, "--json", "/dev/full"}, "SAME"}};
  for (const auto& [command, text] : commands) {
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.exit, 1) << command[0];
    EXPECT_TRUE(has(outcome.err, "No space left")) << outcome.err;
    EXPECT_TRUE(has(outcome.out, text)) << command[0] << outcome.out;
  }
}

TEST_F(Commands, ResumeMeasuresOnlyWhatIsMissing) {
  const std::string report = folder_ / "out.json";
  ASSERT_EQ(run(bench({"--allocators", "atomic", "--json", report})).exit, 0);
  json first = json::parse(read_file(report));
  // A mark shows whether the result was reused or measured again.
  first["results"][0]["runs_ms"] = {12345678.5, 12345678.5};
  write_file(report, first.dump());
  const Outcome outcome =
      run(bench({"--allocators", "atomic,cfmmalloc", "--json", report, "--resume"}));
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "1 of 2 results reused")) << outcome.err;
  json second = json::parse(read_file(report));
  ASSERT_EQ(second.at("results").size(), 2u);
  EXPECT_EQ(second["results"][0]["median_ms"], 12345678.5);
  EXPECT_EQ(second["results"][1]["allocator"], "cfmmalloc");
  EXPECT_LT(second["results"][1]["slowdown"], 1.0);
  // Other settings: measured again; the earlier results stay in the file.
  ASSERT_EQ(
      run(bench({"--allocators", "atomic", "--refs", "ids", "--json", report, "--resume"})).exit,
      0);
  const json third = json::parse(read_file(report));
  EXPECT_EQ(third.at("results").size(), 3u);
  write_file(report, "not json");
  expect_error(bench({"--json", report, "--resume"}), 1, {report, "line 1: not valid JSON"});
  write_file(report, "{}");
  expect_error(bench({"--json", report, "--resume"}), 1, {report, "heapwood.bench/1"});
}

TEST_F(Commands, CtrlCKeepsResults) {
  const std::string report = folder_ / "out.json", large = folder_ / "large.obj";
  write_file(scene_, obj_text(10));
  write_file(large, obj_text(20000));
  // The first scene is written as soon as it is done; the second would take minutes.
  Running running(binary_,
                  {"bench", scene_, large, "--device", "cpu", "--threads", "1", "--allocators",
                   "atomic,cfmmalloc", "--builder", "single", "--runs", "300", "--json", report});
  while (!running.ended() && !std::filesystem::exists(report))
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  running.wait_for_cpu_seconds(running.cpu_seconds() + 0.3);
  running.send(SIGINT);
  const Outcome outcome = running.wait();
  EXPECT_EQ(outcome.exit, 1) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "interrupted")) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "AtomicMalloc *")) << outcome.out;
  EXPECT_FALSE(has(outcome.out, "nan"));
  const json file = json::parse(read_file(report));
  EXPECT_EQ(file.at("interrupted"), true);
  EXPECT_EQ(file.at("remaining_scenes"), 1);
  expect_error({"merge", "--strict", folder_ / "all.json", report}, 1, {"missing: 1 scene;"});
  const json results = file.at("results");
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[0].at("status"), "ok");
  EXPECT_EQ(results[0].at("runs_ms").size(), 300u);
  EXPECT_LT(results[2].at("runs_ms").size(), 300u);
}

TEST_F(Commands, TraceCountsHitsAndReadsTheCameraBeside) {
  const std::string report = folder_ / "trace.json";
  const std::vector<std::string> trace{"trace", scene_,     "--size", "64x48",  "--runs",
                                       "2",     "--device", "cpu",    "--json", report};
  std::vector<std::string> given = trace;
  given.insert(given.end(), {"--camera", "-9,3,30,8,6,5,40"});
  const Outcome outcome = run(given);
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  for (const char* word :
       {"primary", "diffuse", "Mrays/s", "3,072", "first ray", "-9,3,30,8,6,5,40"}) {
    EXPECT_TRUE(has(outcome.out, word)) << outcome.out;
  }
  const json first = json::parse(read_file(report));
  EXPECT_EQ(first.at("schema"), "heapwood.trace/1");
  ASSERT_EQ(first.at("results").size(), 2u);
  EXPECT_EQ(first.at("results")[0].at("rays"), 3072);
  EXPECT_EQ(first.at("results")[0].at("hits"), first.at("results")[1].at("rays"));
  EXPECT_EQ(first.at("results")[0].at("runs_ms").size(), 2u);
  EXPECT_GT(first.at("results")[0].at("steps").at("inner"), 0);
  const json& first_ray = first.at("first_ray");
  for (const char* part : {"build", "records"}) {
    EXPECT_EQ(first_ray.at(std::string(part) + "_runs_ms").size(), 2u);
    for (const double ms : first_ray.at(std::string(part) + "_runs_ms")) EXPECT_GT(ms, 0);
  }
  EXPECT_EQ(first.at("allocator"), "heapwood");
  EXPECT_EQ(first.at("settings").at("runs"), 2);
  EXPECT_EQ(first.at("settings").at("prefer"), "balanced");
  EXPECT_FALSE(first_ray.contains("order_ms")) << "trees are not ordered for CPU threads";
  EXPECT_DOUBLE_EQ(first_ray.at("ms"), first_ray.at("build_median_ms").get<double>() +
                                           first_ray.at("records_median_ms").get<double>());

  const std::string beside = std::filesystem::path(scene_).replace_extension(".camera").string();
  write_file(beside, "# from the door\n-9,3,30,8,6,5,40 y\n");
  ASSERT_EQ(run(trace).exit, 0);
  const json second = json::parse(read_file(report));
  EXPECT_EQ(second.at("camera"), first.at("camera"));
  EXPECT_EQ(second.at("results")[0].at("hits"), first.at("results")[0].at("hits"));
  // The form printed by render and trace and copied by the viewer.
  for (const char* line :
       {"-9,3,30,8,6,5,40 z", "-9,3,30,8,6,5,40 --up z # printed",
        "--camera -9,3,30,8,6,5,40 --up z", "  camera   -9,3,30,8,6,5,40 --up z\r\n"}) {
    write_file(beside, line);
    ASSERT_EQ(run(trace).exit, 0) << line;
    const json again = json::parse(read_file(report));
    EXPECT_EQ(again.at("camera"), "-9,3,30,8,6,5,40") << line;
    EXPECT_EQ(again.at("up"), "z") << line;
  }
  for (const char* broken : {"1,2,3 y\n", "-9,3,30,8,6,5,40 --up\n", "-9,3,30,8,6,5,40 --up w\n",
                             "-9,3,30,8,6,5,40 w\n", "-9,3,30,8,6,5,40 y more\n", "# nothing\n"}) {
    write_file(beside, broken);
    expect_error(trace, 3, {".camera"});
  }
}

// The printed camera renders the same picture, also if it was chosen automatically.
TEST_F(Commands, ThePrintedCameraMakesTheSamePicture) {
  const auto picture = [&](const std::vector<std::string>& more) {
    std::vector<std::string> command{"render", scene_,  "-o", folder_ / "a.png", "--size",
                                     "64x48",  "--spp", "1",  "--device",        "cpu"};
    command.insert(command.end(), more.begin(), more.end());
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    const std::size_t line = outcome.out.find("camera   ");
    std::istringstream words(outcome.out.substr(line));
    std::string label, numbers, option, up;
    words >> label >> numbers >> option >> up;
    return std::tuple{read_file(folder_ / "a.png"), numbers, option + up};
  };
  const auto first = picture({"--up", "z"});
  EXPECT_EQ(std::get<2>(first), "--upz");
  EXPECT_EQ(picture({"--camera", std::get<1>(first), "--up", "z"}), first);
  write_file(std::filesystem::path(scene_).replace_extension(".camera"),
             std::get<1>(first) + " --up z\n");
  EXPECT_EQ(picture({}), first);
}

TEST_F(Commands, WarnsWhenNothingIsInView) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"render", scene_, "-o", folder_ / "a.png", "--size", "64x48",
                                 "--spp", "1"},
        {"trace", scene_, "--size", "64x48", "--runs", "1"}}) {
    std::vector<std::string> away = command;
    away.insert(away.end(), {"--device", "cpu", "--camera", "-9,3,30,-10,3,60,40"});
    const Outcome outcome = run(away);
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_EQ(outcome.err.rfind("heapwood: warning: ", 0), 0u) << outcome.err;
    EXPECT_TRUE(has(outcome.err, "sees nothing of the scene")) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

// Copies of one axis-aligned triangle: no plane separates them, so that they end in one leaf.
TEST_F(Commands, WarnsOfALargeLeafOncePerScene) {
  std::string copies = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
  for (int i = 0; i < 1500; ++i) copies += "f 1 2 3\n";
  write_file(scene_, copies);
  const std::string small = folder_ / "small.obj";
  write_file(small, obj_text(50));
  for (const std::vector<std::string>& command :
       {build({}),
        bench({small, "--allocators", "atomic,cfmmalloc"}),
        {"trace", scene_, "--device", "cpu", "--size", "64x48", "--runs", "1"},
        {"render", scene_, "-o", folder_ / "a.png", "--device", "cpu", "--size", "64x48", "--spp",
         "1"}}) {
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_EQ(outcome.err.rfind("heapwood: warning: scene: the largest leaf has 1,500 refs", 0), 0u)
        << outcome.err;
    EXPECT_NE(outcome.err.find("lowers its cost, or the tree has reached its limit of refs;"),
              std::string::npos)
        << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

TEST_F(Commands, CsvTellsFilesOfOneNameApart) {
  const std::string other = folder_ / "other/scene.obj";
  std::filesystem::create_directory(folder_ / "other");
  write_file(other, obj_text(300));
  const Outcome outcome = run(bench({other, "--allocators", "atomic", "--format", "csv"}));
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  std::string head, first, second;
  std::getline(lines, head);
  std::getline(lines, first);
  std::getline(lines, second);
  const auto last = [](const std::string& line) { return line.substr(line.rfind(',') + 1); };
  EXPECT_EQ(head.substr(0, head.find(',')), "scene");
  EXPECT_EQ(last(head), "source");
  EXPECT_EQ(last(first), scene_);
  EXPECT_EQ(last(second), other);
}

// ctest passes all variables of tests/CMakeLists.txt to a test.
TEST_F(Commands, TestsGetEveryVariable) { EXPECT_NE(std::getenv("HEAPWOOD_SHARE_GPU"), nullptr); }

TEST_F(Commands, RenderWritesAPicture) {
  const std::string picture = folder_ / "a.png";
  const Outcome outcome = run({"render", scene_, "-o", picture, "--size", "64x48", "--spp", "1",
                               "--device", "cpu", "--camera", "-9,3,30,8,6,5,40"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(read_file(picture).substr(1, 3), "PNG");
  for (const char* word : {"build", "render", "64x48", "-9,3,30,8,6,5,40", "a.png"})
    EXPECT_TRUE(has(outcome.out, word)) << outcome.out;
}

}  // namespace
}  // namespace heapwood::tests
