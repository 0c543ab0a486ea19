// SPDX-License-Identifier: MIT
// A file that is written as a whole or not at all.
#pragma once

#include <string>

namespace heapwood::app {

// Writes into a file beside the one that is named, then renames it.
class OutputFile {
 public:
  // Throws Error{Exit::failed} now if the file could not be written later (no such folder, no permission, a folder).
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const std::string& content);
  const std::string& path() const { return path_; }

 private:
  std::string path_, temporary_;
};

}  // namespace heapwood::app
