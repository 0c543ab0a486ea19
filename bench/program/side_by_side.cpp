// SPDX-License-Identifier: MIT
#include "bench/program/side_by_side.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "bench/program/descriptor.hpp"
#include "simt/device.hpp"

namespace heapwood::bench {

namespace {

constexpr std::string_view error_prefix = "heapwood: error: ";

struct Pipe {
  Descriptor read, write;
};
Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw Error(Exit::failed, fmt::format("cannot start a process: {}", std::strerror(errno)));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

struct Process {
  pid_t pid = -1;
  Descriptor out, err;
  std::string line;  // of standard error, unfinished
  ProcessOutcome outcome{};
};

// In the new process: nothing here allocates, since another thread may have held a lock.
[[noreturn]] void become(const char* program, char* const* argv, int out, int err, pid_t parent) {
  // Its own process group, so that a terminal's Ctrl-C reaches it once: through the parent.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::execv(program, argv);
  ::_exit(127);
}

Process start(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  Pipe out = make_pipe(), err = make_pipe();
  const pid_t parent = ::getpid();
  Process process;
  process.pid = ::fork();
  if (process.pid == 0)
    become(program.c_str(), argv.data(), out.write.get(), err.write.get(), parent);
  if (process.pid < 0)
    throw Error(Exit::failed, fmt::format("cannot start a process: {}", std::strerror(errno)));
  process.out = std::move(out.read);
  process.err = std::move(err.read);
  return process;
}

// Reads what there is; closes the descriptor at the end.
std::string take(Descriptor& from) {
  char buffer[4096];
  const ssize_t bytes = ::read(from.get(), buffer, sizeof buffer);
  if (bytes > 0) return {buffer, static_cast<std::size_t>(bytes)};
  if (bytes == 0 || errno != EINTR) from.close();
  return "";
}

class Group {
 public:
  explicit Group(const SideBySide::OnLine& on_line) : on_line_(on_line) {}
  ~Group() {
    // After an exception: none stays behind.
    for (const Process& process : processes_) {
      if (process.pid > 0) ::kill(process.pid, SIGKILL);
    }
    for (Process& process : processes_) wait(process);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  void add(Process process) { processes_.push_back(std::move(process)); }

  std::vector<ProcessOutcome> finish() {
    while (read_some()) {
      if (!is_told_to_stop_ && simt::interrupted()) {
        is_told_to_stop_ = true;
        for (const Process& process : processes_) {
          if (process.pid > 0) ::kill(process.pid, SIGTERM);
        }
      }
    }
    std::vector<ProcessOutcome> outcomes;
    for (Process& process : processes_) {
      wait(process);
      outcomes.push_back(process.outcome);
    }
    return outcomes;
  }

 private:
  // False if all streams have ended.
  bool read_some() {
    std::vector<pollfd> polled;
    std::vector<std::size_t> owners;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      for (const Descriptor* stream : {&processes_[i].out, &processes_[i].err}) {
        if (!*stream) continue;
        polled.push_back({stream->get(), POLLIN, 0});
        owners.push_back(i);
      }
    }
    if (polled.empty()) return false;
    if (::poll(polled.data(), polled.size(), 100) <= 0) return true;  // also by a signal
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      Process& process = processes_[owners[i]];
      if (polled[i].fd == process.out.get())
        process.outcome.out += take(process.out);
      else
        add_errors(owners[i], take(process.err));
    }
    return true;
  }

  void add_errors(std::size_t number, const std::string& text) {
    std::string& line = processes_[number].line;
    for (const char c : text) {
      if (c != '\n') {
        line += c;
        continue;
      }
      tell(number, line);
      line.clear();
    }
    if (!processes_[number].err && !line.empty()) tell(number, std::exchange(line, ""));
  }

  void tell(std::size_t number, const std::string& line) {
    if (line.starts_with(error_prefix))
      processes_[number].outcome.errors.push_back(line.substr(error_prefix.size()));
    else
      on_line_(number, line);
  }

  void wait(Process& process) {
    int status = 0;
    if (process.pid <= 0) return;
    while (::waitpid(process.pid, &status, 0) < 0 && errno == EINTR) {
    }
    process.pid = -1;
    if (WIFEXITED(status))
      process.outcome.exit = WEXITSTATUS(status);
    else
      process.outcome.signal = WTERMSIG(status);
  }

  const SideBySide::OnLine& on_line_;
  std::vector<Process> processes_;
  bool is_told_to_stop_ = false;
};

}  // namespace

std::string outcome_text(const ProcessOutcome& outcome) {
  if (outcome.signal != 0)
    return fmt::format("ended by signal {} ({})", outcome.signal, ::strsignal(outcome.signal));
  return fmt::format("exit code {}", outcome.exit);
}

std::vector<ProcessOutcome> SideBySide::run(const std::vector<std::vector<std::string>>& processes,
                                            const OnLine& on_line) const {
  Group group(on_line);
  for (const std::vector<std::string>& arguments : processes) group.add(start(program_, arguments));
  return group.finish();
}

}  // namespace heapwood::bench
