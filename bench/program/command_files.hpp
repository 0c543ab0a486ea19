// SPDX-License-Identifier: MIT
// The files of a command: which file a path names, reading of text files, and a check that no file
// is both read and written.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/program/process.hpp"
#include "simt/error.hpp"

namespace heapwood::bench {

// A file that is written completely or not at all.

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

// Identifies a file. A file that exists: by device and inode. Otherwise: by its folder's device and
// inode and its name or, if the folder does not exist either, by its path.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  std::string name;  // "" if the file exists
  auto operator<=>(const FileIdentity&) const = default;
};

// The identity of a regular file; nullopt for folders, pipes and devices.
std::optional<FileIdentity> identity_of(const std::string& path);
std::optional<FileIdentity> identity_of(int descriptor);

// Follows links in the last component of a path; the target need not exist. Returns the path itself
// if the link leads to something that no other path names, such as /dev/stdout.
std::string resolve_links(const std::string& path);

// Returns the content of a file; nullopt if it does not exist. Throws Error with this exit code if
// it cannot be read or is not a regular file: reading a pipe or a device may never start or never
// end.
std::optional<std::string> read_text(const std::string& path, Exit exit);

class CommandFiles {
 public:
  // Add files that the command reads or writes; "" stands for none.
  template <class... Paths>
  void reads(const Paths&... paths) {
    (add(read_, paths), ...);
  }
  template <class... Paths>
  void writes(const Paths&... paths) {
    (add(written_, paths), ...);
  }
  // Adds the files that `list` returns, which check() calls only if an output file exists.
  void reads_listed(std::function<std::vector<std::string>()> list) { lists_.push_back(list); }
  // Adds a picture or video, which cannot be written to standard output.
  void writes_picture(const std::string& path);

  // Throws Error{Exit::usage} if the command would write to a file that it reads, that another
  // option writes, that its output is redirected to, or that is a scene or material. Different
  // paths to one file are recognized.
  void check() const;

 private:
  static void add(std::vector<std::string>& files, const std::string& path) {
    if (!path.empty()) files.push_back(path);
  }
  std::vector<std::string> read_, written_;
  std::vector<std::function<std::vector<std::string>()>> lists_;
};

}  // namespace heapwood::bench
