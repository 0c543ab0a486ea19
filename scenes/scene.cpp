// SPDX-License-Identifier: MIT
#include "scenes/scene.hpp"

#include <filesystem>
#include <fstream>
#include <new>
#include <vector>

#include "scenes/cache.hpp"
#include "scenes/file.hpp"
#include "scenes/obj.hpp"
#include "scenes/ply.hpp"
#include "scenes/scene_name.hpp"
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

Mesh load_file(const std::string& path, const std::string& extension) {
  const FileBytes file = read_file(path);
  if (extension == ".ply") return parse_ply(file.bytes(), path);
  if (extension == ".obj") return parse_obj(file.text(), path);
  return parse_cache(file.bytes(), path);
}

}  // namespace

Mesh load(const std::string& name_or_path) {
  const std::string shown = printable(name_or_path, name_or_path.size());
  try {
    if (const auto name = parse_scene_name(name_or_path)) return generate(*name);
    const std::string extension = extension_of(name_or_path);
    if (extension == ".ply" || extension == ".obj" || extension == cache_extension) {
      return load_file(name_or_path, extension);
    }
  } catch (const std::bad_alloc&) {
    throw Error(Exit::scene, shown + ": the mesh does not fit in memory");
  }
  std::error_code ignored;
  if (std::filesystem::exists(name_or_path, ignored)) {
    throw Error(Exit::scene, shown + ": unknown file type; use .obj, .ply or " + cache_extension);
  }
  throw Error(Exit::usage, "unknown scene `" + shown + "`: use a path that ends in .obj, .ply or " +
                               cache_extension + ", or NAME[:COUNT][:SEED] with a name of " +
                               known_names());
}

std::string digest(const std::string& name_or_path) {
  std::error_code ignored;
  if (parse_scene_name(name_or_path) || !std::filesystem::is_regular_file(name_or_path, ignored))
    return "";
  std::ifstream file(name_or_path, std::ios::binary);
  std::uint64_t hash = 0xcbf29ce484222325u;
  std::vector<char> piece(1 << 16);
  while (file) {
    if (simt::interrupted()) return "";
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    for (std::streamsize i = 0; i < file.gcount(); ++i) {
      hash =
          (hash ^ static_cast<unsigned char>(piece[static_cast<std::size_t>(i)])) * 0x100000001b3u;
    }
  }
  return hex_digits(hash);
}

}  // namespace heapwood::scenes
