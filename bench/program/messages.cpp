// SPDX-License-Identifier: MIT
#include "bench/program/messages.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>
#include <system_error>

#include "bench/program/process.hpp"
#include "bench/program/progress.hpp"
#include "scenes/file.hpp"
#include "simt/error.hpp"

namespace heapwood::bench {

std::string one_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n");  // libraries end their messages with these
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

int out_of_memory() {
  constexpr std::string_view line =
      "heapwood: error: out of host memory; use a smaller scene or --pool\n";
  std::fflush(stdout);
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return static_cast<int>(Exit::failed);
  return static_cast<int>(Exit::failed);
}

void report_uncaught_exceptions() {
  std::set_terminate([] {
    try {
      if (std::current_exception()) std::rethrow_exception(std::current_exception());
    } catch (const std::bad_alloc&) {
      ::_exit(out_of_memory());
    } catch (...) {
    }
    std::abort();
  });
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

}  // namespace heapwood::bench
