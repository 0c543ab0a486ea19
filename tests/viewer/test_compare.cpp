// SPDX-License-Identifier: MIT
// The Compare tab: bars while a comparison runs, and the sweep over sizes of the pool.
#include <set>

#include "bench/results/bench_table.hpp"
#include "bench/results/format.hpp"
#include "tests/viewer/program.hpp"
#include "viewer/comparison.hpp"

namespace heapwood::viewer {

namespace {

using tests::has;

bench::BenchJob job_with(const std::vector<std::string>& ids, int runs) {
  bench::BenchJob job;
  job.scenes = {"pipes:1k"};
  for (const std::string& id : ids) job.allocators.push_back(registry::find(id));
  job.settings.runs = runs;
  job.device = simt::find_device("cpu", 2);
  return job;
}

std::vector<bench::Result> compared(
    const std::vector<std::string>& ids, const std::vector<std::string>& pools,
    const std::function<void(std::vector<bench::Result>)>& partial) {
  bench::BenchJob job = job_with(ids, 3);
  job.pool_probe = registry::find("atomic");
  std::vector<bench::PoolSize> sizes;
  for (const std::string& text : pools) sizes.push_back(bench::parse_pool(text));
  const auto progress = [](std::size_t done, std::size_t total, const std::string&) {
    EXPECT_LE(done, total);
  };
  return compare_builds(job, sizes, {progress, partial, [](auto&, auto&) {}}).results;
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
  const auto results = compared(ids, {}, [&](std::vector<bench::Result> part) {
    ++parts;
    EXPECT_EQ(ids_of(part), ids);
    for (const CompareRow& row : compare_rows(part, true)) {
      EXPECT_FALSE(row.best || row.noisy);
      if (row.waiting) {
        EXPECT_EQ(row.ms, "waiting");
      }
    }
  });
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
    compare_builds(job, {},
                   {[](auto, auto, const auto&) {}, [](auto) {},
                    [&](auto&, bench::Result& result) { order.push_back(result.allocator); }});
    EXPECT_EQ(order.size(), 4u);
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 1u);
}

// The plot has the figures of the table that `heapwood bench --pool LIST` prints.
TEST(SweepPlot, HasTheFiguresOfTheTable) {
  const auto results = compared({"atomic", "cfmmalloc"}, {"8M", "live:2"}, [](auto) {});
  ASSERT_EQ(results.size(), 4u);
  const SweepPlot plot = sweep_plot(results, false);
  ASSERT_EQ(plot.pools.size(), 2u);
  EXPECT_EQ(plot.pools[0].text, "live:2");  // the smaller one
  EXPECT_LT(plot.pools[0].bytes, plot.pools[1].bytes);
  ASSERT_EQ(plot.lines.size(), 2u);
  EXPECT_TRUE(plot.lines[0].lower_bound);
  EXPECT_FALSE(plot.lines[0].points[0].value);  // AtomicMalloc does not free
  EXPECT_TRUE(plot.any_without_tree);
  const std::string table = bench::to_csv(bench::pool_table(results));
  for (const SweepPlot::Line& line : plot.lines) {
    for (const SweepPlot::Point& point : line.points) {
      ASSERT_NE(point.result, nullptr);
      if (!point.value) continue;
      EXPECT_PRED2(has, table, bench::ratio_text(*point.value));
      EXPECT_LE(*point.lower_quartile, *point.value);
      EXPECT_GE(*point.upper_quartile, *point.value);
      EXPECT_GE(*point.lower_quartile, plot.low);
      EXPECT_LE(*point.upper_quartile, plot.high);
    }
  }
  const SweepPlot times = sweep_plot(results, true);
  EXPECT_EQ(times.lines[1].points[1].value, times.lines[1].points[1].result->median_ms());
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

// The table stays where it is when a sweep starts; the sweep's plot is scrolled into view.
TEST_F(Compare, ASweepDoesNotMoveTheTable) {
  run("pipes:1k --runs 1 --mode normals --spp 1 --tab compare --size 1280x720",
      "wait built; key C; wait compared; move 1000 600; scroll -50; wait 0.3; click Sweep; wait "
      "swept; wait 0.2; report @swept");
  const Json places = json("swept")["places"];
  EXPECT_LT(places["row atomic"][1], places["sweep plot"][1]);
  EXPECT_LT(places["sweep plot"][1], 720);
  EXPECT_GT(places["sweep plot"][1], 100);
}

TEST_F(Compare, ASweepOverPools) {
  const std::string other = "down Control; key A; up Control";  // replaces the field's text
  run("pipes:1k --runs 3 --mode normals --spp 1 --allocator cfmmalloc --beside cmalloc --tab "
      "compare --size 1280x900",
      "wait built; click pools; " + other +
          "; type live:x; click Sweep; wait 0.2; report @wrong; click pools; " + other +
          "; type live:2,8M,fast; key Enter; wait swept; wait 0.2; report @swept; click Copy "
          "sweep; "
          "report @copied; click times; wait 0.2; report @times");
  EXPECT_EQ(json("wrong")["texts"]["sweep problem"].get<std::string>().find("'live:x'"), 0u);
  EXPECT_TRUE(json("wrong")["sweep"]["lines"].empty());
  const Json sweep = json("swept")["sweep"], times = json("times")["sweep"];
  ASSERT_EQ(sweep["pools"].size(), 3u);
  EXPECT_EQ(sweep["pools"][0]["pool"], "live:2");
  std::set<std::string> ids;
  for (std::size_t l = 0; l < sweep["lines"].size(); ++l) {
    const Json& line = sweep["lines"][l];
    ids.insert(line["allocator"]);
    for (std::size_t p = 0; p < 3; ++p) {
      const Json &value = line["values"][p], &ms = times["lines"][l]["values"][p];
      EXPECT_EQ(value.is_number(), ms.is_number());
      EXPECT_TRUE(p == 0 || value.is_number()) << value;
    }
  }
  EXPECT_EQ(ids, (std::set<std::string>{"atomic", "cfmmalloc", "cmalloc"}));
  EXPECT_PRED2(has, json("copied")["clipboard"], "live:2");
  EXPECT_PRED2(has, json("swept")["texts"]["sweep lines"], "CFMMalloc");
}

}  // namespace

}  // namespace heapwood::tests
