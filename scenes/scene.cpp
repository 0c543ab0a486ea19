// SPDX-License-Identifier: MIT
#include "scenes/scene.hpp"

#include <filesystem>
#include <fstream>
#include <new>
#include <utility>

#include "scenes/families.hpp"
#include "scenes/file.hpp"
#include "scenes/gltf.hpp"
#include "scenes/mesh_files.hpp"
#include "simt/device.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

constexpr const char* extensions = ".obj, .ply, .gltf or .glb";

Mesh load_file(const std::string& path, const std::string& extension, Content content) {
  const FileBytes file = read_file(path);
  if (const char* kind = foreign_kind(file.text()))
    throw Error(Exit::scene, printable(path, path.size()) + ": " + kind);
  if (extension == ".ply") return parse_ply(file.bytes(), path, content);
  if (extension == ".obj") return parse_obj(file.text(), path, content);
  return parse_gltf(file.bytes(), path, content);
}

class Collector {
 public:
  explicit Collector(const std::string& scene_path) : files_(scene_path) {}

  // Adds the file with this name if there is one, and returns its path; otherwise returns "".
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
      // If a library cannot be read, its pictures are not known.
    }
  }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  CompanionFiles files_;
  std::vector<std::string> found_;
};

}  // namespace

Mesh load(const std::string& name_or_path, Content content) {
  const std::string shown = printable(name_or_path, name_or_path.size());
  try {
    if (const auto name = parse_scene_name(name_or_path)) return generate(*name, 0, content);
    const std::string extension = extension_of(name_or_path);
    if (is_readable(extension)) return load_file(name_or_path, extension, content);
  } catch (const std::bad_alloc&) {
    throw Error(Exit::scene, shown + ": the mesh does not fit in memory");
  }
  std::error_code ignored;
  if (std::filesystem::exists(name_or_path, ignored)) {
    throw Error(Exit::scene, shown + ": unknown file type; use " + extensions);
  }
  throw Error(Exit::usage, "unknown scene `" + shown + "`: use a path that ends in " + extensions +
                               ", or NAME[:COUNT][:SEED] with a name of " +
                               names_of(procedural_scenes()));
}

std::string digest(const std::string& name_or_path) {
  std::error_code ignored;
  if (parse_scene_name(name_or_path) || !std::filesystem::is_regular_file(name_or_path, ignored))
    return "";
  std::vector<std::string> files{name_or_path};
  if (is_gltf(extension_of(name_or_path))) {
    try {
      const CompanionFiles companions(name_or_path);
      for (const std::string& buffer :
           gltf_file_names(read_file(name_or_path).bytes(), name_or_path, false)) {
        files.push_back(companions.find(buffer));
      }
    } catch (const Error&) {  // also after Ctrl-C
      return "";
    }
  }
  std::uint64_t hash = fnv1a("");
  std::vector<char> piece(1 << 16);
  for (const std::string& path : files) {
    std::ifstream file(path, std::ios::binary);
    while (file) {
      if (simt::interrupted()) return "";
      file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
      hash = fnv1a({piece.data(), static_cast<std::size_t>(file.gcount())}, hash);
    }
  }
  return hex_digits(hash);
}

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
      // The text is one name with blanks, or several names.
      collector.add_library(library);
      for (const std::string_view word : words_of(library)) {
        if (word != library) collector.add_library(std::string(word));
      }
    }
  } catch (const Error&) {
    // The error is ignored here: load() reports it.
  }
  return collector.take();
}

std::string camera_path(const std::string& source) {
  return std::filesystem::path(source).replace_extension(".camera").string();
}

}  // namespace heapwood::scenes
