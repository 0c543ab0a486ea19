// SPDX-License-Identifier: MIT
// heapwood compare: verdicts, their false-alarm rate on simulated tables, and the reading of files.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "bench/compare/compare.hpp"
#include "tests/errors.hpp"

namespace heapwood::bench {
namespace {

// Times as programs have them: log-normal noise that differs from cell to cell, correlated from run
// to run, with some long outliers, and a small shift of all runs of one process.
class TableSimulator {
 public:
  struct Options {
    std::size_t cells = 0, runs = 0;
    double correlation = 0;  // mean correlation; that of a cell is 0.5 to 1.5 times as much
    double noise = .02;      // relative standard deviation
    double factor = 1;       // new time / old time
    bool paired = false;
  };

  std::vector<CellTimes> table(const Options& options) {
    std::vector<CellTimes> cells(options.cells);
    for (CellTimes& cell : cells) {
      cell.paired = options.paired;
      const double noise = options.noise * std::exp(normal_(random_) / 2);
      const double correlation = options.correlation * (.5 + uniform_(random_));
      cell.older = process(options.runs, noise, correlation, 10);
      cell.newer = process(options.runs, noise, correlation, 10 * options.factor);
    }
    return cells;
  }

 private:
  std::vector<double> process(std::size_t runs, double noise, double correlation, double ms) {
    std::vector<double> times;
    const double shift = .002 * normal_(random_);
    double state = normal_(random_);
    for (std::size_t i = 0; i < runs; ++i) {
      state = correlation * state + std::sqrt(1 - correlation * correlation) * normal_(random_);
      const double outlier = uniform_(random_) < .05 ? -5 * std::log(1 - uniform_(random_)) : 0;
      times.push_back(ms * std::exp(noise * (state + outlier) + shift));
    }
    return times;
  }

  std::mt19937_64 random_{1};
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
};

// The number of cells with each verdict.
std::map<Verdict, std::size_t> counts_of(const std::vector<CellTimes>& cells) {
  std::map<Verdict, std::size_t> counts;
  for (const CellTimes& cell : cells) ++counts[judge(cell, {}).verdict];
  return counts;
}

// Runs that do not depend on each other, with noise above the threshold.
TEST(CompareFalseAlarms, AtMostOnePercentOfCells) {
  TableSimulator simulator;
  const auto alarms = [&](std::size_t runs, bool paired) {
    auto counts =
        counts_of(simulator.table({.cells = 5000, .runs = runs, .noise = .1, .paired = paired}));
    return counts[Verdict::faster] + counts[Verdict::slower];
  };
  for (const std::size_t runs : {5, 6, 9, 15, 31}) EXPECT_LE(alarms(runs, false), 60u) << runs;
  EXPECT_LE(alarms(30, true), 60u);
}

// With the default number of runs, 5 on each side, 2 of 252 orders have no overlap.
TEST(CompareVerdicts, FiveRunsWithoutOverlapAreDecided) {
  const CellVerdict slower = judge({{1, 1.01, 1.02, 1.03, 1.04}, {1.1, 1.11, 1.12, 1.13, 1.2}}, {});
  EXPECT_EQ(slower.verdict, Verdict::slower);
  EXPECT_DOUBLE_EQ(slower.p, 2 / 252.0);
  EXPECT_EQ(judge({{1, 1.01, 1.02, 1.03, 1.105}, {1.1, 1.11, 1.12, 1.13, 1.2}}, {}).verdict,
            Verdict::undecided);
  EXPECT_EQ(judge({{1.1, 1.11, 1.12, 1.13}, {1, 1.01, 1.02, 1.03, 1.04}}, {}).verdict,
            Verdict::undecided);
  EXPECT_EQ(judge({{1, 1.001, 1.002, 1, 1}, {1, 1, 1.001, 1.001, 1}}, {}).verdict, Verdict::same);
}

TEST(CompareVerdicts, ASlowdownOfFivePercentIsFound) {
  TableSimulator simulator;
  auto slower = counts_of(simulator.table(
      {.cells = 1000, .runs = 21, .correlation = .1, .noise = .01, .factor = 1.05}));
  EXPECT_GT(slower[Verdict::slower], 600u);
  EXPECT_EQ(slower[Verdict::faster] + slower[Verdict::same], 0u);
  auto faster = counts_of(simulator.table(
      {.cells = 20, .runs = 21, .correlation = .1, .noise = .01, .factor = 1 / 1.05}));
  EXPECT_GT(faster[Verdict::faster], 12u);
  EXPECT_EQ(faster[Verdict::slower] + faster[Verdict::same], 0u);
  // The times of one cell of 1,000 are changed.
  std::vector<CellTimes> cells = simulator.table({.cells = 1000, .runs = 31, .noise = .005});
  for (double& ms : cells[7].newer) ms *= 1.05;
  auto one = counts_of(cells);
  EXPECT_EQ(one[Verdict::slower], 1u);
  EXPECT_EQ(one[Verdict::faster], 0u);
  EXPECT_GT(one[Verdict::same], 900u);
}

TEST(CompareVerdicts, DifferencesBelowTheThresholdAreTheSame) {
  std::vector<CellTimes> cells(1);
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(0, .01);
  for (int i = 0; i < 30; ++i) {
    cells[0].older.push_back(10 + uniform(random));
    cells[0].newer.push_back(10.1 + uniform(random));  // a clear change, but of 1% only
  }
  EXPECT_EQ(judge(cells[0], {}).verdict, Verdict::same);
  EXPECT_EQ(judge(cells[0], {.threshold = .005}).verdict, Verdict::slower);
}

TEST(CompareVerdicts, OddTimesAreUndecided) {
  const auto verdict = [](std::vector<double> older, std::vector<double> newer, bool paired) {
    return judge({std::move(older), std::move(newer), paired}, {}).verdict;
  };
  const std::vector<double> zeros(30), ones(30, 1.0);
  EXPECT_EQ(verdict(zeros, ones, false), Verdict::undecided);
  EXPECT_EQ(verdict(zeros, zeros, true), Verdict::undecided);
  EXPECT_EQ(verdict(ones, {}, false), Verdict::undecided);
  EXPECT_EQ(verdict(ones, ones, false), Verdict::same);
  EXPECT_EQ(verdict(ones, ones, true), Verdict::same);
}

TEST(CompareRankTests, SmallSetsAreExact) {
  // U is 6 in one of the 10 orders of 2 and 3 values.
  EXPECT_DOUBLE_EQ(p_of_exceedance(1, 2, 3), .1);
  EXPECT_DOUBLE_EQ(p_of_exceedance(5.0 / 6, 2, 3), .2);
  EXPECT_DOUBLE_EQ(p_of_exceedance(4.0 / 6, 2, 3), .4);
  EXPECT_DOUBLE_EQ(p_of_exceedance(0, 2, 3), 1);
  EXPECT_DOUBLE_EQ(p_of_exceedance(1, 11, 11), 1 / 705432.0);
  EXPECT_DOUBLE_EQ(p_of_share(1, 5), 1 / 32.0);
  EXPECT_DOUBLE_EQ(p_of_share(14.0 / 15, 5), 2 / 32.0);
  EXPECT_EQ(p_of_exceedance(1, 0, 5), 1);
  // The approximation for larger sets continues the exact values.
  EXPECT_NEAR(p_of_exceedance(.6, 41, 41) / p_of_exceedance(.6, 40, 40), 1, .1);
  EXPECT_NEAR(p_of_share(.65, 41) / p_of_share(.65, 40), 1, .1);
}

TEST(CompareRankTests, ExceedanceAndRankSharesOfKnownSamples) {
  EXPECT_DOUBLE_EQ(exceedance({2, 3}, {1}), 1);
  EXPECT_DOUBLE_EQ(exceedance({1, 2, 3}, {2}), .5);
  EXPECT_DOUBLE_EQ(exceedance({2, 2}, {2, 1}), .75);
  EXPECT_DOUBLE_EQ(positive_rank_share({1, -2, 3}), 4.0 / 6);
  EXPECT_DOUBLE_EQ(positive_rank_share({0, 0}), .5);
}

TEST(CompareRankTests, SamplesNeededGrowWithTheNumberOfCells) {
  EXPECT_EQ(samples_needed(.005, 1, false), 5u);          // for one cell: 1 / 252
  EXPECT_EQ(samples_needed(.005 / 1000, 1, false), 11u);  // for 1,000 cells
  EXPECT_EQ(samples_needed(.005 / 1000, 1, true), 18u);
  EXPECT_GT(samples_needed(.005, .7, false), 20u);
}

Json bench_file(const std::vector<std::string>& scenes, std::size_t runs, double ms) {
  Json file{{"schema", bench_schema},
            {"argv", {"heapwood", "bench"}},
            {"git", {{"sha", "abc"}, {"dirty", false}}},
            {"device", {{"kind", "cuda"}, {"name", "GPU"}, {"driver", "1"}, {"memory_bytes", 5}}},
            {"results", Json::array()}};
  for (const std::string& scene : scenes) {
    std::vector<double> samples;
    for (std::size_t i = 0; i < runs; ++i) samples.push_back(ms + .001 * double(i * 7 % runs));
    file["results"].push_back({{"source", scene},
                               {"builder", "single-kernel"},
                               {"allocator", "atomic"},
                               {"settings", {{"runs", runs}, {"pool", "fast"}}},
                               {"status", "ok"},
                               {"runs_ms", samples}});
  }
  return file;
}

ResultsFile as_file(const char* path, const Json& json) {
  return {path, json.at("schema").get<std::string>(), json};
}

TEST(CompareFiles, CellsOfOneFileAreCounted) {
  const ResultsFile older = as_file("old", bench_file({"a", "b", "c"}, 30, 10)),
                    newer = as_file("new", bench_file({"b", "c", "d"}, 20, 11));
  const Comparison result = compare_results(older, newer, {}, false);
  EXPECT_EQ(result.cells.size(), 4u);
  // Files with different numbers of runs have equal cells.
  EXPECT_EQ(result.count(Verdict::slower), 2u);
  EXPECT_EQ(result.count(Verdict::only_old), 1u);
  EXPECT_EQ(result.count(Verdict::only_new), 1u);
  EXPECT_EQ(summary_text(result), "2 SLOWER, 1 ONLY OLD, 1 ONLY NEW");
  EXPECT_EQ(result.cells[1].label, "b atomic");
  const Json report = compare_report(result, older, newer);
  EXPECT_EQ(report["cells"].size(), 4u);
  EXPECT_EQ(report["counts"]["SLOWER"], 2);
  EXPECT_EQ(table_of_json(report["cells"], compare_columns).rows.size(), 4u);
  // A failed measurement has no time.
  Json failed = newer.json;
  failed["results"][0]["status"] = "failed";
  failed["results"][0]["reason"] = "out of memory\x1b[2J";
  const Comparison with = compare_results(older, as_file("new", failed), {}, false);
  EXPECT_EQ(with.count(Verdict::undecided), 1u);
  EXPECT_EQ(with.missing(), 2u);
  EXPECT_NE(with.cells[1].reason.find("failed: out of memory\\x1b"), std::string::npos);
}

// A cell without times in both files is not counted as undecided.
TEST(CompareFiles, CellsThatNeitherFileMeasuredAreNotUndecided) {
  Json file = bench_file({"a", "b"}, 30, 10);
  file["results"][1]["status"] = "skipped";
  file["results"][1]["runs_ms"] = Json::array();
  const Comparison result = compare_results(as_file("old", file), as_file("new", file), {}, false);
  EXPECT_EQ(result.count(Verdict::undecided), 0u);
  EXPECT_EQ(result.count(Verdict::not_measured), 1u);
  EXPECT_EQ(result.missing(), 0u);
  EXPECT_EQ(summary_text(result), "1 SAME, 1 NOT MEASURED");
  const Table table = compare_table(result);
  EXPECT_TRUE(table.rows.empty());
  tests::expect_words(to_text(table), {"NOT MEASURED, in either file: b atomic\n"});
}

// Frames are compared in pairs, and 8 pairs are the fewest whose test can reach 0.005.
TEST(CompareFiles, TooFewRunsAreNoted) {
  const auto too_few = [](const Json& file) {
    const Comparison result =
        compare_results(as_file("old", file), as_file("new", file), {}, false);
    const bool is_noted = to_text(compare_table(result)).find("too few runs") != std::string::npos;
    EXPECT_EQ(is_noted, result.too_few_runs > 0);
    return result.too_few_runs;
  };
  EXPECT_EQ(too_few(bench_file({"a", "b"}, 5, 10)), 0u);
  EXPECT_EQ(too_few(bench_file({"a", "b"}, 4, 10)), 2u);
  for (const std::size_t frames : {7, 8}) {
    Json file = bench_file({}, 0, 0);
    const std::vector<double> ms(frames, 1.0);
    file["results"] = {{{"source", "cloth"}, {"status", "ok"}, {"build_ms", ms}, {"frame_ms", ms}}};
    EXPECT_EQ(too_few(file), frames < 8 ? 2u : 0u);
  }
}

TEST(CompareFiles, FilesOfOneNameAreToldApart) {
  Json file = bench_file({"x/a.obj", "y/a.obj", "c"}, 30, 10);
  file["results"][0]["digest"] = "0123456789abcdef";
  file["results"][1]["digest"] = "fedcba9876543210";
  const Comparison result = compare_results(as_file("old", file), as_file("new", file), {}, false);
  EXPECT_EQ(result.cells[0].label, "a.obj atomic (01234567)");
  EXPECT_EQ(result.cells[1].label, "a.obj atomic (fedcba98)");
  EXPECT_EQ(result.cells[2].label, "c atomic");
}

TEST(CompareFiles, MismatchesAreRefused) {
  const Json file = bench_file({"a"}, 9, 10);
  const auto expect = [&](const Json& other, Exit exit, bool allow_mixed, const char* text) {
    tests::expect_error(exit, {"new: ", text}, [&] {
      compare_results(as_file("old", file), as_file("new", other), {}, allow_mixed);
    });
  };
  Json other = file;
  other["schema"] = "heapwood.stress/1";
  expect(other, Exit::usage, false, "one command");
  other = file;
  other["device"]["name"] = "another";
  expect(other, Exit::usage, false, "--allow-mixed");
  EXPECT_NO_THROW(compare_results(as_file("old", file), as_file("new", other), {}, true));
  other = file;
  other["device"]["memory_bytes"] = 6;
  EXPECT_NO_THROW(compare_results(as_file("old", file), as_file("new", other), {}, false));
  expect(bench_file({"z"}, 9, 10), Exit::usage, false, "in common");
  other = file;
  other["results"][0]["runs_ms"] = {1, "x"};
  expect(other, Exit::scene, false, "runs_ms");
  other["results"][0]["runs_ms"] = {1, -1};
  expect(other, Exit::scene, false, "runs_ms");
  other["results"][0]["runs_ms"] = 7;
  expect(other, Exit::scene, false, "runs_ms");
  other = file;
  other["results"].push_back(other["results"][0]);
  expect(other, Exit::scene, false, "twice");
}

TEST(CompareFiles, DeviceRecordsAreNoted) {
  Json older = bench_file({"a"}, 9, 10), newer = older;
  older["device_record"] = {{"uuid_hash", "11"}, {"driver_version", "580.1"}};
  const auto notes = [&] {
    return compare_results(as_file("old", older), as_file("new", newer), {}, false).notes;
  };
  EXPECT_EQ(notes(), std::vector<std::string>{});  // one of the two files has no device record
  newer["device_record"] = older["device_record"];
  EXPECT_EQ(notes(), std::vector<std::string>{});
  newer["device_record"] = {
      {"uuid_hash", "22"}, {"driver_version", "580.2"}, {"warning", "reduced\x1b[2J"}};
  EXPECT_EQ(notes(), (std::vector<std::string>{"other driver: 580.2, before 580.1",
                                               "other GPU of this model, by hash: 22, before 11",
                                               "new: reduced\\x1b[2J"}));
}

TEST(CompareFiles, EveryKindOfTimeIsACell) {
  Json file = bench_file({}, 0, 0);
  file["results"] = {
      {{"graph", "rmat:8"},
       {"status", "ok"},
       {"phases",
        {{{"phase", "init"}, {"runs_ms", {1, 2}}},
         {{"phase", "insert"}, {"batch", 100}, {"runs_ms", {3}}}}}},
      {{"source", "cloth"}, {"status", "ok"}, {"build_ms", {1, 2}}, {"frame_ms", {2, 3}}},
      {{"test", "ad"}, {"runs_ms", {5}}, {"allocate_ms", {2}}, {"free_ms", {3}}, {"status", "ok"}}};
  std::vector<std::string> metrics;
  for (const ResultCell& cell : cells_of(as_file("f", file)))
    metrics.push_back(cell.metric + (cell.paired ? " paired" : ""));
  EXPECT_EQ(metrics, (std::vector<std::string>{"init", "insert@100 paired", "build paired",
                                               "frame paired", "allocate", "free"}));
}

TEST(CompareFiles, EveryKindOfRaysIsACell) {
  Json file = bench_file({}, 0, 0);
  file["schema"] = "heapwood.trace/1";
  file["scene"] = {{"name", "atrium"}};
  file["allocator"] = "heapwood";
  file["results"] = {{{"kind", "primary"}, {"rays", 64}, {"runs_ms", {1}}},
                     {{"kind", "diffuse"}, {"rays", 64}, {"runs_ms", {2}}}};
  const std::vector<ResultCell> cells = cells_of(as_file("f", file));
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(cell_labels({&cells[0], &cells[1]}),
            (std::vector<std::string>{"atrium primary heapwood", "atrium diffuse heapwood"}));
}

}  // namespace
}  // namespace heapwood::bench
