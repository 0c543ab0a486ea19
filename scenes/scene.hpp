// SPDX-License-Identifier: MIT
// Scenes: `atrium`, `statue:1m`, `pipes:12m:7`, or the path of an OBJ, PLY, glTF or GLB file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scenes/mesh.hpp"

namespace heapwood::scenes {

struct Procedural {
  const char* name;
  const char* description;
  std::uint64_t default_triangles, min_triangles, max_triangles;
};
std::span<const Procedural> procedural_scenes();

// The parts of `NAME[:COUNT][:SEED]`, in any case. A count is `1500`, `20k`, `1m` or `7.5m`.
struct SceneName {
  const Procedural* scene = nullptr;
  std::uint64_t triangles = 0;
  std::uint64_t seed = 1;
};
// Returns nullopt if the part before the first colon is not a procedural scene, or if the name has
// the extension of a scene file. Throws Error{Exit::usage} if the rest is not a count or seed, or
// the count is out of the scene's range.
std::optional<SceneName> parse_scene_name(const std::string& text);

// threads = 0: one per hardware thread. The mesh does not depend on it.
Mesh generate(const SceneName& name, unsigned threads = 0, Content content = Content::geometry);

// Loads a scene. Throws Error{Exit::usage} for an unknown name, and Error{Exit::scene} for a file
// that cannot be read: one line with file, line or byte, and the reason. The result has passed
// check() and may contain zero-area triangles (drop_degenerate()). Its geometry does not depend on
// `content`.
Mesh load(const std::string& name_or_path, Content content = Content::geometry);

// The FNV-1a hash of a file's content, for a .gltf file also of its buffers, as 16 hexadecimal
// digits. "" for a procedural scene or an unreadable file, and after Ctrl-C.
std::string digest(const std::string& name_or_path);

// The existing files that a scene file names, whether a command reads them or not: the material
// libraries of an OBJ file with their pictures, the buffers and pictures of a glTF file. Reads the
// scene file and its libraries, but decodes nothing. None for a procedural scene and for a file
// that cannot be read.
std::vector<std::string> companion_files(const std::string& name_or_path);

// The file next to a scene file that may hold its camera: `model.camera` for `model.ply`.
std::string camera_path(const std::string& source);

}  // namespace heapwood::scenes
