// SPDX-License-Identifier: MIT
// The environment of the executable: closed or full streams, signals, files that change or are
// named twice, and numbers and scenes at the limits of floats.
#include <sys/stat.h>

#include "tests/app/executable.hpp"

namespace heapwood::tests {
namespace {

class Surroundings : public SceneCommands {
 protected:
  static std::string bench(const std::string& more) {
    return "bench @scene.obj --device cpu --allocators atomic " + more;
  }
};

TEST_F(Surroundings, ErrorsThatCannotBePrintedKeepTheirExitCode) {
  for (const char* stream : {"2>&-", "2>/dev/full"}) {
    EXPECT_EQ(shell(std::string("$H build nope ") + stream).exit, 2) << stream;
    EXPECT_EQ(shell(std::string("$B ") + stream).exit, 0) << stream;
  }
  EXPECT_EQ(shell("$H list >&-").exit, 1);
  EXPECT_EQ(shell("$H list >/dev/full").exit, 1);
}

// If a standard stream is closed, a file may get its descriptor and would receive the printed text.
TEST_F(Surroundings, NothingIsPrintedIntoAFileInAStreamsPlace) {
  const std::string report = folder_ / "report.json";
  EXPECT_EQ(shell("$B --json " + report + " 2>&- <&-").exit, 0);
  EXPECT_TRUE(json::accept(read_file(report)));
}

TEST_F(Surroundings, ReportAndTextFollowEachOtherInOneFile) {
  for (const char* file : {"/dev/stdout", "both"}) {
    ASSERT_EQ(shell(std::string("$B > both --json ") + file).exit, 0);
    const std::string text = read_file(folder_ / "both");
    const std::size_t end = text.find("\n}\n");
    ASSERT_NE(end, text.npos) << text;
    EXPECT_EQ(json::parse(text.substr(0, end + 3)).at("schema"), "heapwood.bench/1");
    EXPECT_NE(text.find("200 triangles", end), text.npos) << text;
  }
}

// Reading a pipe without a writer would block, and reading a device would never end.
TEST_F(Surroundings, PipesAndDevicesAreNotRead) {
  const auto ends = [&](const std::string& arguments, int exit, const std::string& word) {
    const Outcome outcome = shell("timeout -s KILL 100 $H " + arguments + " --device cpu");
    EXPECT_EQ(outcome.exit, exit) << arguments << ": " << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1)
        << arguments << ": " << outcome.err;
    EXPECT_NE(outcome.err.find(word), std::string::npos) << arguments << ": " << outcome.err;
  };
  const std::string pipe = folder_ / "pipe.obj", device = folder_ / "zero.ply";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", device);
  for (const std::string& input : {pipe, device}) {
    ends("build " + input, 3, "not a regular file");
    ends("bench " + input, 3, "not a regular file");
    ends("trace " + input, 3, "not a regular file");
    ends("bench scene.obj --resume --json " + input, 1, "not a regular file");
    ends("host-bench --trace " + input, 3, "not a regular file");
  }
  ends("build /dev/stdin </dev/zero", 3, "/dev/stdin");
  ASSERT_EQ(mkfifo((folder_ / "scene.camera").c_str(), 0600), 0);
  ends("render scene.obj -o " + (folder_ / "a.png"), 3,
       "scene.camera: cannot be read: it is not a regular file");
}

// Includes tests whose launches are too short to notice the interruption themselves.
TEST_F(Surroundings, CtrlCEndsEveryTestSoon) {
  for (const char* test :
       {"p --iterations 65536 --blocks 1", "soak --seconds 80000 --requests 256",
        "lifetimes --iterations 65536 --requests 256", "range --iterations 65536 --requests 256"}) {
    Running running = start(std::string("stress ") + test + " --device cpu --allocators heapwood");
    running.wait_for_cpu_seconds(0.3);
    running.send(SIGINT);
    const Outcome outcome = running.wait();
    EXPECT_EQ(outcome.exit, 1) << test << ": " << outcome.err;
    EXPECT_NE(outcome.err.find("interrupted"), std::string::npos) << test << ": " << outcome.err;
  }
}

// The builds take a small part of the 1.5 s, the rays many times as long.
TEST_F(Surroundings, CtrlCKeepsResultsOfTrace) {
  const std::string report = folder_ / "trace.json";
  Running running =
      start("trace @scene.obj --size 1024x1024 --runs 200 --device cpu --json " + report);
  running.wait_for_cpu_seconds(1.5);
  running.send(SIGINT);
  const Outcome outcome = running.wait();
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_NE(outcome.err.find("interrupted; the results so far are above"), std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.out.find("first ray"), std::string::npos) << outcome.out;
  const json trace = json::parse(read_file(report));
  EXPECT_EQ(trace.at("first_ray").at("build_runs_ms").size(), 200u);
  EXPECT_LT(trace.at("results").size(), 2u);
}

// No partial file is left, and folders and devices are not replaced.
TEST_F(Surroundings, PicturesAreWrittenWholeOrNotAtAll) {
  const auto render = [&](const std::string& to) {
    return "render @scene.obj --size 32x24 --spp 1 --device cpu -o " + to;
  };
  expect_error(render(folder_ / "no/such/folder/a.png"), 1,
               {"a.png", "No such file", "create its folder"});
  expect_error(render("/dev/full"), 1, {"/dev/full", "No space left", "free some space"});
  std::filesystem::create_directory(folder_ / "folder.png");
  expect_error(render(folder_ / "folder.png"), 1, {"folder.png", "directory"});
  const std::string link = folder_ / "link.png", target = folder_ / "target.png";
  write_file(target, "old");
  std::filesystem::create_symlink(target, link);
  output(render(link));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read_file(target).substr(1, 3), "PNG");
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    ++files;
  EXPECT_EQ(files, 4u) << "scene.obj, folder.png, link.png, target.png";
}

TEST_F(Surroundings, ResumeReusesNothingOfAnotherMesh) {
  const std::string report = folder_ / "report.json";
  output(bench("--json " + report));
  const Outcome same = run(bench("--json " + report + " --resume"));
  EXPECT_NE(same.err.find("results reused"), std::string::npos) << same.err;
  write_file(scene_, obj_text(300));
  const Outcome other = run(bench("--json " + report + " --resume"));
  EXPECT_EQ(other.exit, 0) << other.err;
  EXPECT_NE(other.err.find("has changed"), std::string::npos) << other.err;
  for (const json& result : json::parse(read_file(report)).at("results"))
    EXPECT_EQ(result.at("triangles"), 300);
}

TEST_F(Surroundings, ScenesOutOfTheRangeOfRaysAreReported) {
  const auto scaled = [&](const std::string& scale) {
    write_file(folder_ / "scaled.obj",
               "v 0 0 0\nv " + scale + " 0 0\nv 0 " + scale + " 0\nf 1 2 3\n");
    return "trace @scaled.obj --size 64x48 --runs 1 --device cpu";
  };
  EXPECT_EQ(run(scaled("1e6")).err.find("extent"), std::string::npos);
  for (const char* scale : {"1e-25", "1e25"}) {
    const Outcome outcome = run(scaled(scale));
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_NE(outcome.err.find("heapwood: warning: "), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("extent is 1e"), std::string::npos) << outcome.err;
  }
  expect_error(scaled("3e38"), 3, {"scaled.obj", "extent is 3e+38", "scale its coordinates"});
  // The first or the last frame of a moving scene.
  for (const std::string large : {"frame1.obj", "frame2.obj"}) {
    for (const char* frame : {"frame1.obj", "frame2.obj"}) {
      const std::string scale = frame == large ? "3e38" : "1";
      write_file(folder_ / frame, "v 0 0 0\nv " + scale + " 0 0\nv 0 " + scale + " 0\nf 1 2 3\n");
    }
    expect_error("animate @frame#.obj --frames 2 --size 64x36 --allocators atomic --device cpu", 3,
                 {large + ": ", "extent is 3e+38", "scale its coordinates"});
  }
}

}  // namespace
}  // namespace heapwood::tests
