// SPDX-License-Identifier: MIT
#include "bench/program/messages.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "bench/program/process.hpp"
#include "bench/program/progress.hpp"

namespace heapwood::bench {

std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
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
