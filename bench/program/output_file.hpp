// SPDX-License-Identifier: MIT
// A file that is written completely or not at all.
#pragma once

#include <optional>
#include <string>

#include "bench/program/process.hpp"

namespace heapwood::bench {

// Writes to a temporary file in the same folder, which then takes the name, permissions and owner.
// A killed process leaves the old file, and at most a name ending in .tmp.
//
// Written in place instead: pipes, devices and the file that standard output or standard error is
// redirected to; files with further hard links, another owner's, and those in a read-only folder.
class OutputFile {
 public:
  // Throws Error{Exit::failed} if the file cannot be written (no such folder, no permission, a
  // folder) or another process is writing it.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // The content is on the disk when this returns.
  void write(const std::string& content);
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string file_;  // behind links
  std::optional<ProcessLock> lock_;
};

// The path of a numbered picture by a pattern whose file name contains one run of #, which stands
// for the number: `out/frame_###.png`. Throws Error{Exit::usage} for another pattern.
std::string picture_path(const std::string& pattern, unsigned number);

}  // namespace heapwood::bench
