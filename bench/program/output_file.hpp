// SPDX-License-Identifier: MIT
// A file that is written completely or not at all.
#pragma once

#include <string>
#include <vector>

namespace heapwood::bench {

// Writes to a temporary file in the same folder, then renames it.
class OutputFile {
 public:
  // Throws Error{Exit::failed} if the file cannot be written (no such folder, no permission, a
  // folder), and Error{Exit::usage} if it is one of `others`, which the program also reads or
  // writes.
  explicit OutputFile(std::string path, const std::vector<std::string>& others = {});
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const std::string& content);
  const std::string& path() const { return path_; }

 private:
  std::string path_, temporary_;
};

}  // namespace heapwood::bench
