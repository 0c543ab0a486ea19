// SPDX-License-Identifier: MIT
// Shards, merge and compare from the command line.

#include "tests/app/executable.hpp"

namespace heapwood::tests {
namespace {

class Sweeps : public Executable {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }
  static std::string stress(const std::string& name, const std::string& more = "") {
    return "stress alloc --payload 16,64,256 --requests 64 --runs 2 --pool 1M --device cpu "
           "--allocators atomic --json @" +
           name + " " + more;
  }
  // Writes the shards 1 and 2 to the files "1" and "2".
  void measure_two_shards() const {
    output(stress("1", "--shard 1/2"));
    output(stress("2", "--shard 2/2"));
  }
  std::size_t results(const std::string& name) const {
    return json::parse(std::ifstream(path(name))).at("results").size();
  }
};

// The file of a bench that ended early, or was killed, lists the scenes that are missing.
TEST_F(Sweeps, ScenesThatAreLeftAreMissing) {
  write("bad.obj", "f 1 2 3\n");
  const std::string bench =
      "bench statue:1k @bad.obj statue:2k --runs 1 --device cpu --json @1 --allocators atomic";
  EXPECT_EQ(run(bench).exit, 3);
  expect_error("merge --strict @all @1", 1, {"missing: 1 scene;"});
  write("bad.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
  output(bench + " --resume");
  output("merge --strict @all @1");
}

TEST_F(Sweeps, ShardsAreMergedAndCompared) {
  measure_two_shards();
  EXPECT_EQ(results("1"), 2u);
  EXPECT_EQ(results("2"), 1u);
  expect_words(output("merge @all @2"), {"missing: shard 1 of 2"});
  expect_error("merge --strict @all @2", 1, {"all: missing", "shard 1 of 2"});
  expect_words(output("merge --strict @all @1 @2"), {"3 results; nothing is missing"});
  EXPECT_EQ(results("all"), 3u);
  expect_words(output("compare @all @1 --format csv"), {"ONLY OLD"});
  expect_error("compare @all @1 --fail-on slower,missing", 1, {"2 ONLY OLD"});
  expect_error("compare @all @1 --fail-on slower", 2, {"too few runs to tell"});
  // A shard of more shards than cases, and a file of another shard.
  output(stress("4", "--shard 4/4"));
  EXPECT_EQ(results("4"), 0u);
  expect_error(stress("1", "--shard 2/2"), 2, {"different shard"});
  expect_error(stress("1", "--shard 3/2"), 2, {"--shard", "3/2"});
}

// With the output file forgotten, the first shard's file would be the output.
TEST_F(Sweeps, MergeReplacesNoFileOfAnotherCommand) {
  measure_two_shards();
  const std::string first = read_file(path("1"));
  expect_error("merge @1 @2", 2, {path("1") + ": not written by merge", "output file first"});
  EXPECT_EQ(read_file(path("1")), first);
}

TEST_F(Sweeps, ATaskOfASlurmArrayTakesItsShard) {
  for (const auto& [name, value] : {std::pair("ID", "7"), std::pair("MIN", "6"),
                                    std::pair("MAX", "7"), std::pair("COUNT", "2")})
    setenv((std::string("SLURM_ARRAY_TASK_") + name).c_str(), value, 1);
  const Outcome task = run(stress("task"));
  const Outcome whole = run(stress("whole", "--shard 1/1"));
  for (const char* name : {"ID", "MIN", "MAX", "COUNT"})
    unsetenv((std::string("SLURM_ARRAY_TASK_") + name).c_str());
  ASSERT_EQ(task.exit, 0) << task.err;
  expect_words(task.err, {"shard 2/2, from SLURM_ARRAY_TASK_ID 7"});
  EXPECT_EQ(results("task"), 1u);
  ASSERT_EQ(whole.exit, 0) << whole.err;
  EXPECT_EQ(results("whole"), 3u);
}

TEST_F(Sweeps, BadFilesAreOneLine) {
  const std::string good = R"({"schema":"heapwood.bench/1","device":{"name":"a"},)"
                           R"("results":[{"source":"s","runs_ms":[1]}]})";
  write("good", good);
  write("truncated", good.substr(0, 70));
  write("text", "no JSON");
  write("foreign", R"({"schema":"other/1\u001b[2J"})");
  write("list", R"([1, 2])");
  write("types", R"({"schema":"heapwood.bench/1","device":{},"results":[3]})");
  write("shard", R"({"schema":"heapwood.bench/1","device":{},"results":[],"shard":{"number":9}})");
  write("device", R"({"schema":"heapwood.bench/1","device":{"name":"b"},"results":[]})");
  for (const char* name : {"truncated", "text", "foreign", "list", "types", "shard", "absent"}) {
    expect_error(std::string("compare @good @") + name, 3, {path(name)});
    expect_error(std::string("merge @out @good @") + name, 3, {path(name)});
  }
  expect_error("compare @good @device", 2, {path("device"), "--allow-mixed"});
  expect_error("merge @out @good @device", 2, {path("device")});
  EXPECT_FALSE(std::filesystem::exists(path("out")));
  expect_error("merge @good @good", 2, {"already used"});
  EXPECT_EQ(read_file(path("good")), good);
}

// Each refusal leaves the results that were merged before as they are.
TEST_F(Sweeps, ShardsThatDoNotMatchAreRefused) {
  measure_two_shards();
  output("merge @all @1 @2");
  const std::string merged = read_file(path("all"));
  output(stress("runs", "--shard 2/2 --seconds 5"));
  write("truncated", read_file(path("2")).substr(0, 300));
  const auto refuses = [&](const std::string& file, int exit, const std::string& reason) {
    for (const char* out : {"all", "new"}) {
      expect_error(std::string("merge @") + out + " @1 @" + file, exit, {path(file), reason});
      expect_error(std::string("merge --strict @") + out + " @" + file + " @1", exit, {reason});
    }
    EXPECT_EQ(read_file(path("all")), merged) << file;
    EXPECT_FALSE(std::filesystem::exists(path("new"))) << file;
  };
  refuses("runs", 2, "another command line");
  refuses("truncated", 3, "not valid JSON");
  // A damaged file of merged results is not overwritten.
  write("all", merged.substr(0, 300));
  expect_error("merge @all @1 @2", 3, {path("all"), "not valid JSON"});
  EXPECT_EQ(read_file(path("all")), merged.substr(0, 300));
}

}  // namespace
}  // namespace heapwood::tests
