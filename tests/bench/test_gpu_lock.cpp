// SPDX-License-Identifier: MIT
// Two processes do not measure on one GPU at the same time.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <thread>

#include "bench/program/gpu_lock.hpp"
#include "simt/device.hpp"
#include "tests/app/executable.hpp"

namespace heapwood::bench {
namespace {

class GpuLocks : public testing::Test {
 protected:
  const std::string path() const { return folder_.path().string(); }
  GpuLock lock(const std::string& id, bool waits = false) const {
    return GpuLock("cuda:0", id, waits, path());
  }
  tests::Folder folder_;
};

TEST_F(GpuLocks, OnePerGpu) {
  std::optional<GpuLock> first(lock("a"));
  EXPECT_TRUE(first->is_held());
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
  const pid_t holder = fork();
  if (holder == 0) {
    const GpuLock held = lock("a");
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
  const GpuLock held = lock("a");
  simt::interrupt();
  EXPECT_THROW(lock("a", true), Error);
  simt::clear_interrupt();
}

TEST_F(GpuLocks, WithoutAFileThereIsNoLock) {
  EXPECT_FALSE(GpuLock("cuda:0", "a", false, path() + "/absent").is_held());
  // Nor through a link that another user may have placed there.
  std::filesystem::create_symlink(path() + "/elsewhere", path() + "/heapwood-gpu-a.lock");
  EXPECT_FALSE(lock("a").is_held());
  EXPECT_FALSE(std::filesystem::exists(path() + "/elsewhere"));
}

TEST_F(GpuLocks, EveryUserMayLockTheFile) {
  const mode_t before = umask(0077);
  lock("a");
  umask(before);
  struct stat info {};
  ASSERT_EQ(stat((path() + "/heapwood-gpu-a.lock").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u);
  EXPECT_EQ(info.st_size, 0);
}

}  // namespace
}  // namespace heapwood::bench
