// SPDX-License-Identifier: MIT
// Files that the executable writes: no input is overwritten, nothing is lost or left behind,
// however the program ends, and what --resume finds is kept until there is something better.
#include <sys/stat.h>

#include <set>

#include "tests/app/executable.hpp"

namespace heapwood::tests {

// The environment of the executable: closed or full streams, signals, files that change or are
// named twice, and numbers and scenes at the limits of floats.

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
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << arguments << ": " << outcome.err;
    expect_words(outcome.err, {word});
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
    expect_words(outcome.err, {"interrupted"});
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
  expect_words(outcome.err, {"interrupted; the results so far are above"});
  expect_words(outcome.out, {"first ray"});
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
  expect_words(run(bench("--json " + report + " --resume")).err, {"results reused"});
  write_file(scene_, obj_text(300));
  const Outcome other = run(bench("--json " + report + " --resume"), 0);
  expect_words(other.err, {"has changed"});
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
    const Outcome outcome = run(scaled(scale), 0);
    expect_words(outcome.err, {"heapwood: warning: ", "extent is 1e"});
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

namespace fs = std::filesystem;

class OutputFiles : public SceneCommands {
 protected:
  std::string bench(const std::string& report, int runs) const {
    return "bench " + scene_ +
           " --device cpu --allocators atomic --timeout 60 --pool auto --resume --json " + report +
           " --runs " + std::to_string(runs);
  }
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      all.insert(entry.path().filename().string());
    return all;
  }
};

TEST_F(OutputFiles, NoPathIsUsedTwice) {
  const std::string before = read_file(scene_), trace = folder_ / "trace.csv";
  write_file(trace, "op,id,bytes\nallocate,0,1024\nfree,0,0\n");
  const std::string requests = read_file(trace);
  fs::create_hard_link(scene_, folder_ / "hard.obj");
  fs::create_symlink("nothing", folder_ / "dangling");
  fs::create_symlink(scene_, folder_ / "link.obj");
  fs::create_directory(folder_ / "meshes");
  fs::create_hard_link(scene_, folder_ / "meshes/dragon.obj");
  for (const char* command :
       {"build @scene.obj --host-trace @scene.obj", "build @scene.obj --json @scene.obj",
        "build @scene.obj --allocator atomic --profile @scene.obj",
        "bench @scene.obj --json @scene.obj", "render @scene.obj -o @scene.obj",
        "build @link.obj --json @scene.obj", "build @scene.obj --json @hard.obj",
        "build @scene.obj --json @q --host-trace @q",
        "build @scene.obj --json @q --host-trace @meshes/../q",
        "build @scene.obj --json @dangling --host-trace @nothing",
        "stress ad --json @q --host-trace @q",
        "bench @scene.obj --json @a.json --host-trace @scene.obj",
        "trace @scene.obj --json @scene.camera", "render @scene.obj -o @scene.camera",
        "render @scene.obj -o @q --host-trace @q",
        "host-bench --trace @trace.csv --host-trace @trace.csv",
        "reproduce --out @q --host-trace @q/results.json",
        "reproduce --out @q --scenes @meshes --host-trace @scene.obj"}) {
    expect_error(command, 2, {"already used in this command", "choose another file"});
  }
  EXPECT_EQ(shell("$B >> scene.obj").exit, 2);
  EXPECT_EQ(read_file(scene_), before);
  EXPECT_EQ(read_file(trace), requests);
  EXPECT_EQ(names(), (std::set<std::string>{"scene.obj", "hard.obj", "link.obj", "trace.csv",
                                            "dangling", "meshes"}));
}

// No file is overwritten, under any name, whether the command reads it or not.
TEST_F(OutputFiles, NoFileThatASceneNamesIsOverwritten) {
  const std::string mesh = folder_ / "q.obj", texture = folder_ / "tex_001.png",
                    bump = folder_ / "bumps.json", fox = folder_ / "fox.gltf",
                    buffer = folder_ / "fox.bin", image = folder_ / "image.json",
                    path = folder_ / "path.txt", pattern = folder_ / "tex_###.png";
  for (const char* name : {"q.obj", "m0.obj", "m1.obj"})
    write_file(folder_ / name, "mtllib q.mtl\nusemtl a\n" + obj_text(20));
  write_file(folder_ / "q.mtl", "newmtl a\nmap_Kd -s 1 1 tex_001.png\nmap_Bump bumps.json\n");
  write_file(fox,
             R"({"asset":{"version":"2.0"},"buffers":[{"uri":"fox.bin","byteLength":36}],)"
             R"("bufferViews":[{"buffer":0,"byteLength":36}],"accessors":[{"bufferView":0,)"
             R"("componentType":5126,"count":3,"type":"VEC3"}],"images":[{"uri":"image.json"}],)"
             R"("meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"nodes":[{"mesh":0}]})");
  write_file(path, "0 -9 3 30 8 6 5 40\n1 9 3 30 8 6 5 50\n");
  for (const std::string& file : {texture, bump, buffer, image}) write_file(file, file);
  fs::create_symlink("fox.bin", folder_ / "link");
  for (const char* command :
       {"render @q.obj -o @tex_###.png --path @path.txt --fps 2",
        "render @q.obj -o @tex_###.png --path @path.txt --fps 2 --material clay",
        "render @q.obj -o @tex_001.png --material clay", "render @q.obj -o @tex_001.png",
        "animate @m#.obj --frames 2 -o @tex_###.png",
        "animate @m#.obj --frames 2 --json @bumps.json", "animate @fox.gltf --json @fox.bin",
        "animate @fox.gltf --json @fox.camera", "build @q.obj --json @bumps.json",
        "build @fox.gltf --json @fox.bin", "build @fox.gltf --json @link",
        "build @fox.gltf --profile @fox.bin", "build @fox.gltf --record-trace @image.json",
        "build @fox.gltf --host-trace @image.json", "trace @fox.gltf --json @fox.bin",
        "bench @scene.obj @fox.gltf --json @fox.bin"}) {
    expect_error(command, 2, {"already used in this command", "choose another file"});
  }
  EXPECT_EQ(shell("$H build q.obj --device cpu >> bumps.json").exit, 2);
  for (const std::string& file : {texture, bump, buffer, image}) EXPECT_EQ(read_file(file), file);
  // Frames that the path does not have overwrite nothing.
  fs::rename(texture, folder_ / "tex_009.png");
  write_file(folder_ / "q.mtl", "newmtl a\nmap_Kd tex_009.png\n");
  output("render " + mesh + " -o " + pattern + " --path " + path +
         " --fps 2 --size 8x8 --spp 1 --device cpu");
}

TEST_F(OutputFiles, ModeAndLinksOfAFileStay) {
  const std::string file = folder_ / "file", hard = folder_ / "hard", link = folder_ / "link",
                    linked = folder_ / "linked", long_name = folder_ / std::string(250, 'x');
  write_file(file, std::string(100000, 'x'));
  fs::create_hard_link(file, hard);
  fs::create_symlink("linked", link);  // links to a file that does not exist
  write_file(long_name, "old");
  ASSERT_EQ(chmod(long_name.c_str(), 0640), 0);
  for (const std::string& path : {file, link, long_name})
    output("build @scene.obj --runs 1 --device cpu --json " + path);
  EXPECT_EQ(read_file(hard), read_file(file));
  EXPECT_TRUE(fs::is_symlink(link));
  for (const std::string& path : {file, linked, long_name})
    EXPECT_NO_THROW(json::parse(read_file(path))) << path;
  EXPECT_EQ(fs::status(long_name).permissions(), static_cast<fs::perms>(0640));
  EXPECT_EQ(names().size(), 6u);
}

TEST_F(OutputFiles, AClosedPipeOrALimitCostsNoResults) {
  const Outcome closed = shell("$B --json a.json | true; exit ${PIPESTATUS[0]}");
  EXPECT_EQ(closed.exit, 128 + SIGPIPE) << closed.err;
  EXPECT_NO_THROW(json::parse(read_file(folder_ / "a.json")));
  write_file(folder_ / "b.json", "old");
  const Outcome limited = shell("ulimit -f 1; $B --json b.json; exit $?");
  EXPECT_EQ(limited.exit, 1);
  EXPECT_EQ(read_file(folder_ / "b.json"), "old");
  EXPECT_EQ(names(), (std::set<std::string>{"scene.obj", "a.json", "b.json"}));
}

TEST_F(OutputFiles, TwoProcessesDoNotWriteOneFile) {
  const std::string report = folder_ / "report.json";
  Running first = start(bench(report, 100000));
  first.wait_for_cpu_seconds(0.2);
  const Outcome second = run("build @scene.obj --runs 1 --device cpu --json " + report, 1);
  expect_words(second.err, {"report.json: another heapwood is writing it"});
  first.send(SIGKILL);
  first.wait();
  output("build @scene.obj --runs 1 --device cpu --json " + report);
}

TEST_F(OutputFiles, ResumeRecognizesPathsThatAreNotUtf8) {
  const std::string odd = folder_ / "scene\xff.obj", report = folder_ / "report.json";
  fs::rename(scene_, odd);
  scene_ = odd;
  output(bench(report, 1));
  expect_words(run(bench(report, 1)).err, {"1 of 1 results reused"});
  EXPECT_EQ(json::parse(read_file(report)).at("results").size(), 1u);
}

}  // namespace

}  // namespace heapwood::tests
