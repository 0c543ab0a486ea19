// SPDX-License-Identifier: MIT
// Exceptions that end a command. The message is one line: what failed, where, what to do.
#pragma once

#include <stdexcept>
#include <string>

namespace heapwood {

// Exit codes of the command line (docs/architecture.md).
enum class Exit : int { done = 0, failed = 1, usage = 2, scene = 3, device = 4, exhausted = 5 };

class Error : public std::runtime_error {
 public:
  Error(Exit exit, const std::string& message) : std::runtime_error(message), exit_(exit) {}
  Exit exit() const { return exit_; }

 private:
  Exit exit_;
};

namespace simt {

// Thrown when a launch was stopped by its time limit or by interrupt().
class Stopped : public Error {
 public:
  enum class Reason { time_limit, interrupted };
  Stopped(Reason reason, const std::string& message)
      : Error(Exit::failed, message), reason_(reason) {}
  Reason reason() const { return reason_; }

 private:
  Reason reason_;
};

}  // namespace simt
}  // namespace heapwood
