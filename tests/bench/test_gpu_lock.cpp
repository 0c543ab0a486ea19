// SPDX-License-Identifier: MIT
// Two processes do not measure on one GPU at the same time.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "bench/program/process_lock.hpp"
#include "simt/device.hpp"
#include "tests/app/executable.hpp"

namespace heapwood::bench {
namespace {

class GpuLocks : public testing::Test {
 protected:
  // Names of this process: other tests run at the same time.
  static ProcessLock lock(const std::string& id, bool waits = false) {
    static const std::string prefix = "test " + std::to_string(getpid()) + " ";
    return lock_gpu("cuda:0", prefix + id, waits);
  }
};

TEST_F(GpuLocks, OnePerGpu) {
  std::optional<ProcessLock> first(lock("a"));
  EXPECT_TRUE(lock("b").is_held());
  try {
    lock("a");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::device);
    EXPECT_EQ(std::string(error.what()).rfind("cuda:0: another heapwood is measuring", 0), 0u);
    EXPECT_NE(std::string(error.what()).find("--wait-for-gpu"), std::string::npos);
  }
  first.reset();
  EXPECT_TRUE(lock("a").is_held());
}

TEST_F(GpuLocks, EndsWithTheProcess) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  lock("a");  // sets the names' prefix before the fork
  const pid_t holder = fork();
  if (holder == 0) {
    const ProcessLock held = lock("a");
    if (write(ready[1], "x", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char x = 0;
  ASSERT_EQ(read(ready[0], &x, 1), 1);
  EXPECT_THROW(lock("a"), Error);
  // The holder is killed when the next one says that it waits.
  const int standard_error = dup(STDERR_FILENO);
  dup2(ready[1], STDERR_FILENO);
  std::string note;
  std::thread killer([&] {
    for (char c = 0; c != '\n' && read(ready[0], &c, 1) == 1;) note += c;
    kill(holder, SIGKILL);
    waitpid(holder, nullptr, 0);
  });
  EXPECT_TRUE(lock("a", true).is_held());
  killer.join();
  dup2(standard_error, STDERR_FILENO);
  close(standard_error);
  EXPECT_NE(note.find("note: cuda:0: waiting"), std::string::npos) << note;
  for (const int end : ready) close(end);
}

TEST_F(GpuLocks, WaitingEndsOnCtrlC) {
  const ProcessLock held = lock("a");
  simt::interrupt();
  EXPECT_THROW(lock("a", true), Error);
  simt::clear_interrupt();
}

}  // namespace
}  // namespace heapwood::bench
