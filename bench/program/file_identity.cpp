// SPDX-License-Identifier: MIT
#include "bench/program/file_identity.hpp"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace heapwood::bench {

namespace {

std::optional<FileIdentity> stored_file(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino, ""};
}

}  // namespace

std::optional<FileIdentity> identity_of(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return std::nullopt;
  return stored_file(status);
}

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return stored_file(status);
  const std::filesystem::path file(resolve_links(path));
  const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
  if (!file.has_filename()) return std::nullopt;
  std::error_code ignored;
  if (::stat(folder.c_str(), &status) != 0)
    return FileIdentity{0, 0, std::filesystem::weakly_canonical(file, ignored).string()};
  return FileIdentity{status.st_dev, status.st_ino, file.filename().string()};
}

std::string resolve_links(const std::string& path) {
  constexpr int max_links = 40;  // as in the kernel
  std::filesystem::path at(path);
  char target[PATH_MAX];
  for (int links = 0; links < max_links; ++links) {
    const ssize_t length = ::readlink(at.c_str(), target, sizeof(target));
    if (length < 0) break;
    at = at.parent_path() / std::string(target, static_cast<std::size_t>(length));
  }
  struct stat followed {
  }, resolved{};
  const bool exists = ::stat(path.c_str(), &followed) == 0;
  const bool names_it = ::stat(at.c_str(), &resolved) == 0 && followed.st_dev == resolved.st_dev &&
                        followed.st_ino == resolved.st_ino;
  return exists && !names_it ? path : at.string();
}

}  // namespace heapwood::bench
