// SPDX-License-Identifier: MIT
#include "bench/program/command_files.hpp"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "bench/program/messages.hpp"
#include "scenes/file.hpp"
#include "scenes/scene.hpp"

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
  constexpr int max_links = 40;  // limit of the Linux kernel
  std::filesystem::path followed_path(path);
  char target[PATH_MAX];
  for (int links = 0; links < max_links; ++links) {
    const ssize_t length = ::readlink(followed_path.c_str(), target, sizeof(target));
    if (length < 0) break;
    followed_path =
        followed_path.parent_path() / std::string(target, static_cast<std::size_t>(length));
  }
  struct stat followed {
  }, resolved{};
  const bool exists = ::stat(path.c_str(), &followed) == 0;
  const bool names_it = ::stat(followed_path.c_str(), &resolved) == 0 &&
                        followed.st_dev == resolved.st_dev && followed.st_ino == resolved.st_ino;
  return exists && !names_it ? path : followed_path.string();
}

std::optional<std::string> read_text(const std::string& path, Exit exit) {
  std::error_code ignored;
  if (std::filesystem::status(path, ignored).type() == std::filesystem::file_type::not_found)
    return std::nullopt;
  try {
    return std::string(scenes::read_file(path).text());
  } catch (const Error& error) {
    throw Error(exit, error.what());
  }
}

namespace {

[[noreturn]] void refuse(const std::string& path) {
  throw_error(Exit::usage, "{}: already used in this command; choose another file", path);
}

bool has_existing_output(const std::vector<std::string>& written) {
  std::error_code ignored;
  return identity_of(STDOUT_FILENO) || identity_of(STDERR_FILENO) ||
         std::any_of(written.begin(), written.end(), [&](const std::string& path) {
           return std::filesystem::is_regular_file(path, ignored);
         });
}

}  // namespace

void CommandFiles::reads(const std::string& path) {
  if (!path.empty()) read_.push_back(path);
}

void CommandFiles::reads_scene(const std::string& name_or_path) {
  if (name_or_path.empty()) return;
  reads(name_or_path);
  reads(scenes::camera_path(name_or_path));
  scenes_.push_back(name_or_path);
}

void CommandFiles::writes(const std::string& path) {
  if (!path.empty()) written_.push_back(path);
}

void CommandFiles::writes_picture(const std::string& path) {
  if (path == "-")
    throw Error(Exit::usage, "'-' is not a file; pictures are not written to standard output");
  writes(path);
}

void CommandFiles::check() const {
  std::set<FileIdentity> inputs, outputs;
  const auto add_input = [&](const std::string& path) {
    if (const auto file = identity_of(path)) inputs.insert(*file);
  };
  for (const std::string& path : read_) add_input(path);
  if (has_existing_output(written_)) {
    for (const std::string& scene : scenes_) {
      for (const std::string& path : scenes::companion_files(scene)) add_input(path);
    }
  }
  for (const std::string& path : written_) {
    if (path == "-")
      throw Error(Exit::usage, "'-' is not a file; for standard output use /dev/stdout");
    const auto file = identity_of(path);
    if (file && (inputs.contains(*file) || !outputs.insert(*file).second)) refuse(path);
    // Material files count too, although not every command reads them.
    const std::string extension = scenes::extension_of(path);
    std::error_code ignored;
    if ((scenes::is_readable(extension) || extension == ".mtl") &&
        std::filesystem::is_regular_file(path, ignored))
      throw_error(Exit::usage, "{}: is a file of a scene; choose another file", path);
  }
  // A file that is read must not be one to which the shell has redirected an output stream.
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    const auto file = identity_of(stream);
    if (file && inputs.contains(*file))
      refuse(stream == STDOUT_FILENO ? "standard output" : "standard error");
  }
}

}  // namespace heapwood::bench
