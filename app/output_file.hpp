// SPDX-License-Identifier: MIT
// A file that is written as a whole or not at all.
#pragma once

#include <string>
#include <vector>

namespace heapwood::app {

// Writes into a file beside the one that is named, then renames it.
class OutputFile {
 public:
  // Throws Error{Exit::failed} now if the file could not be written later (no such folder, no permission, a folder), and
  // Error{Exit::usage} if it is one of `others`, which the program reads or writes, too.
  explicit OutputFile(std::string path, const std::vector<std::string>& others = {});
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const std::string& content);
  const std::string& path() const { return path_; }

 private:
  std::string path_, temporary_;
};

}  // namespace heapwood::app
