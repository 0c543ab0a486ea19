// SPDX-License-Identifier: MIT
// Which file a path names: paths that differ may name one file, through links.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <tuple>

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

}  // namespace heapwood::bench
