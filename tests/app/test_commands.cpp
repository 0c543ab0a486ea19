// SPDX-License-Identifier: MIT
// The executable's output and errors.
#include <algorithm>
#include <tuple>

#include "tests/app/executable.hpp"

namespace heapwood::tests {

// Wrong command lines: the exit code, and one line that names the cause. Notes about others.

namespace {

struct RefusedCase {
  int exit = 0;
  std::string arguments;
  std::vector<std::string> words;
};

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t begin = 0; (begin = text.find(what, begin)) != text.npos; begin += by.size())
    text.replace(begin, what.size(), by);
  return text;
}

// The cases of refused.txt, which explains the format.
std::vector<RefusedCase> refused_cases(const std::string& folder) {
  std::vector<RefusedCase> cases;
  std::istringstream table(read_file(HEAPWOOD_SOURCE_DIR "/tests/app/refused.txt"));
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line[0] == '#') continue;
    line = replaced(line, "$D", folder);
    const std::size_t first = line.find('|'), second = line.find('|', first + 1);
    const std::string arguments = trimmed(line.substr(first + 1, second - first - 1)),
                      words = trimmed(line.substr(second + 1));
    const std::size_t begin = arguments.find('{'), end = arguments.find('}');
    std::istringstream choices(
        begin == arguments.npos ? "-" : arguments.substr(begin + 1, end - begin - 1));
    for (std::string choice; choices >> choice;) {
      RefusedCase one{std::stoi(line), arguments, {}};
      if (begin != arguments.npos) one.arguments.replace(begin, end + 1 - begin, choice);
      std::istringstream parts(replaced(words, "$1", choice));
      for (std::string word; std::getline(parts, word, ';');) one.words.push_back(trimmed(word));
      cases.push_back(one);
    }
  }
  return cases;
}

class Refused : public Executable {};

TEST_F(Refused, EachIsOneLineThatNamesTheCause) {
  const std::string triangle = "v 0 0 0\nv 1 0 0\nv 2 0 0\n";
  for (const char* name : {"other", "copy"}) std::filesystem::create_directory(folder_ / name);
  folder_.write("scene.obj", obj_text(400));
  folder_.write("copy/scene.obj", obj_text(400));
  folder_.write("other/scene.obj", obj_text(3));
  folder_.write("bad.obj", "v 0 0 0\nf 1 2 3\n");
  folder_.write("flat.obj", triangle + "f 1 2 3\nf 1 1 2\n");
  for (const char* name : {"kept.jpg", "kept.mtl", "kept"}) folder_.write(name, "kept");
  folder_.write("requests.csv", "allocate,1,x\n");
  folder_.write("flight.txt", "0 -9 3 30 8 6 5 40\n2 9 3 30 8 6 5 50\n");
  folder_.write("short.txt", "0 1 2 3 4 5 6 40\n1 2 3\n");
  folder_.write("meeting.txt", "0 -1 0 0 0 0 0 40\n2 1 0 0 0 0 0 40\n");
  folder_.write("long.txt", "0 0 0 0 1 0 0 40\n900000 1 0 0 2 0 0 40\n");
  ASSERT_EQ(run("build statue:1k --device cpu --record-trace @build.trace").exit, 0);
  for (const RefusedCase& one : refused_cases(folder_.path().string())) {
    SCOPED_TRACE("heapwood " + one.arguments);
    expect_error(one.arguments, one.exit, one.words);
  }
  EXPECT_EQ(read_file(folder_ / "kept.jpg") + read_file(folder_ / "kept"), "keptkept");
  for (const char* name : {"a.json", "a.trace", "a.png", "f_00.png"})
    EXPECT_FALSE(std::filesystem::exists(folder_ / name)) << name;
}

class Messages : public SceneCommands {};

TEST_F(Messages, AFileMayBeNamedLikeAScene) {
  const std::string name = "statue:2k.obj";
  write_file(folder_ / name, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
  const Outcome outcome = shell("$H build " + name + " --device cpu --runs 1");
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  expect_words(outcome.out, {"1 triangle"});
  EXPECT_EQ(outcome.out.find("1 triangles"), outcome.out.npos);
}

// The note that there is no GPU comes only when there is something to run.
TEST_F(Messages, AnErrorOfTheInputIsTheOnlyLine) {
  write_file(scene_, "f 1 2 3\n");
  for (const char* command : {"build @scene.obj", "bench @scene.obj", "render @scene.obj -o @a.png",
                              "trace @scene.obj"}) {
    const Outcome outcome = run(command, 3);
    EXPECT_EQ(outcome.err.rfind("heapwood: error: ", 0), 0u) << outcome.err;
  }
}

class Commands : public SceneCommands {
 protected:
  // `bench` with options that keep a run short.
  static std::string bench(const std::string& more) {
    return "bench @scene.obj --device cpu --threads 2 --runs 2 " + more;
  }
  static std::string build(const std::string& more) {
    return "build @scene.obj --device cpu --threads 2 --runs 2 " + more;
  }
};

TEST_F(Commands, AutoReportsOnceWhyThereIsNoGpu) {
  const Outcome outcome = run("build " + scene_ + " --runs 1", 0);
  if (has(outcome.out, "cuda:")) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(outcome.err.rfind("heapwood: note: running on the CPU: ", 0), 0u) << outcome.err;
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
}

TEST_F(Commands, ListShowsEverything) {
  expect_words(output("list"), {"atomic", "cfmmalloc", "RegEff", "atrium", "cpu", "toy"});
  const json all = json::parse(run("list --json").out);
  EXPECT_EQ(all.at("allocators").at(0).at("id"), "atomic");
  EXPECT_TRUE(all.at("allocators").at(0).at("lower_bound"));
  EXPECT_EQ(all.at("devices").back().at("key"), "cpu");
  for (const json& device : all.at("devices"))
    EXPECT_TRUE(device.at("usable") || !device.at("reason").empty());
  const json scenes = json::parse(run("list scenes --json").out);
  EXPECT_TRUE(scenes.contains("scenes") && !scenes.contains("devices"));
}

TEST_F(Commands, BuildTellsTimeTreeMemoryAndRequests) {
  const std::string report = folder_ / "build.json";
  const Outcome outcome = run(build("--json " + report + " --validate"), 0);
  EXPECT_EQ(outcome.err, "");
  expect_words(outcome.out, {"200 triangles", "Heapwood", "median of 2", "SAH cost",
                             "refs per triangle", "hash", "pool", "allocations", "sigma", "valid"});
  EXPECT_FALSE(has(outcome.out, "nan"));
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 200u) << line;
  const json result = json::parse(read_file(report)).at("results").at(0);
  EXPECT_EQ(result.at("runs_ms").size(), 2u);
  EXPECT_EQ(result.at("allocations").at("count"), result.at("allocations").at("deallocations"));
}

TEST_F(Commands, ZeroAreaTrianglesAreDroppedUnlessAsked) {
  write_file(scene_, obj_text(50) + "f 1 1 2\nf 4 4 4\n");
  EXPECT_TRUE(has(run(build("")).out, "50 triangles (2 of zero area dropped)"));
  EXPECT_TRUE(has(run(build("--keep-degenerate")).out, "52 triangles,"));
}

TEST_F(Commands, ASmallPoolGivesAnIncompleteTreeAndSaysWhy) {
  write_file(scene_, obj_text(5000));
  const Outcome outcome = run(build("--pool 64K --validate"), 0);
  expect_words(outcome.out, {"INCOMPLETE", "valid"});
  expect_words(outcome.err, {"heapwood: warning: ", "exhausted", "requested", "used", "free",
                             "largest free region", "--pool auto"});
  expect_error(build("--pool 64K --strict"), 5, {"exhausted", "requested", "--pool auto"});
  output(build("--pool auto --strict"));
}

TEST_F(Commands, BenchPrintsTheTable) {
  const Outcome outcome = run(bench(""), 0);
  EXPECT_EQ(outcome.err, "");
  expect_words(outcome.out, {"triangles", "refs per triangle", "allocations", "mean size", "sigma",
                             "AtomicMalloc *", "slowdown", "CFMMalloc", "external",
                             "peak bytes in use", "device:", "method:"});
  EXPECT_FALSE(has(outcome.out, "nan"));
}

TEST_F(Commands, NothingMeasuredIsAFailure) {
  const Outcome outcome = run(bench("--allocators fdg"), 1);
  EXPECT_TRUE(has(outcome.err, "nothing was measured")) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "skipped")) << outcome.out;
}

TEST_F(Commands, AllocatorsOfAnotherTableAreIncluded) {
  const json all = json::parse(run("list allocators --json").out);
  const std::string id = all.at("allocators").back().at("id"),
                    label = all.at("allocators").back().at("label");
  EXPECT_TRUE(has(id, "toy"));
  EXPECT_TRUE(has(run(bench("--allocators atomic," + id)).out, label));
}

TEST_F(Commands, BenchPrintsEveryFormat) {
  const auto with = [&](const std::string& format) {
    return output(bench("--allocators atomic,cfmmalloc --format " + format));
  };
  const std::string csv = with("csv");
  EXPECT_EQ(csv.rfind("scene,triangles,allocator,label,", 0), 0u) << csv;
  EXPECT_EQ(std::ranges::count(csv, '\n'), 3);
  EXPECT_TRUE(has(with("markdown"), "| scene | scene |\n| :--- | ---: |"));
  const json report = json::parse(with("json"));
  EXPECT_EQ(report.at("schema"), "heapwood.bench/1");
  EXPECT_EQ(report.at("results").size(), 2u);
}

TEST_F(Commands, AFullDiskIsReported) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP();
  expect_error(bench("--allocators atomic --json /dev/full"), 1, {"/dev/full", "No space left"});
  // A list exceeds stdio's buffer, so printing itself fails.
  for (const std::string& command : {bench("--allocators atomic"), std::string("--help"),
                                     std::string("--version"), std::string("list")}) {
    const Outcome outcome = start(command, "/dev/full").wait();
    EXPECT_EQ(outcome.exit, 1) << command;
    expect_words(outcome.err, {"standard output"});
  }
}

// The results are printed even if the file cannot be written.
TEST_F(Commands, TablesArePrintedIfTheFileCannotBeWritten) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP();
  output(build("--json @results.json"));
  const std::pair<std::string, const char*> commands[] = {
      {build("--json /dev/full"), "200 triangles"},
      {"build @scene.obj --profile /dev/full --device cpu --runs 1", "allocate"},
      {"trace @scene.obj --size 64x32 --device cpu --runs 1 --json /dev/full", "primary"},
      {"host-bench --allocators tlsf --steps 100 --slots 10 --largest 64K --device cpu "
       "--json /dev/full",
       "TLSF"},
      {"compare @results.json @results.json --json /dev/full", "SAME"}};
  for (const auto& [command, text] : commands) {
    const Outcome outcome = run(command, 1);
    EXPECT_TRUE(has(outcome.err, "No space left")) << outcome.err;
    EXPECT_TRUE(has(outcome.out, text)) << command << outcome.out;
  }
}

TEST_F(Commands, ResumeMeasuresOnlyWhatIsMissing) {
  const std::string report = folder_ / "out.json";
  output(bench("--allocators atomic --json " + report));
  json first = json::parse(read_file(report));
  // A mark shows whether the result was reused or measured again.
  first["results"][0]["runs_ms"] = {12345678.5, 12345678.5};
  write_file(report, first.dump());
  const Outcome outcome =
      run(bench("--allocators atomic,cfmmalloc --json " + report + " --resume"), 0);
  EXPECT_TRUE(has(outcome.err, "1 of 2 results reused")) << outcome.err;
  json second = json::parse(read_file(report));
  ASSERT_EQ(second.at("results").size(), 2u);
  EXPECT_EQ(second["results"][0]["median_ms"], 12345678.5);
  EXPECT_EQ(second["results"][1]["allocator"], "cfmmalloc");
  EXPECT_LT(second["results"][1]["slowdown"], 1.0);
  // With other settings the scene is measured again, and earlier results stay in the file.
  output(bench("--allocators atomic --refs ids --json " + report + " --resume"));
  const json third = json::parse(read_file(report));
  EXPECT_EQ(third.at("results").size(), 3u);
  write_file(report, "not json");
  expect_error(bench("--json " + report + " --resume"), 1, {report, "line 1: not valid JSON"});
  write_file(report, "{}");
  expect_error(bench("--json " + report + " --resume"), 1, {report, "heapwood.bench/1"});
}

TEST_F(Commands, TraceCountsHitsAndReadsTheCameraBeside) {
  const std::string report = folder_ / "trace.json";
  const std::string trace = "trace @scene.obj --size 64x48 --runs 2 --device cpu --json " + report;
  expect_words(output(trace + " --camera -9,3,30,8,6,5,40"),
               {"primary", "diffuse", "Mrays/s", "3,072", "first ray", "-9,3,30,8,6,5,40"});
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
  output(trace);
  const json second = json::parse(read_file(report));
  EXPECT_EQ(second.at("camera"), first.at("camera"));
  EXPECT_EQ(second.at("results")[0].at("hits"), first.at("results")[0].at("hits"));
  write_file(beside, "-9,3,30,8,6,5,40 w\n");
  expect_error(trace, 3, {".camera"});
}

// The printed camera renders the same picture, also if it was chosen automatically.
TEST_F(Commands, ThePrintedCameraMakesTheSamePicture) {
  const auto picture = [&](const std::string& more) {
    const Outcome outcome =
        run("render @scene.obj -o @a.png --size 64x48 --spp 1 --device cpu " + more, 0);
    EXPECT_EQ(outcome.err, "");
    const std::size_t line = outcome.out.find("camera   ");
    std::istringstream words(outcome.out.substr(line));
    std::string label, numbers, option, up;
    words >> label >> numbers >> option >> up;
    return std::tuple{read_file(folder_ / "a.png"), numbers, option + up};
  };
  const auto first = picture("--up z");
  EXPECT_EQ(std::get<2>(first), "--upz");
  EXPECT_EQ(picture("--camera " + std::get<1>(first) + " --up z"), first);
  write_file(std::filesystem::path(scene_).replace_extension(".camera"),
             std::get<1>(first) + " --up z\n");
  EXPECT_EQ(picture(""), first);
}

TEST_F(Commands, WarnsWhenNothingIsInView) {
  for (const std::string command : {"render @scene.obj -o @a.png --size 64x48 --spp 1",
                                    "trace @scene.obj --size 64x48 --runs 1"}) {
    const Outcome outcome = run(command + " --device cpu --camera -9,3,30,-10,3,60,40", 0);
    EXPECT_EQ(outcome.err.rfind("heapwood: warning: ", 0), 0u) << outcome.err;
    EXPECT_TRUE(has(outcome.err, "sees nothing of the scene")) << outcome.err;
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  }
}

// Copies of one axis-aligned triangle: no plane separates them, so that they end in one leaf.
TEST_F(Commands, WarnsOfALargeLeafOncePerScene) {
  std::string copies = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
  for (int i = 0; i < 1500; ++i) copies += "f 1 2 3\n";
  write_file(scene_, copies);
  write_file(folder_ / "small.obj", obj_text(50));
  for (const std::string& command :
       {build(""), bench("@small.obj --allocators atomic,cfmmalloc"),
        std::string("trace @scene.obj --device cpu --size 64x48 --runs 1"),
        std::string("render @scene.obj -o @a.png --device cpu --size 64x48 --spp 1")}) {
    const Outcome outcome = run(command, 0);
    EXPECT_EQ(outcome.err.rfind("heapwood: warning: scene: the largest leaf has 1,500 refs", 0), 0u)
        << outcome.err;
    expect_words(outcome.err, {"lowers its cost, or the tree has reached its limit of refs;"});
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  }
}

TEST_F(Commands, CsvTellsFilesOfOneNameApart) {
  const std::string other = folder_ / "other/scene.obj";
  std::filesystem::create_directory(folder_ / "other");
  write_file(other, obj_text(300));
  std::istringstream lines(output(bench(other + " --allocators atomic --format csv")));
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

}  // namespace

}  // namespace heapwood::tests
