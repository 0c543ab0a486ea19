// SPDX-License-Identifier: MIT
// Processes side by side: what they print, how they end, and that they end.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "bench/program/side_by_side.hpp"
#include "simt/device.hpp"
#include "tests/app/executable.hpp"

namespace heapwood::bench {
namespace {

struct Finished {
  std::vector<ProcessOutcome> outcomes;
  std::vector<std::vector<std::string>> lines;
};

Finished run_shell(const std::vector<std::string>& scripts) {
  Finished finished;
  finished.lines.resize(scripts.size());
  std::vector<std::vector<std::string>> processes;
  for (const std::string& script : scripts) processes.push_back({"sh", "-c", script});
  finished.outcomes = SideBySide("/bin/sh").run(
      processes,
      [&](std::size_t i, const std::string& line) { finished.lines[i].push_back(line); });
  return finished;
}

TEST(SideBySideRuns, StreamsAndExitCodes) {
  const Finished done =
      run_shell({"echo one; echo 'heapwood: note: n' >&2; printf rest >&2",
                 "echo two; echo 'heapwood: error: broken' >&2; exit 3", "kill -9 $$",
                 "cat; i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i + 1)); done"});
  ASSERT_EQ(done.outcomes.size(), 4u);
  EXPECT_TRUE(done.outcomes[0].is_done());
  EXPECT_EQ(done.outcomes[0].out, "one\n");
  EXPECT_EQ(done.lines[0], (std::vector<std::string>{"heapwood: note: n", "rest"}));
  EXPECT_EQ(done.outcomes[1].exit, 3);
  EXPECT_EQ(done.outcomes[1].out, "two\n");
  EXPECT_EQ(done.outcomes[1].errors, std::vector<std::string>{"broken"});
  EXPECT_TRUE(done.lines[1].empty());
  EXPECT_EQ(done.outcomes[2].signal, 9);
  EXPECT_FALSE(done.outcomes[2].is_done());
  EXPECT_EQ(outcome_text(done.outcomes[2]), "ended by signal 9 (Killed)");
  EXPECT_EQ(done.outcomes[3].out.size(), 20000u * 11);  // more than a pipe holds
}

TEST(SideBySideRuns, ThereIsNoSuchProgram) {
  const auto outcomes = SideBySide("/no/such/program").run({{"x"}}, [](auto, const auto&) {});
  EXPECT_EQ(outcomes.front().exit, 127);
}

// They run at the same time: each waits for the other one.
TEST(SideBySideRuns, AtTheSameTime) {
  const tests::Folder folder;
  const auto script = [&](const std::string& mine, const std::string& other) {
    return "touch " + folder / mine + "; i=0; while [ ! -e " + folder / other +
           " ]; do sleep 0.01; i=$((i + 1)); [ $i -lt 500 ] || exit 1; done";
  };
  const Finished done = run_shell({script("a", "b"), script("b", "a")});
  for (const ProcessOutcome& outcome : done.outcomes) EXPECT_TRUE(outcome.is_done());
}

TEST(SideBySideRuns, AnInterruptEndsAllWithTheirResults) {
  const std::string script = "trap 'echo results; exit 1' TERM; while :; do sleep 0.01; done";
  std::thread interrupter([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    simt::interrupt();
  });
  const Finished done = run_shell({script, script});
  interrupter.join();
  simt::clear_interrupt();
  for (const ProcessOutcome& outcome : done.outcomes) {
    EXPECT_EQ(outcome.exit, 1);
    EXPECT_EQ(outcome.out, "results\n");
  }
}

// Also if this process is killed, and cannot tell them.
TEST(SideBySideRuns, NoneOutlivesItsParent) {
  const tests::Folder folder;
  const std::string pid_file = folder / "pid";
  const pid_t parent = fork();
  if (parent == 0) {
    run_shell({"echo $$ > " + pid_file + ".new; mv " + pid_file + ".new " + pid_file +
               "; exec sleep 60"});
    _exit(0);
  }
  const auto wait_for = [](const auto& condition) {
    for (int i = 0; i < 500 && !condition(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return condition();
  };
  ASSERT_TRUE(wait_for([&] { return std::filesystem::exists(pid_file); }));
  const pid_t child = std::stoi(tests::read_file(pid_file));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(wait_for([&] {
    // A process that has ended may remain as an entry until it is waited for.
    const std::string status = tests::read_file("/proc/" + std::to_string(child) + "/stat");
    return status.empty() || status.find(") Z ") != std::string::npos;
  }));
}

}  // namespace
}  // namespace heapwood::bench
