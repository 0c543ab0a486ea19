// SPDX-License-Identifier: MIT
#include "bench/program/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <functional>
#include <new>
#include <string_view>
#include <thread>
#include <utility>

#include "bench/program/messages.hpp"
#include "simt/device.hpp"
#include "simt/error.hpp"

namespace heapwood::bench {

void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1) continue;
    // Read-only, so that writing results to a closed standard output still fails. open() returns
    // the lowest free descriptor, which is that of the closed stream.
    if (::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

namespace {
struct sigaction pipe_action {};  // action before ignore_write_signals()
}  // namespace

void ignore_write_signals() {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &pipe_action);
  sigaction(SIGXFSZ, &ignore, nullptr);
}

void end_if_pipe_is_broken() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  if (::poll(&out, 1, 0) != 1 || !(out.revents & POLLERR)) return;
  sigaction(SIGPIPE, &pipe_action, nullptr);
  std::raise(SIGPIPE);
}

void write_error(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

namespace {

void (*on_request)(int) = nullptr;
double min_pause = 0;  // seconds
volatile std::sig_atomic_t is_requested = 0;
timespec requested_at{};

// Calls only functions that are safe in a signal handler.
void handle_request(int signal) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  if (!is_requested) {
    is_requested = 1;
    requested_at = now;
    on_request(signal);
    return;
  }
  const double pause = static_cast<double>(now.tv_sec - requested_at.tv_sec) +
                       1e-9 * static_cast<double>(now.tv_nsec - requested_at.tv_nsec);
  if (pause < min_pause) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // delivered when this returns
}

}  // namespace

void install_signal_handlers(void (*handler)(int), double min_seconds) {
  on_request = handler;
  min_pause = min_seconds;
  is_requested = 0;
  struct sigaction action {};
  action.sa_handler = handle_request;
  sigemptyset(&action.sa_mask);
  const int requests[] = {SIGINT, SIGTERM, SIGHUP};
  for (const int signal : requests) sigaddset(&action.sa_mask, signal);
  for (const int signal : requests) {
    struct sigaction before {};
    if (signal == SIGHUP && sigaction(signal, nullptr, &before) == 0 &&
        before.sa_handler == SIG_IGN)
      continue;
    sigaction(signal, &action, nullptr);
  }
}

namespace {

// Enough for a report of thousands of results.
constexpr std::size_t reserve_bytes = std::size_t{4} << 20;
std::atomic<char*> reserve = nullptr;
thread_local int scopes_that_end = 0;
thread_local bool has_run_out = false;

void release_reserve() {
  if (const char* held = reserve.exchange(nullptr)) {
    delete[] held;
    return;
  }
  if (scopes_that_end > 0) ::_exit(out_of_memory());
  has_run_out = true;
  throw std::bad_alloc();
}

void on_uncaught_exception() {
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    ::_exit(out_of_memory());
  } catch (...) {
  }
  // Memory has run out. In a function that does not throw the exception is not known here.
  if (!std::current_exception() && has_run_out) ::_exit(out_of_memory());
  std::abort();
}

}  // namespace

void prepare_for_lack_of_memory() {
  std::set_terminate(on_uncaught_exception);
  reserve = new char[reserve_bytes];
  std::set_new_handler(release_reserve);
}

int out_of_memory() {
  constexpr std::string_view line =
      "heapwood: error: out of host memory; use a smaller scene or --pool\n";
  std::fflush(stdout);
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, line.data(), line.size());
  return static_cast<int>(Exit::failed);
}

LackOfMemoryEnds::LackOfMemoryEnds() { ++scopes_that_end; }
LackOfMemoryEnds::~LackOfMemoryEnds() { --scopes_that_end; }

namespace {
// The socket with this name that execv() left open, or -1.
int find_socket(const sockaddr_un& name) {
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_un own{};
    socklen_t bytes = sizeof(own);
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &bytes) == 0 &&
        std::memcmp(&own, &name, sizeof(own)) == 0)
      return fd;
  }
  return -1;
}
}  // namespace

ProcessLock::ProcessLock(const std::string& name, bool survives_execv) {
  const std::string text = fmt::format("heapwood:{:016x}", std::hash<std::string>()(name));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(text.begin(), text.end(), address.sun_path + 1);
  static bool is_first = true;
  if (survives_execv && std::exchange(is_first, false)) socket_ = Descriptor(find_socket(address));
  if (socket_) return;
  socket_ = Descriptor(::socket(AF_UNIX, SOCK_STREAM | (survives_execv ? 0 : SOCK_CLOEXEC), 0));
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  is_held_ = !socket_ || ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), bytes) == 0 ||
             errno != EADDRINUSE;
}

// Identified by its folder and its name there, because writing replaces the file's inode.
ProcessLock lock_file(const std::string& path) {
  const std::filesystem::path file(path);
  struct stat folder {};
  ::stat(file.has_parent_path() ? file.parent_path().c_str() : ".", &folder);
  ProcessLock lock(fmt::format("{}:{}:{}", folder.st_dev, folder.st_ino, file.filename().string()));
  if (!lock.is_held())
    throw_error(Exit::failed,
                "{}: another heapwood is writing it; wait for it to end or choose another file",
                path);
  return lock;
}

ProcessLock lock_gpu(const std::string& gpu, const std::string& id, bool waits) {
  for (bool is_told = false;; is_told = true) {
    ProcessLock lock("gpu:" + id, true);
    if (lock.is_held()) return lock;
    if (!waits)
      throw_error(Exit::device,
                  "{}: another heapwood is measuring on this GPU; wait for it to end, "
                  "give --wait-for-gpu or choose another --device",
                  gpu);
    if (!is_told) note("{}: waiting for another heapwood to end", gpu);
    if (simt::interrupted())
      throw_error(Exit::failed, "{}: interrupted while waiting for the GPU", gpu);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace heapwood::bench
