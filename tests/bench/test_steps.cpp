// SPDX-License-Identifier: MIT
// heapwood strings and heapwood particles: tables, JSON and --resume, shards, traces, errors.
#include <algorithm>

#include "alloc/recording/trace_file.hpp"
#include "tests/app/executable.hpp"

namespace heapwood::tests {
namespace {

struct StepsCommands : Executable, testing::WithParamInterface<const char*> {
  std::string command(const std::string& more, int runs = 1,
                      const std::string& allocators = "atomic,cmalloc,heapwood") const {
    return std::string(GetParam()) + " --device cpu --threads 2 --runs " + std::to_string(runs) +
           " --allocators " + allocators + " " + more;
  }
  bool is_strings() const { return std::string(GetParam()).starts_with("strings"); }
  std::string schema() const {
    return is_strings() ? "heapwood.strings/1" : "heapwood.particles/1";
  }
};

INSTANTIATE_TEST_SUITE_P(Workloads, StepsCommands,
                         testing::Values("strings --rows 300",
                                         "particles --particles 60 --rounds 20"),
                         [](const auto& test) {
                           return std::string(test.param).substr(0, 7) == "strings" ? "strings"
                                                                                    : "particles";
                         });

TEST_P(StepsCommands, PrintTables) {
  expect_words(output(command("--pool 32x,1M")),
               {"per second", "AtomicMalloc *", "Heapwood", "(32x)", "pool 1 MiB",
                "no allocator: ", "refused", "held / live", "device: cpu"});
  expect_words(output(command("--format markdown", 1, "heapwood")), {"| Heapwood"});
}

TEST_P(StepsCommands, WriteAndResumeJson) {
  const std::string path = folder_ / "steps.json";
  output(command("--json " + path, 3, "cmalloc"));
  const json before = json::parse(read_file(path));
  EXPECT_EQ(before["schema"], schema());
  const json& result = before["results"][0];
  EXPECT_EQ(result["status"], "ok") << result.dump(1);
  EXPECT_EQ(result["runs_ms"].size(), 3u);
  EXPECT_EQ(result["refused"], 0);
  EXPECT_GT(result["requests"], 100);
  EXPECT_GE(result["held_over_live"], 1.0);
  EXPECT_EQ(result["phases"].size(), is_strings() ? 7u : 1u);
  EXPECT_EQ(result["phases"][0]["runs_ms"].size(), 3u);
  EXPECT_GT(result["phases"][0]["items_per_second"], 0);
  EXPECT_GE(result["memory"].size(), 7u);
  output(command("--resume --json " + path, 3));
  const json after = json::parse(read_file(path));
  const std::size_t pools = is_strings() ? 2 : 3, baselines = is_strings() ? 1 : 3;
  ASSERT_EQ(after["results"].size(), 3 * pools + baselines);
  EXPECT_EQ(after["results"][1]["allocator"], "cmalloc");
  EXPECT_EQ(after["results"][1]["runs_ms"], result["runs_ms"]);
  output("compare " + path + " " + path);
  if (is_strings()) return;
  // Results of another number of rounds stay in the file and are not reused.
  output(command("--resume --pool 4x --rounds 21 --json " + path, 3, "cmalloc").erase(24, 12));
  EXPECT_EQ(json::parse(read_file(path))["results"].size(), 3 * pools + baselines + 2);
}

TEST_P(StepsCommands, ShardsAreMerged) {
  std::vector<std::string> parts;
  std::size_t results = 0;
  for (const char* number : {"1", "2", "3"}) {
    parts.push_back(folder_ / std::string("part") + number + ".json");
    output(command("--pool 8x --shard " + std::string(number) + "/3 --json " + parts.back()));
    results += json::parse(read_file(parts.back()))["results"].size();
  }
  EXPECT_EQ(results, 4u);  // three allocators and the method without one
  output("merge " + (folder_ / "all.json ") + parts[0] + " " + parts[1] + " " + parts[2]);
  EXPECT_EQ(json::parse(read_file(folder_ / "all.json"))["results"].size(), 4u);
}

TEST_P(StepsCommands, RefusedRequestsAreReported) {
  const std::string large =
      std::string(is_strings() ? "strings --rows 3K"
                               : "particles --population doubling --particles 3K --rounds 20") +
      " --device cpu --threads 2 --runs 1 --allocators cmalloc --pool 64K";
  expect_words(output(large), {"requests refused"});
  EXPECT_EQ(run(large + " --strict").exit, 5);
}

TEST_P(StepsCommands, CsvHasALinePerStep) {
  const std::string outcome = output(command("--format csv --pool 8x"));
  EXPECT_EQ(std::ranges::count(outcome, '\n'), is_strings() ? 1 + 4 * 7 : 1 + 4) << outcome;
}

TEST_P(StepsCommands, RecordATraceThatReplays) {
  const std::string path = folder_ / "steps.trace";
  output(command("--record-trace " + path));
  const alloc::ProgramTrace trace = alloc::read_program_trace(read_file(path), path);
  EXPECT_EQ(trace.dropped + trace.refused + trace.unmatched, 0u);
  EXPECT_GT(trace.requests, 300u);
  EXPECT_GE(trace.kernel_ends.size(), is_strings() ? 6u : 20u);
  EXPECT_EQ(trace.source.find(is_strings() ? "300 random rows" : "60 particles, steady"), 0u);
  output("replay " + path + " --device cpu --threads 2 --runs 1 --allocators heapwood");
  expect_error(command("--record-trace " + path + " --json a.json"), 2, {"--record-trace"});
}

using StepsErrors = Executable;

TEST_F(StepsErrors, UnusableTextFiles) {
  write_file(folder_ / "empty.txt", "");
  expect_error("strings " + (folder_ / "empty.txt") + " --device cpu", 3,
               {"empty.txt", "no lines"});
  expect_error("strings " + folder_.path().string() + " --device cpu", 3, {"directory"});
}

}  // namespace
}  // namespace heapwood::tests
