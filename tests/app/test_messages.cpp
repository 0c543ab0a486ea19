// SPDX-License-Identifier: MIT
// Messages about the command line and about what cannot be measured.
#include "tests/app/executable.hpp"

namespace heapwood::tests {
namespace {

class Messages : public Executable {
 protected:
  Outcome shell(const std::string& command) const {
    return Running("/bin/sh", {"-c", "H='" + binary_ + "'\n" + command}).wait();
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

TEST_F(Messages, ValuesOfOptions) {
  expect_error({"bench", "statue:1k", "--runs", "1", "--runs", "2", "--runs", "3"}, 2,
               {"bench: --runs is given more than once;"});
  expect_error({"bench", "statue:1k", "--runs", "1.5"}, 2,
               {"bench: --runs: '1.5' is not a whole number;"});
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"render", "statue:1k", "-o", folder_ / "a.png"},
        {"stress", "p"},
        {"graph", "rgg:200"},
        {"host-bench"}}) {
    for (const char* seed : {"4294967296", "-1"}) {
      std::vector<std::string> with_seed = command;
      with_seed.insert(with_seed.end(), {"--seed", seed});
      expect_error(with_seed, 2, {"--seed", seed, "is not between 0 and 4294967295"});
    }
  }
  expect_error({"render", "statue:1k", "-o", folder_ / "a.png", "--fps", "0"}, 2,
               {"--fps: 0 is not between 0.1 and 1000"});
  expect_error({"graph", "rgg:200", "--pool", "0x"}, 2, {"a multiple of the blocks, as in 2x"});
  expect_error({"build", "statue:1k", "--pool", "0x"}, 2, {"of the root node, as in 200x"});
  expect_error({"build", "statue:1k", "--json", "-"}, 2, {"'-' is not a file", "/dev/stdout"});
  expect_error({"render", "statue:1k", "-o", "-"}, 2,
               {"'-' is not a file; pictures are not written to standard output"});
  EXPECT_TRUE(has(run({"graph", "--help"}).out, "insert-vertices, delete-vertices"));
}

TEST_F(Messages, AllocatorsThatAreNotUsedAreChecked) {
  for (const char* command : {"bench", "build"})
    expect_error({command, "statue:1k", "--builder", "per-level", "--device", "cpu",
                  command == std::string("bench") ? "--allocators" : "--allocator", "foo"},
                 2, {"unknown allocator 'foo'"});
  const Outcome outcome = run({"bench", "statue:1k", "--builder", "per-level", "--allocators",
                               "atomic", "--device", "cpu", "--runs", "1"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "note: --allocators does not apply")) << outcome.err;
}

TEST_F(Messages, AFileMayBeNamedLikeAScene) {
  const std::string name = "statue:2k.obj";
  write_file(folder_ / name, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
  const Outcome outcome =
      shell("cd " + folder_.path().string() + " && $H build " + name + " --device cpu --runs 1");
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "1 triangle,") || has(outcome.out, "1 triangle\n")) << outcome.out;
}

TEST_F(Messages, AnErrorNamesTheAllocatorOnce) {
  const Outcome outcome = run(
      {"build", "statue:2k", "--allocator", "scatter:page=1M", "--pool", "1M", "--device", "cpu"});
  EXPECT_EQ(outcome.exit, 1) << outcome.err;
  EXPECT_EQ(outcome.err.rfind("heapwood: error: scatter:page=1M: statue:2k: a page of ", 0), 0u)
      << outcome.err;
}

// Where there is no GPU, the note about it comes when there is something to run.
TEST_F(Messages, AnErrorOfTheInputIsTheOnlyLine) {
  const std::string path = folder_ / "bad.obj";
  write_file(path, "f 1 2 3\n");
  for (const std::vector<std::string>& command : {std::vector<std::string>{"build", path},
                                                  {"bench", path},
                                                  {"render", path, "-o", folder_ / "a.png"},
                                                  {"trace", path}}) {
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.exit, 3);
    EXPECT_EQ(outcome.err.rfind("heapwood: error: ", 0), 0u) << outcome.err;
  }
}

TEST_F(Messages, OnlyZeroAreaTriangles) {
  const std::string path = folder_ / "flat.obj";
  write_file(path, "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\nf 1 1 2\n");
  expect_error({"build", path, "--device", "cpu"}, 3,
               {"flat.obj: all 2 triangles have zero area; see --keep-degenerate"});
}

TEST_F(Messages, ADryRunWritesNothing) {
  const std::string trace = folder_ / "a.trace", json = folder_ / "a.json";
  ASSERT_EQ(run({"build", "statue:1k", "--record-trace", trace, "--device", "cpu"}).exit, 0);
  EXPECT_EQ(run({"replay", trace, "--dry-run", "--format", "markdown"}).exit, 0);
  expect_error({"replay", trace, "--dry-run", "--json", json}, 2, {"--dry-run", "--json"});
  for (const char* format : {"json", "csv"})
    expect_error({"replay", trace, "--dry-run", "--format", format}, 2, {"--dry-run", "--format"});
  EXPECT_FALSE(std::filesystem::exists(json));
}

}  // namespace
}  // namespace heapwood::tests
