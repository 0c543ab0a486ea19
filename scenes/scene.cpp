// SPDX-License-Identifier: MIT
#include "scenes/scene.hpp"

#include <filesystem>
#include <fstream>
#include <new>
#include <utility>
#include <vector>

#include "scenes/cache.hpp"
#include "scenes/file.hpp"
#include "scenes/gltf.hpp"
#include "scenes/obj.hpp"
#include "scenes/ply.hpp"
#include "simt/device.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

std::string known_names() {
  std::string names;
  for (const Procedural& scene : procedural_scenes()) {
    if (!names.empty()) names += ", ";
    names += scene.name;
  }
  return names;
}

constexpr const char* extensions = ".obj, .ply, .gltf, .glb or .hwmesh";

Mesh load_file(const std::string& path, const std::string& extension, Content content) {
  const FileBytes file = read_file(path);
  if (extension == ".ply") return parse_ply(file.bytes(), path, content);
  if (extension == ".obj") return parse_obj(file.text(), path, content);
  if (is_gltf(extension)) return parse_gltf(file.bytes(), path, content);
  return parse_cache(file.bytes(), path);
}

}  // namespace

bool is_readable(const std::string& extension) {
  return extension == ".ply" || extension == ".obj" || is_gltf(extension) ||
         extension == cache_extension;
}

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
                               ", or NAME[:COUNT][:SEED] with a name of " + known_names());
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
    } catch (const Error&) {  // Ctrl-C, too
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

}  // namespace heapwood::scenes
