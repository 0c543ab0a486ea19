// SPDX-License-Identifier: MIT
// --resume: an earlier result stays until the new one has as many runs; a file has one result per
// measurement.
#include <gtest/gtest.h>

#include "bench/earlier_results.hpp"

namespace heapwood::bench {
namespace {

Json result(const char* source, const char* status, std::size_t runs) {
  return {{"source", source},      {"builder", "single-kernel"},
          {"allocator", "atomic"}, {"settings", {{"runs", 9}}},
          {"status", status},      {"runs_ms", std::vector<double>(runs, 1.0)}};
}

// The runs of the results after add_earlier().
std::vector<std::size_t> kept(std::vector<Json> now, const std::vector<Json>& earlier) {
  Json report{{"results", now}};
  add_earlier(report, earlier);
  std::vector<std::size_t> runs;
  for (const Json& one : report["results"]) runs.push_back(one["runs_ms"].size());
  return runs;
}

TEST(EarlierResults, StayUntilTheNewOnesAreAsGood) {
  using Runs = std::vector<std::size_t>;
  const Json five = result("a", "ok", 5);
  EXPECT_EQ(kept({result("a", "ok", 4)}, {five}), Runs{5});
  EXPECT_EQ(kept({result("a", "ok", 5)}, {five}), Runs{5});
  EXPECT_EQ(kept({result("a", "ok", 6)}, {five}), Runs{6});
  EXPECT_EQ(kept({result("a", "skipped", 0)}, {five}), Runs{5});
  EXPECT_EQ(kept({result("a", "failed", 6)}, {five}), Runs{5});
  EXPECT_EQ(kept({result("a", "ok", 2)}, {result("a", "failed", 5)}), Runs{2});
  // Not measured yet, or of something else.
  EXPECT_EQ(kept({}, {five}), Runs{5});
  EXPECT_EQ(kept({result("b", "ok", 2)}, {five}), (Runs{2, 5}));
  // A wrong tree is a result: the earlier one may be as wrong.
  Json wrong = result("a", "failed", 0);
  wrong["wrong_tree"] = true;
  EXPECT_EQ(kept({wrong}, {five}), Runs{0});
}

TEST(EarlierResults, TheSameResultIsReplacedAndOthersAreNot) {
  Json report{{"results", {result("a", "ok", 4), result("b", "ok", 4)}}};
  EXPECT_EQ(add_earlier(report, {result("b", "incomplete", 5)}), 1u);
  EXPECT_EQ(report["results"][0]["runs_ms"].size(), 4u);
  EXPECT_EQ(report["results"][1]["status"], "incomplete");
}

// `compare` and `merge` identify a result without these settings.
TEST(EarlierResults, OtherRunsAndLimitsAreTheSameMeasurement) {
  using Runs = std::vector<std::size_t>;
  Json nine = result("a", "ok", 9), other_runs = result("a", "ok", 2);
  other_runs["settings"] = {{"runs", 2}, {"timeout_s", 5}, {"seconds", 5}, {"samples", 5}};
  EXPECT_EQ(kept({other_runs}, {nine}), Runs{2});
  EXPECT_EQ(kept({nine}, {other_runs}), Runs{9});
  other_runs["status"] = "skipped";
  EXPECT_EQ(kept({other_runs}, {nine}), Runs{9});
  other_runs["settings"]["refs"] = "ids";
  EXPECT_EQ(kept({other_runs}, {nine}), (Runs{2, 9}));
}

TEST(EarlierResults, ChangedAndMovedFiles) {
  using Runs = std::vector<std::size_t>;
  Json now = result("folder/a.obj", "ok", 5), earlier = result("folder/a.obj", "ok", 5);
  now["digest"] = "1";
  earlier["digest"] = "2";
  EXPECT_EQ(kept({now}, {earlier}), Runs{5});
  earlier["source"] = "moved/a.obj";
  EXPECT_EQ(kept({now}, {earlier}), (Runs{5, 5}));
  earlier["digest"] = "1";
  EXPECT_EQ(kept({now}, {earlier}), Runs{5});
  earlier = result("folder/a.obj", "ok", 5);  // of a version without digests
  EXPECT_EQ(kept({now}, {earlier}), Runs{5});
}

// A graph has the name of its file, which files in other folders may have too.
TEST(EarlierResults, GraphsOfTheSameNameStay) {
  using Runs = std::vector<std::size_t>;
  Json now{{"graph", "roads"},           {"digest", "1"},  {"layout", "csr"},
           {"settings", Json::object()}, {"status", "ok"}, {"runs_ms", {1.0}}};
  Json earlier = now;
  earlier["runs_ms"] = {1.0, 2.0};
  EXPECT_EQ(kept({now}, {earlier}), Runs{2});
  earlier["digest"] = "2";
  EXPECT_EQ(kept({now}, {earlier}), (Runs{1, 2}));
}

}  // namespace
}  // namespace heapwood::bench
