// SPDX-License-Identifier: MIT
// The measuring loop with fake candidates.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "bench/row_bench.hpp"
#include "simt/device.hpp"
#include "simt/error.hpp"
#include "tests/simt/turned_clock.hpp"

namespace heapwood::bench {
namespace {

using Log = std::vector<std::string>;

struct Fake : MeasuredRow {
  std::optional<double> ms = 10;
  std::function<void()> in_warm_up{}, in_run{}, at_end{};
};

class FakeBench : public RowBench {
 public:
  // Every call is logged: "a warm-up", "a run", "a done", "a kept".
  FakeBench(std::vector<Fake>& fakes, Log& log, Log& steps, int runs, double budget_seconds)
      : RowBench(candidates_of(fakes), runs, budget_seconds,
                 [&steps](const std::string& step) { steps.push_back(step); }),
        log_(log) {}
  using RowBench::each;
  using RowBench::finish;
  using RowBench::measure;
  using RowBench::only_warm_up;
  using RowBench::skip;
  using RowBench::warm_up_all;
  bool warm_up_and_measure() {
    warm_up_all();
    return measure();
  }

 private:
  static std::vector<Candidate> candidates_of(std::vector<Fake>& fakes) {
    std::vector<Candidate> candidates;
    for (Fake& fake : fakes) candidates.push_back({nullptr, &fake});
    return candidates;
  }
  Fake& fake(std::size_t i) const { return static_cast<Fake&>(*candidates_[i].row); }
  std::optional<double> logged(std::size_t i, const char* what, const std::function<void()>& then) {
    log_.push_back(fake(i).label + " " + what);
    if (then) then();
    return fake(i).ms;
  }
  std::optional<double> warm_up(std::size_t i) override {
    return logged(i, "warm-up", fake(i).in_warm_up);
  }
  std::optional<double> run(std::size_t i) override { return logged(i, "run", fake(i).in_run); }
  void keep_warm_up(std::size_t i) override { logged(i, "kept", {}); }
  void last_run_done(std::size_t i) override { logged(i, "done", fake(i).at_end); }
  void judge(std::size_t i) override { candidates_[i].row->status = Status::ok; }
  std::string time_limit_text() const override { return "late"; }

  Log& log_;
};

class RowBenchTest : public testing::Test {
 protected:
  void SetUp() override { simt::clear_interrupt(); }
  void TearDown() override { simt::clear_interrupt(); }

  Fake& add(const std::string& name, double ms) {
    fakes_.reserve(8);  // never reallocated, so references stay valid
    Fake& fake = fakes_.emplace_back();
    fake.label = name;
    fake.ms = ms;
    return fake;
  }
  FakeBench bench(int runs, double budget_seconds = 0) {
    return {fakes_, log_, steps_, runs, budget_seconds};
  }

  std::vector<Fake> fakes_;
  Log log_, steps_;
};

TEST_F(RowBenchTest, MakesRunOneOfAllThenRunTwoOfAll) {
  add("a", 10);
  add("b", 20);
  FakeBench measure = bench(2);
  EXPECT_TRUE(measure.warm_up_and_measure());
  EXPECT_EQ(log_, (Log{"a warm-up", "b warm-up", "a run", "b run", "a run", "a done", "b run",
                       "b done"}));
  EXPECT_EQ(steps_, (Log{"a: warm-up", "b: warm-up", "a: run 1 of 2", "b: run 1 of 2",
                         "a: run 2 of 2", "b: run 2 of 2"}));
  EXPECT_FALSE(measure.stopped());
  EXPECT_FALSE(measure.only_warm_up(0));
}

TEST_F(RowBenchTest, AFailureEndsOneCandidate) {
  add("a", 10).in_run = [] { throw std::runtime_error("broken"); };
  add("b", 10).in_warm_up = [] {
    throw simt::Stopped(simt::Stopped::Reason::time_limit, "stopped");
  };
  add("c", 10);
  add("d", 10);
  FakeBench measure = bench(2);
  measure.skip(3, "");
  EXPECT_TRUE(measure.warm_up_and_measure());
  EXPECT_EQ(log_,
            (Log{"a warm-up", "b warm-up", "c warm-up", "a run", "c run", "c run", "c done"}));
  EXPECT_EQ(fakes_[0].reason, "broken");
  EXPECT_EQ(fakes_[1].reason, "late");
  EXPECT_EQ(fakes_[2].reason, "");
  EXPECT_EQ(steps_.size(), 4 * 3u);  // steps of candidates that do not run are announced, too
  EXPECT_FALSE(measure.stopped());
}

TEST_F(RowBenchTest, LackOfMemoryIsNamed) {
  add("a", 1).in_warm_up = [] { throw std::bad_alloc(); };
  bench(1).warm_up_all();
  EXPECT_EQ(fakes_[0].status, Status::failed);
  EXPECT_EQ(fakes_[0].reason.rfind("out of host memory", 0), 0u) << fakes_[0].reason;
}

TEST_F(RowBenchTest, AnExceptionAfterTheLastRunIsAFailure) {
  add("a", 1).at_end = [] { throw std::runtime_error("another tree"); };
  FakeBench measure = bench(3);
  EXPECT_TRUE(measure.measure());
  measure.finish();
  EXPECT_EQ(fakes_[0].status, Status::failed);
  EXPECT_EQ(fakes_[0].reason, "another tree");
}

TEST_F(RowBenchTest, AnInterruptionEndsTheMeasurement) {
  add("a", 10);
  add("b", 10).in_run = [] {
    throw simt::Stopped(simt::Stopped::Reason::interrupted, "interrupted");
  };
  FakeBench measure = bench(3);
  measure.warm_up_and_measure();
  EXPECT_TRUE(measure.stopped());
  EXPECT_EQ(log_, (Log{"a warm-up", "b warm-up", "a run", "b run"}));
  EXPECT_EQ(steps_.back(), "b: run 1 of 3");
  EXPECT_EQ(fakes_[1].reason, "");
  EXPECT_FALSE(measure.only_warm_up(1));
  measure.each("inspection", [](std::size_t) { FAIL(); });
  EXPECT_EQ(steps_.size(), 4u);
}

// A run that does not notice the interruption counts.
TEST_F(RowBenchTest, AnInterruptionBetweenRunsEndsTheMeasurement) {
  add("a", 10).in_run = [] { simt::interrupt(); };
  add("b", 10);
  FakeBench measure = bench(1);
  measure.warm_up_and_measure();
  EXPECT_TRUE(measure.stopped());
  EXPECT_EQ(log_, (Log{"a warm-up", "b warm-up", "a run", "a done"}));
}

TEST_F(RowBenchTest, ARunStartsOnlyIfOneAsLongAsTheLastFits) {
  add("a", 40);  // two times of 40 fit into 100, three do not
  add("b", 10);
  FakeBench measure = bench(4, 0.1);
  EXPECT_TRUE(measure.warm_up_and_measure());
  EXPECT_EQ(log_, (Log{"a warm-up", "b warm-up", "a run", "a done", "b run", "b run", "b run",
                       "b run", "b done"}));
  EXPECT_FALSE(measure.only_warm_up(0));
  // A run that takes exactly the remaining time fits.
  fakes_[0].ms = 50;
  log_.clear();
  FakeBench again = bench(4, 0.1);
  again.warm_up_and_measure();
  EXPECT_EQ(std::ranges::count(log_, "a run"), 1);
}

TEST_F(RowBenchTest, TheWarmUpIsTheOnlyRunIfNoneFits) {
  add("a", 60);
  add("failed", 60).in_warm_up = [] { throw std::runtime_error("broken"); };
  FakeBench measure = bench(3, 0.1);
  EXPECT_TRUE(measure.warm_up_and_measure());
  EXPECT_EQ(log_, (Log{"a warm-up", "failed warm-up", "a kept"}));
  EXPECT_TRUE(measure.only_warm_up(0));
  EXPECT_FALSE(measure.only_warm_up(1));
}

// The first run of a candidate without a warm-up starts in any case.
TEST_F(RowBenchTest, WithoutAWarmUpOneRunIsMade) {
  add("a", 150);
  FakeBench measure = bench(3, 0.1);
  EXPECT_TRUE(measure.measure());
  EXPECT_EQ(log_, (Log{"a run", "a done"}));
}

TEST_F(RowBenchTest, RunsThatAreNotValidAreRepeated) {
  add("a", 30);
  int made = 0;
  fakes_[0].in_run = [&] { ++made; };
  FakeBench measure = bench(2, 0.1);
  measure.warm_up_all();
  EXPECT_FALSE(measure.measure([&] { return made < 2; }));
  EXPECT_EQ(log_, (Log{"a warm-up", "a run", "a run"}));
  // Later runs have the budget that was left after the warm-up.
  EXPECT_TRUE(measure.measure([] { return true; }));
  EXPECT_EQ(log_, (Log{"a warm-up", "a run", "a run", "a run", "a run", "a done"}));
}

TEST_F(RowBenchTest, WallTimeCountsWhereNoneIsGiven) {
  const tests::TurnedClock clock;
  int runs = 0;
  Fake& fake = add("a", 0);
  fake.ms.reset();
  fake.in_run = [&] {
    clock.turn(0.005);
    if (++runs == 2) throw std::runtime_error("broken");
  };
  FakeBench wide = bench(5);
  wide.measure();
  wide.finish();
  EXPECT_EQ(runs, 2);
  EXPECT_NEAR(fake.seconds, 0.01, 1e-9);  // includes the failed run
  runs = 5;
  FakeBench tight = bench(5, 0.009);
  tight.measure();
  EXPECT_EQ(runs, 6);  // two runs of 5 ms do not fit into 9 ms
}

}  // namespace
}  // namespace heapwood::bench
