// SPDX-License-Identifier: MIT
// The Compare tab, whose bars appear while a comparison runs.
#include <set>

#include "tests/viewer/program.hpp"
#include "viewer/comparison.hpp"

namespace heapwood::viewer {

namespace {

bench::BenchJob job_with(const std::vector<std::string>& ids, int runs) {
  bench::BenchJob job;
  job.scenes = {"pipes:1k"};
  for (const std::string& id : ids) job.allocators.push_back(registry::find(id));
  job.settings.runs = runs;
  job.device = simt::find_device("cpu", 2);
  return job;
}

// Results have the job's order, whatever order they were measured in, also while it runs.
TEST(Comparison, ResultsKeepTheirOrder) {
  const std::vector<std::string> ids{"atomic", "cmalloc", "cfmmalloc", "scatter"};
  const auto ids_of = [](const std::vector<bench::Result>& results) {
    std::vector<std::string> all;
    for (const bench::Result& result : results) all.push_back(result.allocator);
    return all;
  };
  std::size_t parts = 0;
  bench::BenchJob job = job_with(ids, 3);
  job.pool_probe = registry::find("atomic");
  const auto progress = [](std::size_t done, std::size_t total, const std::string&) {
    EXPECT_LE(done, total);
  };
  const auto partial = [&](std::vector<bench::Result> part) {
    ++parts;
    EXPECT_EQ(ids_of(part), ids);
    for (const CompareRow& row : compare_rows(part, true)) {
      EXPECT_FALSE(row.best || row.noisy);
      if (row.waiting) {
        EXPECT_EQ(row.ms, "waiting");
      }
    }
  };
  const auto results = compare_builds(job, {progress, partial, [](auto&, auto&) {}}).results;
  EXPECT_GT(parts, 0u);
  EXPECT_EQ(ids_of(results), ids);
  for (const bench::Result& result : results) {
    EXPECT_EQ(result.status, bench::Status::ok) << result.reason;
    EXPECT_EQ(result.runs_ms.size(), 3u);
    EXPECT_FALSE(is_waiting(result));
  }
}

// Builds of the same order in every comparison would have the same neighbours.
TEST(Comparison, TheOrderOfBuildsVaries) {
  const bench::BenchJob job = job_with({"atomic", "cmalloc", "cfmmalloc", "scatter"}, 1);
  std::set<std::vector<std::string>> orders;
  for (int i = 0; i < 12; ++i) {
    std::vector<std::string> order;
    compare_builds(job, {[](auto, auto, const auto&) {}, [](auto) {},
                         [&](auto&, bench::Result& result) { order.push_back(result.allocator); }});
    EXPECT_EQ(order.size(), 4u);
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 1u);
}

}  // namespace

}  // namespace heapwood::viewer

namespace heapwood::tests {

namespace {

class Compare : public Program {};

TEST_F(Compare, BarsAppearWhileItRuns) {
  run("pipes:1k --runs 9 --mode normals --spp 1 --size 1280x900",
      "wait built; key C; wait bars 2; report @early; wait compared; report @end");
  const Json early = json("early"), end = json("end");
  EXPECT_EQ(early["comparing"], true);
  EXPECT_EQ(end["comparing"], false);
  ASSERT_EQ(early["table"].size(), end["table"].size());
  for (std::size_t i = 0; i < end["table"].size(); ++i) {
    EXPECT_EQ(early["table"][i][0], end["table"][i][0]);
    EXPECT_EQ(early["table"][i][4], false);  // none is the fastest so far
    EXPECT_NE(end["table"][i][1], "waiting");
  }
}

}  // namespace

}  // namespace heapwood::tests
