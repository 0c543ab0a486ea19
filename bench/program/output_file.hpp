// SPDX-License-Identifier: MIT
// A file that is written completely or not at all.
#pragma once

#include <optional>
#include <string>

#include "bench/program/process.hpp"

namespace heapwood::bench {

// Writes to a temporary file in the same folder, which then takes the name, permissions and owner
// of the file. A killed process leaves the old file, and at most a file whose name ends in .tmp.
//
// Written in place instead: pipes, devices, the file that standard output or standard error is
// redirected to, files with further hard links or of another owner, and files in a read-only
// folder.
class OutputFile {
 public:
  // Throws Error{Exit::failed} if the file cannot be written (no such folder, no permission, a
  // folder) or another process is writing it.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Returns when the content is on the disk.
  void write(const std::string& content);
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string file_;  // path with links resolved
  std::optional<ProcessLock> lock_;
};

// The path of a numbered picture, from a pattern whose file name contains one run of # for the
// number: `out/frame_###.png`. Throws Error{Exit::usage} for any other pattern.
std::string picture_path(const std::string& pattern, unsigned number);

}  // namespace heapwood::bench
