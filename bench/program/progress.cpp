// SPDX-License-Identifier: MIT
#include "bench/program/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <utility>

#include "bench/program/messages.hpp"
#include "bench/program/process.hpp"

namespace heapwood::bench {

namespace {
bool line_showing = false;
std::string waiting_note;
unsigned steps = 0;  // of all Progress objects

std::size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 10) return size.ws_col;
  return 80;
}
}  // namespace

std::string progress_text(std::size_t done, std::size_t total, double elapsed,
                          const std::string& what) {
  std::string text = fmt::format("[{}/{}] {}", done, total, what);
  if (done > 0 && done < total && elapsed > 0) {
    const double left = elapsed / static_cast<double>(done) * static_cast<double>(total - done);
    const long seconds = std::lround(std::ceil(left));
    if (seconds >= 3600) {
      text += fmt::format("   ETA {}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    } else {
      text += fmt::format("   ETA {}:{:02}", seconds / 60, seconds % 60);
    }
  }
  return text;
}

Progress::Progress() : Progress(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear_progress_line(); }

void note_when_work_starts(const std::string& text) {
  waiting_note = text;
  steps = 0;
}

void print_waiting_note() {
  if (!waiting_note.empty()) note(std::exchange(waiting_note, ""));
}

void Progress::update(std::size_t done, std::size_t total, const std::string& what) {
  if (++steps == 2) print_waiting_note();
  if (!enabled_) return;
  const auto now = Clock::now();
  if (line_showing && now - drawn_ < std::chrono::milliseconds(100)) return;
  drawn_ = now;
  std::string text = progress_text(done, total, std::chrono::duration<double>(now - start_).count(),
                                   one_line(what));
  // A line longer than the terminal would wrap, and the carriage return would not return to its
  // start.
  if (text.size() >= terminal_columns()) text.resize(terminal_columns() - 1);
  write_error("\r\033[K" + text);
  line_showing = true;
}

void clear_progress_line() {
  if (!line_showing) return;
  write_error("\r\033[K");
  line_showing = false;
}

}  // namespace heapwood::bench
