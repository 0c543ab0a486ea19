// SPDX-License-Identifier: MIT
// Runs several processes of a program side by side and collects what they print.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace heapwood::bench {

struct ProcessOutcome {
  int exit = -1;                    // exit code; -1: ended by a signal
  int signal = 0;                   // which
  std::string out;                  // standard output
  std::vector<std::string> errors;  // lines "heapwood: error: ..." without these words
  bool is_done() const { return exit == 0; }
};

// "exit code 3", "ended by signal 9 (Killed)"
std::string outcome_text(const ProcessOutcome& outcome);

class SideBySide {
 public:
  // The program's path; the arguments of a process begin with its name.
  explicit SideBySide(std::string program) : program_(std::move(program)) {}

  // A line of a process's standard error, by the process's number, without its line break.
  using OnLine = std::function<void(std::size_t process, const std::string& line)>;

  // Starts a process per list of arguments and returns when all have ended. After
  // simt::interrupt(), each gets SIGTERM once. They end with this process, whatever ends it.
  // Throws Error{Exit::failed} if no process can be started.
  std::vector<ProcessOutcome> run(const std::vector<std::vector<std::string>>& processes,
                                  const OnLine& on_line) const;

 private:
  std::string program_;
};

}  // namespace heapwood::bench
