// SPDX-License-Identifier: MIT
#include "bench/program/command_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "bench/program/file_identity.hpp"
#include "scenes/file.hpp"
#include "scenes/scene.hpp"
#include "simt/error.hpp"

namespace heapwood::bench {

namespace {

[[noreturn]] void refuse(const std::string& path) {
  throw Error(Exit::usage,
              fmt::format("{}: already used in this command; choose another file", path));
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
    // Materials are not read by every command.
    const std::string extension = scenes::extension_of(path);
    std::error_code ignored;
    if ((scenes::is_readable(extension) || extension == ".mtl") &&
        std::filesystem::is_regular_file(path, ignored))
      throw Error(Exit::usage, fmt::format("{}: is a file of a scene; choose another file", path));
  }
  // If the shell redirected an output stream to a file that is read, it is overwritten, too.
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    const auto file = identity_of(stream);
    if (file && inputs.contains(*file))
      refuse(stream == STDOUT_FILENO ? "standard output" : "standard error");
  }
}

}  // namespace heapwood::bench
