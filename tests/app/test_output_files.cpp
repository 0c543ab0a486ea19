// SPDX-License-Identifier: MIT
// Files that the executable writes: no input is overwritten, nothing is lost or left behind,
// however the program ends, and what --resume finds is kept until there is something better.
#include <sys/stat.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "tests/app/executable.hpp"

namespace heapwood::tests {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class OutputFiles : public Executable {
 protected:
  void SetUp() override {
    Executable::SetUp();
    scene_ = folder_ / "scene.obj";
    write_file(scene_, obj_text(200));
  }
  // In a shell, in the test's folder, with the program in $H; a build of the scene is $B.
  Outcome shell(const std::string& command) const {
    return Running("/bin/bash",
                   {"-c", "cd '" + folder_.path().string() + "'; H='" + binary_ +
                              "'; B=\"$H build scene.obj --runs 1 --device cpu\"\n" + command})
        .wait();
  }
  std::vector<std::string> bench(const std::string& report, const std::string& runs) const {
    return {"bench",        scene_,   "--device", "cpu",  "--builder", "single",
            "--allocators", "atomic", "--runs",   runs,   "--json",    report,
            "--timeout",    "60",     "--pool",   "auto", "--resume"};
  }
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      all.insert(entry.path().filename().string());
    return all;
  }
  static void wait_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

  std::string scene_;
};

TEST_F(OutputFiles, NoPathIsUsedTwice) {
  const std::string before = read_file(scene_), trace = folder_ / "trace.csv";
  write_file(trace, "op,id,bytes\nallocate,0,1024\nfree,0,0\n");
  const std::string requests = read_file(trace);
  fs::create_hard_link(scene_, folder_ / "hard.obj");
  fs::create_symlink("nothing", folder_ / "dangling");
  fs::create_directory(folder_ / "meshes");
  fs::create_hard_link(scene_, folder_ / "meshes/dragon.obj");
  const std::string q = folder_ / "q", dotted = folder_ / "meshes/../q",
                    camera = folder_ / "scene.camera";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"build", scene_, "--host-trace", scene_},
        {"build", scene_, "--json", folder_ / "hard.obj"},
        {"build", scene_, "--json", q, "--host-trace", q},
        {"build", scene_, "--json", q, "--host-trace", dotted},
        {"build", scene_, "--json", folder_ / "dangling", "--host-trace", folder_ / "nothing"},
        {"stress", "ad", "--json", q, "--host-trace", q},
        {"bench", scene_, "--json", folder_ / "a.json", "--host-trace", scene_},
        {"trace", scene_, "--json", camera},
        {"render", scene_, "-o", camera},
        {"render", scene_, "-o", q, "--host-trace", q},
        {"host-bench", "--trace", trace, "--host-trace", trace},
        {"reproduce", "--out", q, "--host-trace", q + "/results.json"},
        {"reproduce", "--out", q, "--scenes", folder_ / "meshes", "--host-trace", scene_}}) {
    expect_error(command, 2, {"already used in this command", "choose another file"});
  }
  EXPECT_EQ(shell("$B >> scene.obj").exit, 2);
  EXPECT_EQ(read_file(scene_), before);
  EXPECT_EQ(read_file(trace), requests);
  EXPECT_EQ(names(),
            (std::set<std::string>{"scene.obj", "hard.obj", "trace.csv", "dangling", "meshes"}));
}

// Whether the command reads them or not, and under any name.
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
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"render", mesh, "-o", pattern, "--path", path, "--fps", "2"},
        {"render", mesh, "-o", pattern, "--path", path, "--fps", "2", "--material", "clay"},
        {"render", mesh, "-o", texture, "--material", "clay"},
        {"render", mesh, "-o", texture},
        {"animate", folder_ / "m#.obj", "--frames", "2", "-o", pattern},
        {"animate", folder_ / "m#.obj", "--frames", "2", "--json", bump},
        {"animate", fox, "--json", buffer},
        {"animate", fox, "--json", folder_ / "fox.camera"},
        {"build", mesh, "--json", bump},
        {"build", fox, "--json", buffer},
        {"build", fox, "--json", folder_ / "link"},
        {"build", fox, "--profile", buffer},
        {"build", fox, "--record-trace", image},
        {"build", fox, "--host-trace", image},
        {"trace", fox, "--json", buffer},
        {"bench", scene_, fox, "--json", buffer}}) {
    expect_error(command, 2, {"already used in this command", "choose another file"});
  }
  EXPECT_EQ(shell("$H build q.obj --device cpu >> bumps.json").exit, 2);
  for (const std::string& file : {texture, bump, buffer, image}) EXPECT_EQ(read_file(file), file);
  // Frames that the path does not have overwrite nothing.
  fs::rename(texture, folder_ / "tex_009.png");
  write_file(folder_ / "q.mtl", "newmtl a\nmap_Kd tex_009.png\n");
  EXPECT_EQ(run({"render", mesh, "-o", pattern, "--path", path, "--fps", "2", "--size", "8x8",
                 "--spp", "1", "--device", "cpu"})
                .exit,
            0);
}

TEST_F(OutputFiles, ModeAndLinksOfAFileStay) {
  const std::string file = folder_ / "file", hard = folder_ / "hard", link = folder_ / "link",
                    linked = folder_ / "linked", long_name = folder_ / std::string(250, 'x');
  write_file(file, std::string(100000, 'x'));
  fs::create_hard_link(file, hard);
  fs::create_symlink("linked", link);  // to a file that does not exist
  write_file(long_name, "old");
  ASSERT_EQ(chmod(long_name.c_str(), 0640), 0);
  for (const std::string& path : {file, link, long_name})
    ASSERT_EQ(run({"build", scene_, "--runs", "1", "--device", "cpu", "--json", path}).exit, 0);
  EXPECT_EQ(read_file(hard), read_file(file));
  EXPECT_TRUE(fs::is_symlink(link));
  for (const std::string& path : {file, linked, long_name})
    EXPECT_NO_THROW(json::parse(read_file(path))) << path;
  EXPECT_EQ(fs::status(long_name).permissions(), static_cast<fs::perms>(0640));
  EXPECT_EQ(names().size(), 6u);
}

TEST_F(OutputFiles, KilledWhileWritingLeavesTheOldOrTheNewFile) {
  const std::string report = folder_ / "report.json";
  // A bench writes at its end, this stress test after each of hundreds of points.
  const std::vector<std::string> stress{"stress",    "ad",    "--allocators", "atomic",
                                        "--payload", "sweep", "--iterations", "1",
                                        "--blocks",  "1",     "--pool",       "1M,2M,4M,8M",
                                        "--device",  "cpu",   "--json",       report};
  for (int i = 0; i < 8; ++i) {
    Running running(binary_, i % 2 ? stress : bench(report, "100000"));
    wait_ms(30 + 17 * i);
    running.send(SIGKILL);
    running.wait();
    if (fs::exists(report)) {
      EXPECT_NO_THROW(json::parse(read_file(report)));
    }
  }
  // A process that ends while it replaces the file may leave a name, which the next one removes.
  ASSERT_EQ(run({"build", scene_, "--runs", "1", "--device", "cpu", "--json", report}).exit, 0);
  EXPECT_EQ(names(), (std::set<std::string>{"report.json", "scene.obj"}));
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

TEST_F(OutputFiles, ReportAndTextFollowEachOtherInOneFile) {
  ASSERT_EQ(shell("$B --json both > both").exit, 0);
  const std::string both = read_file(folder_ / "both");
  const std::size_t end = both.find("\n}\n");
  ASSERT_NE(end, std::string::npos) << both;
  EXPECT_NO_THROW(json::parse(both.substr(0, end + 3)));
  EXPECT_NE(both.find("200 triangles", end), std::string::npos);
}

TEST_F(OutputFiles, TwoProcessesDoNotWriteOneFile) {
  const std::string report = folder_ / "report.json";
  Running first(binary_, bench(report, "100000"));
  first.wait_for_cpu_seconds(0.2);
  const Outcome second = run({"build", scene_, "--runs", "1", "--device", "cpu", "--json", report});
  EXPECT_EQ(second.exit, 1);
  EXPECT_NE(second.err.find("report.json: another heapwood is writing it"), std::string::npos)
      << second.err;
  first.send(SIGKILL);
  first.wait();
  EXPECT_EQ(run({"build", scene_, "--runs", "1", "--device", "cpu", "--json", report}).exit, 0);
}

TEST_F(OutputFiles, ResumeKeepsEarlierRunsUntilThereAreMore) {
  const std::string report = folder_ / "report.json";
  const auto measure = [&](double cpu_seconds, int signal) {
    Running running(binary_, bench(report, "100000"));
    running.wait_for_cpu_seconds(cpu_seconds);
    running.send(signal);
    return running.wait();
  };
  const auto runs = [&] {
    const json results = json::parse(read_file(report)).at("results");
    EXPECT_EQ(results.size(), 1u);
    return results[0].at("runs_ms").size();
  };
  measure(0.8, SIGINT);
  const std::size_t first = runs();
  ASSERT_GT(first, 0u);
  measure(0.1, SIGINT);
  EXPECT_GE(runs(), first);
  measure(0.1, SIGKILL);
  EXPECT_GE(runs(), first);
  // Of another mesh, and not measured again in time.
  write_file(scene_, obj_text(20000));
  measure(0.06, SIGINT);
  EXPECT_GE(runs(), first);
}

TEST_F(OutputFiles, ResumeRecognizesPathsThatAreNotUtf8) {
  const std::string odd = folder_ / "scene\xff.obj", report = folder_ / "report.json";
  fs::rename(scene_, odd);
  scene_ = odd;
  ASSERT_EQ(run(bench(report, "1")).exit, 0);
  const Outcome again = run(bench(report, "1"));
  EXPECT_NE(again.err.find("1 of 1 results reused"), std::string::npos) << again.err;
  EXPECT_EQ(json::parse(read_file(report)).at("results").size(), 1u);
}

}  // namespace
}  // namespace heapwood::tests
