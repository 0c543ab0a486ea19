// SPDX-License-Identifier: MIT
#include "bench/program/messages.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <new>
#include <system_error>

#include "bench/program/process.hpp"
#include "bench/program/progress.hpp"
#include "registry/registry.hpp"
#include "scenes/file.hpp"

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

}  // namespace heapwood::bench
