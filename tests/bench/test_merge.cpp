// SPDX-License-Identifier: MIT
// --shard and heapwood merge.
#include <gtest/gtest.h>

#include <set>

#include "bench/compare/compare.hpp"
#include "tests/errors.hpp"

namespace heapwood::bench {
namespace {

TEST(MergeShard, ShardsAreTheWhole) {
  std::vector<int> cases;
  for (int i = 0; i < 23; ++i) cases.push_back(i);
  for (const std::size_t count : {1, 2, 7, 30}) {
    std::multiset<int> all;
    for (std::size_t number = 1; number <= count; ++number) {
      const std::vector<int> some = shard_of(cases, {number, count});
      EXPECT_LE(some.size(), cases.size() / count + 1);
      all.insert(some.begin(), some.end());
    }
    EXPECT_EQ(std::vector<int>(all.begin(), all.end()), cases);
  }
}

TEST(MergeShard, ReadsTextAndTheVariablesOfSlurm) {
  EXPECT_EQ(parse_shard("2/4"), (Shard{2, 4}));
  for (const char* wrong : {"0/2", "3/2", "2", "1/0", "a/b", "1/2/3", "-1/2", ""})
    EXPECT_THROW(parse_shard(wrong), Error) << wrong;
  EXPECT_EQ(shard_of_array({}), Shard{});
  EXPECT_EQ(shard_of_array({"0", "0", "7", "1", "8"}), (Shard{1, 8}));
  EXPECT_EQ(shard_of_array({"8", "1", "8", "", "8"}), (Shard{8, 8}));
  EXPECT_EQ(shard_of_array({"14", "10", "18", "4", "3"}), (Shard{2, 3}));
  EXPECT_TRUE(shard_of_array({"3", "3", "3", "1", "1"}).is_whole());  // sbatch --array=3
  EXPECT_THROW(shard_of_array({"3", "1", "7", "1", "3"}), Error);     // sbatch --array=1,3,7
  EXPECT_THROW(shard_of_array({"x", "1", "7", "1", "7"}), Error);
  EXPECT_THROW(shard_of_array({"2", "", "", "", ""}), Error);
}

// Shard `number` of 3 of a `bench` of these scenes.
ResultsFile shard(std::size_t number, const std::vector<std::string>& scenes) {
  Json file{
      {"schema", bench_schema},
      {"argv",
       {"heapwood", "bench", "a", "--shard", std::to_string(number) + "/3", "--json=x", "--resume",
        "-o" + std::to_string(number) + "_###.png"}},
      {"version", "1"},
      {"git", {{"sha", "abc"}, {"dirty", false}}},
      {"device", {{"kind", "cuda"}, {"name", "GPU"}, {"driver", "1"}, {"memory_bytes", number}}},
      {"results", Json::array()}};
  add_shard(file, {number, 3});
  for (const std::string& scene : scenes) {
    file["results"].push_back({{"source", scene},
                               {"allocator", "atomic"},
                               {"settings", {{"runs", 2}}},
                               {"status", "ok"},
                               {"runs_ms", {1.5, double(number)}}});
  }
  return {"shard" + std::to_string(number), bench_schema, file};
}

ResultsFile as_earlier(const Merged& merged) { return {"all", bench_schema, merged.json}; }

std::vector<std::string> sources(const Merged& merged) {
  std::vector<std::string> all;
  for (const Json& result : merged.json["results"]) all.push_back(result["source"]);
  return all;
}

template <class F>
void expect_refusal(const std::string& file, const char* text, F f) {
  tests::expect_error(Exit::usage, {file + ": ", text}, f);
}

TEST(MergeResults, MergingIsIdempotentAndResumable) {
  const ResultsFile one = shard(1, {"a", "d"}), two = shard(2, {"b"}), three = shard(3, {"c"});
  const Merged all = merge_results({}, {three, one, two}, false);
  EXPECT_EQ(sources(all), (std::vector<std::string>{"a", "d", "b", "c"}));
  EXPECT_TRUE(all.missing.empty());
  EXPECT_EQ(all.json["shards"].size(), 3u);
  EXPECT_EQ(all.json["argv"], Json({"heapwood", "bench", "a"}));
  EXPECT_FALSE(all.json.contains("shard"));
  const std::string text = json_text(all.json);
  EXPECT_EQ(json_text(merge_results({}, {one, two, three, one}, false).json), text);
  EXPECT_EQ(json_text(merge_results(as_earlier(all), {two, one, three}, false).json), text);
  EXPECT_EQ(json_text(merge_results(as_earlier(all), {two}, false).json["results"]),
            json_text(all.json["results"]));
  // Shards can be merged one by one, as they end.
  const Merged first = merge_results({}, {two}, false);
  EXPECT_EQ(first.missing, (std::vector<std::string>{"shard 1 of 3", "shard 3 of 3"}));
  const Merged second = merge_results(as_earlier(first), {three}, false);
  EXPECT_EQ(second.missing, std::vector<std::string>{"shard 1 of 3"});
  const Merged third = merge_results(as_earlier(second), {one}, false);
  EXPECT_TRUE(third.missing.empty());
  EXPECT_EQ(sources(third), sources(all));
}

TEST(MergeResults, NothingIsLost) {
  ResultsFile one = shard(1, {"a", "d"});
  const Merged before = merge_results({}, {one}, false);
  // The task was killed and started again: it has fewer results now, and one has failed.
  one.json["results"] = Json::array({one.json["results"][0]});
  one.json["results"][0]["status"] = "skipped";
  const Merged after = merge_results(as_earlier(before), {one}, false);
  EXPECT_EQ(sources(after), (std::vector<std::string>{"a", "d"}));
  EXPECT_EQ(after.failed, 0u);
  // If a scene is measured again, the new result counts.
  one = shard(1, {"a", "d"});
  one.json["results"][0]["runs_ms"] = {7, 8};
  const Merged again = merge_results(as_earlier(before), {one}, false);
  EXPECT_EQ(again.json["results"][0]["runs_ms"], Json({7, 8}));
}

// `bench` writes its file after each scene and says how many are left.
TEST(MergeResults, ScenesOfKilledShardsAreMissing) {
  ResultsFile one = shard(1, {"a"});
  one.json["remaining_scenes"] = 1;
  const ResultsFile two = shard(2, {"b"}), three = shard(3, {"c"});
  const Merged part = merge_results({}, {one, two, three}, false);
  EXPECT_EQ(part.missing, std::vector<std::string>{"1 scene of shard 1 of 3"});
  EXPECT_FALSE(part.json.contains("remaining_scenes"));
  const Merged again = merge_results(as_earlier(part), {one}, false);
  EXPECT_EQ(again.missing, part.missing);
  EXPECT_EQ(json_text(merge_results(as_earlier(again), {one, two, three}, false).json),
            json_text(part.json));
  const Merged all = merge_results(as_earlier(part), {shard(1, {"a", "d"})}, false);
  EXPECT_TRUE(all.missing.empty());
  // Complete scenes stay complete if the shard is measured again and killed.
  EXPECT_TRUE(merge_results(as_earlier(all), {one}, false).missing.empty());
  // A file that is no shard.
  one.json.erase("shard");
  one.json["remaining_scenes"] = 2;
  EXPECT_EQ(merge_results({}, {one}, false).missing, std::vector<std::string>{"2 scenes"});
}

// Every command says in its file that it ended after Ctrl-C.
TEST(MergeResults, TheRestOfAnInterruptedRunIsMissing) {
  ResultsFile one = shard(1, {"a"});
  one.json["interrupted"] = true;
  const ResultsFile two = shard(2, {"b"}), three = shard(3, {"c"});
  const Merged part = merge_results({}, {one, two, three}, false);
  EXPECT_EQ(part.missing, std::vector<std::string>{"the rest of shard 1 of 3"});
  EXPECT_FALSE(part.json.contains("interrupted"));
  EXPECT_EQ(merge_results(as_earlier(part), {two}, false).missing, part.missing);
  const Merged all = merge_results(as_earlier(part), {shard(1, {"a", "d"})}, false);
  EXPECT_TRUE(all.missing.empty());
  EXPECT_TRUE(merge_results(as_earlier(all), {one}, false).missing.empty());
  one.json.erase("shard");
  EXPECT_EQ(merge_results({}, {one}, false).missing,
            std::vector<std::string>{"the rest of an interrupted run"});
  one.json["remaining_scenes"] = 2;
  EXPECT_EQ(merge_results({}, {one}, false).missing, std::vector<std::string>{"2 scenes"});
}

TEST(MergeResults, OtherSweepsAreRefused) {
  const ResultsFile one = shard(1, {"a"});
  const auto refuses = [&](const char* text, auto change) {
    ResultsFile two = shard(2, {"b"});
    change(two.json);
    two.schema = two.json["schema"];
    expect_refusal("shard2", text, [&] { merge_results({}, {one, two}, false); });
  };
  refuses("one command", [](Json& json) { json["schema"] = "heapwood.stress/1"; });
  refuses("--allow-mixed", [](Json& json) { json["device"]["name"] = "other"; });
  refuses("--allow-mixed", [](Json& json) { json["device"]["driver"] = "2"; });
  refuses("commit", [](Json& json) { json["git"]["sha"] = "def"; });
  refuses("command line", [](Json& json) { json["argv"].push_back("--runs"); });
  refuses("one split", [](Json& json) { json["shard"]["count"] = 4; });
  refuses("another result", [](Json& json) { json["results"][0]["source"] = "a"; });
  expect_refusal("shard1", "as is", [&] {
    ResultsFile same = one;
    same.json["results"][0]["source"] = "z";
    merge_results({}, {one, same}, false);
  });
  expect_refusal("all", "commit", [&] {
    ResultsFile earlier = as_earlier(merge_results({}, {one}, false));
    earlier.json["git"]["sha"] = "def";
    merge_results(earlier, {one}, false);
  });
}

ResultsFile measured_with(ResultsFile file, const char* gpu, const char* driver) {
  file.json["device_record"] = {
      {"uuid_hash", gpu}, {"driver_version", driver}, {"before", {{"sm_clock_mhz", 345}}}};
  return file;
}

TEST(MergeResults, ResultsNameTheirGpu) {
  const ResultsFile one = measured_with(shard(1, {"a"}), "11", "580.1"),
                    two = measured_with(shard(2, {"b"}), "22", "580.1"), three = shard(3, {"c"});
  const Merged all = merge_results({}, {one, two, three}, false);
  EXPECT_EQ(all.json["results"][0]["gpu"], "11");
  EXPECT_EQ(all.json["results"][1]["gpu"], "22");
  EXPECT_FALSE(all.json["results"][2].contains("gpu"));  // its GPU is not known
  EXPECT_FALSE(all.json.contains("device_record"));
  EXPECT_EQ(all.json["shards"][1]["device_record"], two.json["device_record"]);
  EXPECT_EQ(as_earlier(all).recorded("uuid_hash"), (std::set<std::string>{"11", "22"}));
  const std::string text = json_text(all.json);
  EXPECT_EQ(json_text(merge_results(as_earlier(all), {three, two, one}, false).json), text);
}

TEST(MergeResults, MixedDevicesAndDriversStayApart) {
  const ResultsFile one = measured_with(shard(1, {"a"}), "11", "580.1"),
                    two = measured_with(shard(2, {"a"}), "11", "580.2");
  ResultsFile three = shard(3, {"a"});
  three.json["device"]["name"] = "other";
  expect_refusal("shard2", "driver", [&] { merge_results({}, {one, two}, false); });
  const Merged mixed = merge_results({}, {one, two, three}, true);
  EXPECT_EQ(mixed.json["results"][0]["measured_on"], "GPU, 1, 580.1");
  EXPECT_EQ(mixed.json["results"][1]["measured_on"], "GPU, 1, 580.2");
  EXPECT_EQ(mixed.json["results"][2]["measured_on"], "other, 1");
  EXPECT_EQ(cells_of(as_earlier(mixed)).size(), 3u);
  EXPECT_EQ(json_text(merge_results(as_earlier(mixed), {three, two, one}, true).json),
            json_text(mixed.json));
}

// In an array whose tasks have several GPUs, each task has merged its shards.
TEST(MergeResults, MergedFilesAreMerged) {
  const ResultsFile one = shard(1, {"a"}), two = shard(2, {"b"}), three = shard(3, {"c"});
  const Merged part = merge_results({}, {one, three}, false);
  EXPECT_EQ(part.missing, std::vector<std::string>{"shard 2 of 3"});
  const Merged all = merge_results({}, {as_earlier(part), two}, false);
  EXPECT_TRUE(all.missing.empty());
  EXPECT_EQ(json_text(all.json["results"]),
            json_text(merge_results({}, {one, two, three}, false).json["results"]));
  EXPECT_EQ(all.json["shards"].size(), 3u);
  ResultsFile other = shard(2, {"b"});
  other.json["shard"]["count"] = 4;
  expect_refusal("shard2", "one split", [&] {
    merge_results({}, {other, as_earlier(part)}, false);
  });
}

// A choice is among the allocators of one file.
TEST(MergeResults, AChoiceIsNotOfTheMergedFile) {
  std::vector<ResultsFile> files{shard(1, {"a"}), shard(1, {"b"})};
  for (ResultsFile& file : files) {
    file.json.erase("shard");
    file.json["choice"] = {{"text", "For speed, use atomic."}};
  }
  const Merged merged = merge_results({}, files, false);
  EXPECT_EQ(sources(merged).size(), 2u);
  EXPECT_FALSE(merged.json.contains("choice"));
}

TEST(MergeResults, PartsOfAReproductionAreMerged) {
  const auto part = [](const char* path, const char* sha, const std::vector<std::string>& keys) {
    Json file{{"schema", "heapwood.reproduce/1"},
              {"device", {{"kind", "cuda"}, {"name", "GPU"}}},
              {"scale", "full"},
              {"runs", Json::array({{{"git", {{"sha", sha}}}, {"started", path}}})},
              {"items", Json::array({{{"id", "x"}, {"cases", {"k1", "k2", "k3"}}}})},
              {"cases", Json::array()}};
    for (const std::string& key : keys)
      file["cases"].push_back(
          {{"key", key},
           {"run", 0u},
           {"seconds", 1},
           {"results", Json::array({{{"allocator", "atomic"}, {"status", "ok"}}})}});
    return ResultsFile{path, "heapwood.reproduce/1", file};
  };
  const ResultsFile one = part("1", "abc", {"k1", "k3"}), two = part("2", "abc", {"k2"});
  const Merged half = merge_results({}, {one}, false);
  EXPECT_EQ(half.missing, std::vector<std::string>{"1 of 3 cases"});
  const ResultsFile earlier{"all", "heapwood.reproduce/1", half.json};
  const Merged all = merge_results(earlier, {two}, false);
  EXPECT_TRUE(all.missing.empty());
  EXPECT_EQ(all.json["runs"].size(), 2u);
  ASSERT_EQ(all.json["cases"].size(), 3u);
  for (const Json& one_case : all.json["cases"]) {
    const bool is_second = one_case["key"] == "k2";
    EXPECT_EQ(all.json["runs"][one_case["run"].get<std::size_t>()]["started"],
              is_second ? "2" : "1");
  }
  // Another file of the same part, whose run has a later state of the GPU.
  ResultsFile more = part("2", "abc", {"k2"});
  more.json["runs"][0]["device_record"] = {{"uuid_hash", "22"}};
  const Merged again =
      merge_results(ResultsFile{"all", "heapwood.reproduce/1", all.json}, {more}, false);
  EXPECT_EQ(again.json["runs"].size(), 2u);
  EXPECT_EQ(again.json["runs"][0]["device_record"]["uuid_hash"], "22");
  expect_refusal("2", "commit", [&] { merge_results({}, {one, part("2", "def", {"k2"})}, false); });
  const auto with = [](ResultsFile file, const std::vector<std::string>& words) {
    file.json["runs"][0]["argv"] = words;
    return file;
  };
  // Other items and parts are of one reproduction, other settings are not.
  const ResultsFile items = with(
      one, {"heapwood", "reproduce", "x", "--allocators", "bulk", "--part", "1/2", "--out", "a"});
  const ResultsFile others =
      with(two, {"heapwood", "reproduce", "y", "--allocators=bulk", "--out", "b"});
  const ResultsFile other = with(two, {"heapwood", "reproduce", "x", "--allocators", "heapwood"});
  EXPECT_EQ(merge_results({}, {items, others}, false).json["cases"].size(), 3u);
  expect_refusal("2", "--allow-mixed", [&] { merge_results({}, {items, other}, false); });
  EXPECT_EQ(merge_results({}, {items, other}, true).json["cases"].size(), 3u);
}

}  // namespace
}  // namespace heapwood::bench
