// SPDX-License-Identifier: MIT
// Files of a command: which file a path names, text files, and the files that a command reads and
// writes.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "simt/error.hpp"

namespace heapwood::bench {

// A file that exists by device and inode; one that does not by its folder's and its name in there,
// or, without a folder, by its path.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  std::string name;  // "" if the file exists
  bool operator==(const FileIdentity&) const = default;
  bool operator<(const FileIdentity& other) const {
    return std::tie(device, inode, name) < std::tie(other.device, other.inode, other.name);
  }
};

// nullopt for folders and for what is not stored: pipes and devices.
std::optional<FileIdentity> identity_of(const std::string& path);
std::optional<FileIdentity> identity_of(int descriptor);

// The file behind the links in the last component, which need not exist. The path itself for links
// to something that no other path names, such as /dev/stdout.
std::string resolve_links(const std::string& path);

// The content of a file; nullopt if it does not exist. Throws Error with this exit code if it
// cannot be read or is not a regular file: reading a pipe or a device may never start or never end.
std::optional<std::string> read_text(const std::string& path, Exit exit);

class CommandFiles {
 public:
  // "" is no file.
  void reads(const std::string& path);
  // A scene file with the camera beside it and all files that it names, also those that the command
  // does not read. Does no harm for the name of a procedural scene.
  void reads_scene(const std::string& name_or_path);
  void writes(const std::string& path);
  // A picture or video, which is not written to standard output.
  void writes_picture(const std::string& path);

  // Throws Error{Exit::usage} if the command would write to a file that it also reads, or that
  // another option writes or its output is redirected to, whatever the paths to the file; or to an
  // existing scene or material file. Reads the scene files only if an output file exists.
  void check() const;

 private:
  std::vector<std::string> read_, scenes_, written_;
};

}  // namespace heapwood::bench
