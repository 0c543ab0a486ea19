// SPDX-License-Identifier: MIT
// The measuring loop with fake candidates.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "bench/interleaved_runner.hpp"
#include "simt/device.hpp"
#include "simt/error.hpp"
#include "tests/simt/turned_clock.hpp"

namespace heapwood::bench {
namespace {

class InterleavedRunnerTest : public testing::Test {
 protected:
  using Log = std::vector<std::string>;
  struct FakeCandidate {
    std::string name;
    double ms = 10;
    std::function<void()> in_warm_up{}, in_run{};
    std::string failure{};
    bool skipped = false;
  };

  void SetUp() override { simt::clear_interrupt(); }
  void TearDown() override { simt::clear_interrupt(); }

  FakeCandidate& add(const std::string& name, double ms) {
    fakes_.push_back(std::make_unique<FakeCandidate>(FakeCandidate{name, ms}));
    return *fakes_.back();
  }

  // Every call is logged: "a warm-up", "a run", "a done", "a kept".
  InterleavedRunner runner(int runs, double budget_ms = 0) {
    std::vector<RunCandidate> candidates;
    for (const std::unique_ptr<FakeCandidate>& owned : fakes_) {
      FakeCandidate* fake = owned.get();
      RunCandidate one;
      one.warm_up = [this, fake] {
        log_.push_back(fake->name + " warm-up");
        if (fake->in_warm_up) fake->in_warm_up();
        return fake->ms;
      };
      one.run = [this, fake] {
        log_.push_back(fake->name + " run");
        if (fake->in_run) fake->in_run();
        return fake->ms;
      };
      one.running = [fake] { return !fake->skipped && fake->failure.empty(); };
      one.fail = [fake](const std::exception& error) { fake->failure = error.what(); };
      one.keep_warm_up = [this, fake] { log_.push_back(fake->name + " kept"); };
      one.last_run_done = [this, fake] { log_.push_back(fake->name + " done"); };
      candidates.push_back(std::move(one));
    }
    return {std::move(candidates), runs, budget_ms, [this](std::size_t i, const std::string& what) {
              steps_.push_back(fakes_[i]->name + ": " + what);
            }};
  }

  std::vector<std::unique_ptr<FakeCandidate>> fakes_;
  Log log_, steps_;
};

TEST_F(InterleavedRunnerTest, MakesRunOneOfAllThenRunTwoOfAll) {
  add("a", 10);
  add("b", 20);
  InterleavedRunner measure = runner(2);
  measure.warm_up();
  EXPECT_TRUE(measure.measure());
  EXPECT_EQ(log_, (Log{"a warm-up", "b warm-up", "a run", "b run", "a run", "a done", "b run",
                       "b done"}));
  EXPECT_EQ(steps_, (Log{"a: warm-up", "b: warm-up", "a: run 1 of 2", "b: run 1 of 2",
                         "a: run 2 of 2", "b: run 2 of 2"}));
  EXPECT_FALSE(measure.stopped());
  EXPECT_FALSE(measure.only_warm_up(0));
}

TEST_F(InterleavedRunnerTest, AFailureEndsOneCandidate) {
  add("a", 10).in_run = [] { throw std::runtime_error("broken"); };
  add("b", 10).in_warm_up = [] { throw simt::Stopped(simt::Stopped::Reason::time_limit, "late"); };
  add("c", 10);
  add("d", 10).skipped = true;
  InterleavedRunner measure = runner(2);
  measure.warm_up();
  EXPECT_TRUE(measure.measure());
  EXPECT_EQ(log_,
            (Log{"a warm-up", "b warm-up", "c warm-up", "a run", "c run", "c run", "c done"}));
  EXPECT_EQ(fakes_[0]->failure, "broken");
  EXPECT_EQ(fakes_[1]->failure, "late");
  EXPECT_EQ(fakes_[2]->failure, "");
  EXPECT_EQ(steps_.size(), 4 * 3u);  // those of candidates that do not run are announced, too
  EXPECT_FALSE(measure.stopped());
}

TEST_F(InterleavedRunnerTest, AnExceptionAfterTheLastRunIsAFailure) {
  FakeCandidate& a = add("a", 10);
  std::vector<RunCandidate> candidates(1);
  candidates[0].warm_up = candidates[0].run = [] { return 1.0; };
  candidates[0].running = [&] { return a.failure.empty(); };
  candidates[0].fail = [&](const std::exception& error) { a.failure = error.what(); };
  candidates[0].last_run_done = [] { throw std::runtime_error("another tree"); };
  InterleavedRunner measure(candidates, 3, 0, [](std::size_t, const std::string&) {});
  EXPECT_TRUE(measure.measure());
  EXPECT_EQ(a.failure, "another tree");
}

TEST_F(InterleavedRunnerTest, AnInterruptionEndsTheMeasurement) {
  add("a", 10);
  add("b", 10).in_run = [] {
    throw simt::Stopped(simt::Stopped::Reason::interrupted, "interrupted");
  };
  InterleavedRunner measure = runner(3);
  measure.warm_up();
  measure.measure();
  EXPECT_TRUE(measure.stopped());
  EXPECT_EQ(log_, (Log{"a warm-up", "b warm-up", "a run", "b run"}));
  EXPECT_EQ(steps_.back(), "b: run 1 of 3");
  EXPECT_EQ(fakes_[1]->failure, "");
  EXPECT_FALSE(measure.only_warm_up(1));
  measure.each("inspection", [](std::size_t) { FAIL(); });
  EXPECT_EQ(steps_.size(), 4u);
}

// Of a run that did not notice it: the run counts.
TEST_F(InterleavedRunnerTest, AnInterruptionBetweenRunsEndsTheMeasurement) {
  add("a", 10).in_run = [] { simt::interrupt(); };
  add("b", 10);
  InterleavedRunner measure = runner(1);
  measure.warm_up();
  measure.measure();
  EXPECT_TRUE(measure.stopped());
  EXPECT_EQ(log_, (Log{"a warm-up", "b warm-up", "a run", "a done"}));
}

TEST_F(InterleavedRunnerTest, ARunStartsOnlyIfOneAsLongAsTheLastFits) {
  add("a", 40);  // 40 + 40 fit 100, 40 + 40 + 40 do not
  add("b", 10);
  InterleavedRunner measure = runner(4, 100);
  measure.warm_up();
  EXPECT_TRUE(measure.measure());
  EXPECT_EQ(log_, (Log{"a warm-up", "b warm-up", "a run", "a done", "b run", "b run", "b run",
                       "b run", "b done"}));
  EXPECT_FALSE(measure.only_warm_up(0));
  // A run of exactly the rest fits.
  fakes_[0]->ms = 50;
  log_.clear();
  measure = runner(4, 100);
  measure.warm_up(0);
  measure.measure();
  EXPECT_EQ(std::count(log_.begin(), log_.end(), "a run"), 1);
}

TEST_F(InterleavedRunnerTest, TheWarmUpIsTheOnlyRunIfNoneFits) {
  add("a", 60);
  add("failed", 60).in_warm_up = [] { throw std::runtime_error("broken"); };
  InterleavedRunner measure = runner(3, 100);
  measure.warm_up();
  EXPECT_TRUE(measure.measure());
  EXPECT_EQ(log_, (Log{"a warm-up", "failed warm-up", "a kept"}));
  EXPECT_TRUE(measure.only_warm_up(0));
  EXPECT_FALSE(measure.only_warm_up(1));
}

// The first run of a candidate without a warm-up starts in any case.
TEST_F(InterleavedRunnerTest, WithoutAWarmUpOneRunIsMade) {
  add("a", 150);
  InterleavedRunner measure = runner(3, 100);
  EXPECT_TRUE(measure.measure());
  EXPECT_EQ(log_, (Log{"a run", "a done"}));
}

TEST_F(InterleavedRunnerTest, RunsThatAreNotValidAreRepeated) {
  add("a", 30);
  int made = 0;
  fakes_[0]->in_run = [&] { ++made; };
  InterleavedRunner measure = runner(2, 100);
  measure.warm_up();
  EXPECT_FALSE(measure.measure([&] { return made < 2; }));
  EXPECT_EQ(log_, (Log{"a warm-up", "a run", "a run"}));
  // The budget is again that after the warm-up.
  EXPECT_TRUE(measure.measure([] { return true; }));
  EXPECT_EQ(log_, (Log{"a warm-up", "a run", "a run", "a run", "a run", "a done"}));
}

TEST_F(InterleavedRunnerTest, WallTimeCountsWhereNoneIsGiven) {
  std::vector<RunCandidate> candidates(1);
  int runs = 0;
  bool failed = false;
  const tests::TurnedClock clock;
  candidates[0].run = [&]() -> std::optional<double> {
    clock.turn(0.005);
    if (++runs == 2) throw std::runtime_error("broken");
    return std::nullopt;
  };
  candidates[0].running = [&] { return !failed; };
  candidates[0].fail = [&](const std::exception&) { failed = true; };
  InterleavedRunner wide(candidates, 5, 0, [](std::size_t, const std::string&) {});
  wide.measure();
  EXPECT_EQ(runs, 2);
  EXPECT_NEAR(wide.seconds(0), 0.01, 1e-9);  // the failed run, too
  runs = 5;
  failed = false;
  InterleavedRunner tight(candidates, 5, 9, [](std::size_t, const std::string&) {});
  tight.measure();
  EXPECT_EQ(runs, 6);  // two of 5 ms do not fit 9
}

}  // namespace
}  // namespace heapwood::bench
