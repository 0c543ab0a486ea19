// SPDX-License-Identifier: MIT
// The input as a file, for readers that open a path: a file in memory, with the same path for every
// input.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace heapwood::fuzz {

class InputFile {
 public:
  explicit InputFile(int number = 0) : file_(memfd_create("input", 0)) {
    // A fixed descriptor: messages name the path, and paths of different lengths would be
    // different messages.
    const int fixed = 100 + number;
    if (file_ < 0 || dup2(file_, fixed) != fixed) std::abort();
    close(file_);
    file_ = fixed;
    path_ = "/proc/self/fd/" + std::to_string(fixed);
  }
  void set(const std::uint8_t* data, std::size_t size) const {
    if (ftruncate(file_, 0) != 0 || pwrite(file_, data, size, 0) != static_cast<ssize_t>(size))
      std::abort();
  }
  const std::string& path() const { return path_; }

 private:
  int file_;
  std::string path_;
};

// Whether the text of an error is one short printable line.
inline bool is_one_line(const std::string& text) {
  if (text.empty() || text.size() > 1000) return false;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return true;
}

}  // namespace heapwood::fuzz
