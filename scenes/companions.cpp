// SPDX-License-Identifier: MIT
#include "scenes/companions.hpp"

#include <filesystem>
#include <utility>

#include "scenes/file.hpp"
#include "scenes/gltf.hpp"
#include "scenes/mtl.hpp"
#include "scenes/obj.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

class Collector {
 public:
  explicit Collector(const std::string& scene_path) : files_(scene_path) {}

  // Adds the file of this name, if there is one, and returns its path, else "".
  std::string add(const std::string& name) {
    try {
      return found_.emplace_back(files_.find_anywhere(name));
    } catch (const Error&) {
      return "";
    }
  }
  void add_library(const std::string& name) {
    const std::string path = add(name);
    if (path.empty()) return;
    try {
      for (const std::string& map : find_maps(read_file(path).text())) add(map);
    } catch (const Error&) {
      // Without a readable library no picture is read.
    }
  }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  CompanionFiles files_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> companion_files(const std::string& name_or_path) {
  const std::string type = extension_of(name_or_path);
  if (type != ".obj" && !is_gltf(type)) return {};
  Collector collector(name_or_path);
  try {
    const FileBytes file = read_file(name_or_path);
    if (is_gltf(type)) {
      for (const std::string& name : gltf_file_names(file.bytes(), name_or_path))
        collector.add(name);
      return collector.take();
    }
    for (const std::string& library : find_libraries(file.text())) {
      // One name with blanks, or several.
      collector.add_library(library);
      for (const std::string_view word : words_of(library)) {
        if (word != library) collector.add_library(std::string(word));
      }
    }
  } catch (const Error&) {
    // load() reports it.
  }
  return collector.take();
}

std::string camera_path(const std::string& source) {
  return std::filesystem::path(source).replace_extension(".camera").string();
}

}  // namespace heapwood::scenes
