// SPDX-License-Identifier: MIT
#include "bench/program/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <ctime>

namespace heapwood::bench {

void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1) continue;
    // Read-only, so that writing results to a closed standard output still fails. open() returns
    // the lowest free descriptor, which is this one.
    if (::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

namespace {
struct sigaction pipe_action {};  // before ignore_write_signals()
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

// Calls only what is safe in a signal handler.
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

}  // namespace heapwood::bench
