// SPDX-License-Identifier: MIT
// One line of progress on standard error if that is a terminal:
// "[3/16] atrium: CFMalloc, run 2   ETA 0:12".
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace heapwood::bench {

// The line's text without cursor control; `elapsed` in seconds.
std::string progress_text(std::size_t done, std::size_t total, double elapsed,
                          const std::string& what);

class Progress {
 public:
  Progress();
  explicit Progress(bool enabled) : enabled_(enabled) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Finished steps, total steps, and the current step. Redraws at most ten times per second.
  void update(std::size_t done, std::size_t total, const std::string& what);

 private:
  using Clock = std::chrono::steady_clock;
  bool enabled_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point drawn_{};
};

// A note that is printed when work has started: at the second step of a Progress, after the input
// was read. An error before that step is not preceded by it.
void note_when_work_starts(const std::string& text);
// Prints it now, if it is still waiting.
void print_waiting_note();

// Erases the visible line; call this before writing anything else to the terminal.
void clear_progress_line();

}  // namespace heapwood::bench
