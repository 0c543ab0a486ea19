// SPDX-License-Identifier: MIT
// What fuzz targets share: the check of an error, and the input as a file.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "simt/error.hpp"

namespace heapwood::fuzz {

// Whether the text of an error is one short printable line.
inline bool is_one_line(std::string_view text) {
  return !text.empty() && text.size() <= 1000 && std::ranges::none_of(text, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
}

// Calls f(). It may reject the input by an Error of one line that begins with "file:"; another
// error ends the process.
template <class F>
int run(F f) {
  try {
    f();
  } catch (const Error& error) {
    const std::string_view text = error.what();
    if (error.exit() != Exit::scene || !text.starts_with("file:") || !is_one_line(text))
      std::abort();
  }
  return 0;
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// The input as a file, for readers that open a path: a file in memory, with the same path for every
// input.
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
  void set(std::string_view content) const {
    if (ftruncate(file_, 0) != 0 ||
        pwrite(file_, content.data(), content.size(), 0) != static_cast<ssize_t>(content.size()))
      std::abort();
  }
  const std::string& path() const { return path_; }

 private:
  int file_;
  std::string path_;
};

}  // namespace heapwood::fuzz
