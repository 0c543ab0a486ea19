// SPDX-License-Identifier: MIT
#include "bench/program/messages.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <new>
#include <system_error>
#include <utility>

#include "bench/program/process.hpp"
#include "registry/registry.hpp"
#include "scenes/file.hpp"

namespace heapwood::bench {

std::string one_line(const std::string& text) {
  // Libraries end their messages with blanks and line breaks.
  const std::size_t end = text.find_last_not_of(" \n");
  return scenes::printable(text.substr(0, end + 1), text.size());
}

std::string error_text(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error))
    return "out of host memory; use a smaller scene or --pool";
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  if (system && system->code() == std::errc::resource_unavailable_try_again)
    return "cannot start another thread: the system's limit is reached; use fewer with --threads";
  return error.what();
}

std::string reason_text(const std::exception& error) {
  const std::string text = error_text(error);
  const std::size_t colon = text.find(": ");
  return colon != std::string::npos && registry::find(text.substr(0, colon))
             ? text.substr(colon + 2)
             : text;
}

void note(const std::string& text) {
  clear_progress_line();
  write_error(fmt::format("heapwood: note: {}\n", one_line(text)));
}

void warning(const std::string& text) {
  clear_progress_line();
  std::fflush(stdout);
  write_error(fmt::format("heapwood: warning: {}\n", one_line(text)));
}

namespace {
bool line_showing = false;
std::string waiting_note;
unsigned steps = 0;  // counted over all Progress objects

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
  // Cut at the terminal's width: from a wrapped line the carriage return would not lead back.
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
