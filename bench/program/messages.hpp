// SPDX-License-Identifier: MIT
// Notes, warnings and the progress line on standard error; the version. Includes fmt, because notes
// and warnings take its format strings.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>

#include "simt/error.hpp"

namespace heapwood::bench {

// Print one line on standard error: "heapwood: note: ..." or "heapwood: warning: ...".
void note(const std::string& text);
void warning(const std::string& text);
// Variants that format the text by fmt.
template <class... Args>
void note(fmt::format_string<Args...> text, Args&&... args) {
  note(fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void warning(fmt::format_string<Args...> text, Args&&... args) {
  warning(fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
[[noreturn]] void throw_error(Exit exit, fmt::format_string<Args...> text, Args&&... args) {
  throw Error(exit, fmt::format(text, std::forward<Args>(args)...));
}

// The exception's message; a library's terms are replaced by words of the command line.
std::string error_text(const std::exception& error);

// The error's text without an allocator's id at its start; the result names the allocator.
std::string reason_text(const std::exception& error);

// Escapes characters that control a terminal, which file names and messages of libraries may
// contain.
std::string one_line(const std::string& text);

// The text of the progress line, without cursor control. `elapsed` is in seconds.
std::string progress_text(std::size_t done, std::size_t total, double elapsed,
                          const std::string& what);

class Progress {
 public:
  Progress();
  explicit Progress(bool enabled) : enabled_(enabled) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows finished steps, all steps and the current step. Redraws at most ten times per second.
  void update(std::size_t done, std::size_t total, const std::string& what);

 private:
  using Clock = std::chrono::steady_clock;
  bool enabled_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point drawn_{};
};

// Prints a note once work has started, which is at the second step of a Progress, after the input
// was read. If an error occurs before that, the note is not printed.
void note_when_work_starts(const std::string& text);
// Prints the waiting note now, if there is one.
void print_waiting_note();

// Erases the progress line. Must be called before anything else is written to the terminal.
void clear_progress_line();

std::string version();            // "0.1.0"
std::string git_sha();            // 12 hex digits or "unknown"
std::optional<bool> git_dirty();  // absent if unknown
std::string git_text();           // "0123456789ab", "0123456789ab+changes", "unknown"
std::string compilers();          // "GNU 12.2.0, nvcc 13.0.48"
std::string version_line();       // "heapwood 0.1.0 (0123456789ab)"

}  // namespace heapwood::bench
