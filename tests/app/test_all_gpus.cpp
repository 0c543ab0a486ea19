// SPDX-License-Identifier: MIT
// --device cuda:all, with CPU devices in place of GPUs.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/all_gpus.hpp"
#include "simt/device.hpp"
#include "tests/app/executable.hpp"

namespace heapwood::tests {
namespace {

using app::AllGpusCommand;
using app::DeviceProcess;
using nlohmann::json;
using Words = std::vector<std::string>;

TEST(AllGpusArguments, OfOneProcess) {
  AllGpusCommand command;
  command.name = "bench";
  command.argv = {"heapwood", "--host-allocator",  "bench",   "bench",
                  "a",        "--device=cuda:all", "--shard", "2/3",
                  "--json",   "out.json",          "b",       "--runs",
                  "3",        "--format=csv",      "--",      "--json"};
  command.results = "out.json";
  command.format = "csv";
  EXPECT_EQ(app::process_arguments(command, "cuda:1", {5, 6}, "out.cuda1.json"),
            (Words{"heapwood", "--host-allocator", "bench", "bench", "--device", "cuda:1",
                   "--shard", "5/6", "--json", "out.cuda1.json", "--format", "csv", "a", "b",
                   "--runs", "3", "--", "--json"}));
  command.format = "json";
  const Words words = app::process_arguments(command, "cuda:1", {1, 1}, "");
  EXPECT_EQ(std::count(words.begin(), words.end(), "--json"), 1);  // behind "--"
  EXPECT_EQ(app::process_results(command, "cuda:1"), "out.cuda1.json");
  command.results = "a.b/out";
  EXPECT_EQ(app::process_results(command, "cuda:1"), "a.b/out.cuda1");
  command.has_folder = true;
  EXPECT_EQ(app::process_results(command, "cuda:1"), "a.b/out/cuda1");
}

class AllGpus : public Executable {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  AllGpusCommand stress(const std::string& format = "table", const Words& more = {}) const {
    AllGpusCommand command;
    command.name = "stress";
    command.argv = {"heapwood", "stress",   "alloc",    "--payload", "16,64,256", "--requests",
                    "64",       "--runs",   "2",        "--pool",    "1M",        "--allocators",
                    "atomic",   "--device", "cuda:all", "--threads", "1"};
    command.argv.insert(command.argv.end(), more.begin(), more.end());
    command.shard = "1/1";
    command.results = path("all.json");
    command.format = format;
    return command;
  }
  std::string measure(const AllGpusCommand& command) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    error_.reset();
    try {
      measure_on(command, binary_, devices_);
    } catch (const Error& error) {
      error_ = error;
    }
    errors_ = testing::internal::GetCapturedStderr();
    return testing::internal::GetCapturedStdout();
  }
  json results(const std::string& name) const { return json::parse(read_file(path(name))); }

  std::vector<DeviceProcess> devices_{{"cpu:a", "cpu"}, {"cpu:b", "cpu"}};
  std::optional<Error> error_;
  std::string errors_;
};

TEST_F(AllGpus, ShardsSideBySideInOneFile) {
  const std::string out = measure(stress());
  ASSERT_FALSE(error_) << error_->what();
  EXPECT_EQ(out.rfind("cpu:a\n\n", 0), 0u) << out;
  EXPECT_NE(out.find("\ncpu:b\n\n"), std::string::npos) << out;
  const json all = results("all.json");
  EXPECT_EQ(all.at("results").size(), 3u);
  EXPECT_EQ(all.at("shards").size(), 2u);
  EXPECT_EQ(all.at("results")[0].at("shard"), 1);
  EXPECT_EQ(results("all.cpua.json").at("results").size(), 2u);
  EXPECT_EQ(results("all.cpub.json").at("shard"), json({{"number", 2}, {"count", 2}}));
  EXPECT_EQ(
      run({"merge", "--strict", path("again"), path("all.cpua.json"), path("all.cpub.json")}).exit,
      0);
  EXPECT_EQ(results("again").at("results"), all.at("results"));
}

TEST_F(AllGpus, AShardOfASweep) {
  AllGpusCommand command = stress();
  command.shard = "2/2";
  measure(command);
  ASSERT_FALSE(error_) << error_->what();
  EXPECT_EQ(results("all.cpua.json").at("shard"), json({{"number", 2}, {"count", 4}}));
  EXPECT_EQ(results("all.cpub.json").at("shard"), json({{"number", 4}, {"count", 4}}));
  EXPECT_NE(errors_.find("note: cpu:b: shard 4/4: nothing to measure"), std::string::npos)
      << errors_;
  // Files of merge can be merged.
  command.shard = "1/2";
  command.results = path("first.json");
  measure(command);
  const Outcome merged =
      run({"merge", "--strict", path("sweep"), path("all.json"), path("first.json")});
  EXPECT_EQ(merged.exit, 0) << merged.err;
  EXPECT_EQ(results("sweep").at("results").size(), 3u);
  EXPECT_EQ(results("sweep").at("shards").size(), 4u);
}

TEST_F(AllGpus, FormatsForPrograms) {
  const std::string csv = measure(stress("csv"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4) << csv;
  EXPECT_EQ(csv.rfind("device,", 0), 0u) << csv;
  EXPECT_NE(csv.find("\ncpu:b,"), std::string::npos) << csv;
  AllGpusCommand command = stress("json");
  command.results = "";
  EXPECT_EQ(json::parse(measure(command)).at("results").size(), 3u);
}

TEST_F(AllGpus, TheOthersResultsAreKept) {
  devices_[1].device = "cuda:77";
  const std::string out = measure(stress());
  ASSERT_TRUE(error_);
  EXPECT_EQ(error_->exit(), Exit::device);
  const std::string text = error_->what();
  EXPECT_EQ(text.rfind("stress: cpu:b: ", 0), 0u) << text;
  EXPECT_NE(text.find("cuda:77"), std::string::npos) << text;
  EXPECT_NE(text.find("; 2 results are in " + path("all.json")), std::string::npos) << text;
  EXPECT_EQ(results("all.json").at("results").size(), 2u);
  EXPECT_NE(out.find("cpu:a"), std::string::npos);
  EXPECT_EQ(out.find("cpu:b"), std::string::npos);
}

TEST_F(AllGpus, WrongUsageIsOneLine) {
  measure(stress("table", {"--order", "none"}));
  ASSERT_TRUE(error_);
  EXPECT_EQ(error_->exit(), Exit::usage);
  EXPECT_EQ(std::string(error_->what()).rfind("stress: cpu:a, cpu:b: ", 0), 0u) << error_->what();
  EXPECT_EQ(std::string(error_->what()).find('\n'), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path("all.json")));
}

// A file that an earlier command wrote has no results of this one.
TEST_F(AllGpus, EarlierFilesAreNotResults) {
  measure(stress());
  devices_[1].device = "cuda:77";
  measure(stress());
  ASSERT_TRUE(error_);
  EXPECT_EQ(results("all.json").at("results").size(), 2u);
}

TEST_F(AllGpus, PartsOfAReproduction) {
  AllGpusCommand command;
  command.name = "reproduce";
  command.argv = {"heapwood", "reproduce", "regeff-3a", "--allocators", "atomic",
                  "--out",    path("out"), "--device",  "cuda:all"};
  command.shard = "1/1";
  command.results = path("out");
  command.has_folder = command.keeps_results = true;
  measure(command);
  ASSERT_FALSE(error_) << error_->what();
  const std::size_t cases = results("out/results.json").at("cases").size();
  EXPECT_GT(cases, 1u);
  EXPECT_EQ(results("out/results.json").at("runs").size(), 2u);
  measure(command);  // nothing is left to measure
  ASSERT_FALSE(error_) << error_->what();
  EXPECT_EQ(results("out/results.json").at("cases").size(), cases);
}

TEST_F(AllGpus, OnTheCommandLine) {
  for (const Words& words :
       {Words{"animate", "statue~", "-o", path("###.png")}, Words{"stress", "semaphore"},
        Words{"stress", "lifetimes", "--record-trace", path("t")},
        Words{"graph", "rgg:1k", "--record-trace", path("t")},
        Words{"--host-trace", path("t"), "bench", "atrium:1k"}, Words{"reproduce", "--list"}}) {
    Words all = words;
    all.insert(all.end(), {"--device", "cuda:all"});
    expect_error(all, 2, {"cuda:all"});
  }
  expect_error({"build", "atrium:1k", "--device", "cuda:all"}, 2, {"cuda:all"});
  if (simt::list_devices().front().usable) GTEST_SKIP() << "there is a GPU";
  expect_error({"bench", "atrium:1k", "--device", "cuda:all"}, 4, {"cuda:all"});
}

}  // namespace
}  // namespace heapwood::tests
