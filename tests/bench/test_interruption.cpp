// SPDX-License-Identifier: MIT
// SIGTERM, as by timeout(1) or Slurm, ends every command that measures with what it has measured.
#include <csignal>

#include "bench/program/process.hpp"
#include "tests/app/executable.hpp"

namespace heapwood::tests {
namespace {

volatile std::sig_atomic_t requests = 0;
void count_request(int) { requests = requests + 1; }

TEST(InterruptionDeathTest, ASignalToProcessAndGroupIsOneRequest) {
  const auto raise_twice = [](double min_seconds) {
    bench::install_signal_handlers(count_request, min_seconds);
    std::raise(SIGTERM);
    std::raise(SIGTERM);
    _exit(requests);
  };
  EXPECT_EXIT(raise_twice(1e9), testing::ExitedWithCode(1), "");
  EXPECT_EXIT(raise_twice(0), testing::KilledBySignal(SIGTERM), "");
}

class Interruption : public Executable {};

TEST_F(Interruption, EveryCommandPrintsWhatItHas) {
  const std::string scene = folder_ / "scene.obj", trace = folder_ / "p.trace";
  write_file(scene, obj_text(100));
  ASSERT_EQ(run({"build", scene, "--device", "cpu", "--record-trace", trace}).exit, 0);
  for (std::vector<std::string> command :
       {std::vector<std::string>{"bench", scene, "--runs", "100000"},
        {"stress", "acd", "--payload", "4", "--runs", "100000"},
        {"graph", "rgg:200", "--runs", "100000"},
        {"replay", trace, "--runs", "100000"},
        {"animate", "statue~:1k", "--frames", "100000", "--trace", "none"}}) {
    command.insert(command.end(),
                   {"--device", "cpu", "--threads", "2", "--allocators", "atomic,heapwood"});
    Running running(binary_, command);
    running.wait_for_cpu_seconds(0.5);
    running.send(SIGTERM);
    const Outcome outcome = running.wait();
    EXPECT_EQ(outcome.exit, 1) << command[0] << ": " << outcome.err;
    EXPECT_NE(outcome.err.find("interrupted; the results so far are above"), std::string::npos)
        << command[0] << ": " << outcome.err;
    for (const char* word : {"AtomicMalloc", "Heapwood", "interrupted"})
      EXPECT_NE(outcome.out.find(word), std::string::npos) << command[0] << '\n' << outcome.out;
  }
}

}  // namespace
}  // namespace heapwood::tests
