// SPDX-License-Identifier: MIT
// The project's own binary mesh format, `.hwmesh`: a mesh with its name, origin, upward axis and
// camera, loaded at disk speed.
//
//   64 bytes   Head: magic, version, counts, upward axis, camera, checksum
//   24 bytes   origin: three float64 (not in version 1, whose origin is 0)
//   name, then vertices of three float32, then triangles of three uint32; little-endian, no padding
//
// Materials are left out. Files are written on request only. Version 2 is written; 1 and 2 are
// read; others are rejected.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "scenes/mesh.hpp"

namespace heapwood::scenes {

inline constexpr const char* cache_extension = ".hwmesh";

// Throws Error{Exit::scene}: "source: reason". The result has a triangle, finite vertices and valid
// indices.
Mesh parse_cache(std::span<const std::byte> file, const std::string& source);
Mesh load_cache(const std::string& path);

// Throws Error{Exit::failed}.
void save_cache(const Mesh& mesh, const std::string& path);

}  // namespace heapwood::scenes
