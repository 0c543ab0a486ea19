// SPDX-License-Identifier: MIT
// PLY files: ASCII, binary little and big endian. Vertices x y z wherever they stand among other properties, faces as
// `vertex_indices` or `vertex_index` with any types (polygons become fans, a face of fewer than three corners is left
// out); all else is skipped. Memory follows the size of the file, never a number that the file merely claims.
// Limits: triangle strips are not read; a file says nothing about its upward axis, y is assumed.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "scenes/mesh.hpp"

namespace heapwood::scenes {

// Throws Error{Exit::scene}: "source: line 12: reason" in text, "source: byte 1234: reason" in binary data.
// Vertices are finite and indices in range in what is returned.
Mesh parse_ply(std::span<const std::byte> file, const std::string& source);

// Binary little-endian, `uchar 3` and three int32 a face. Throws Error{Exit::failed}.
void write_ply(const Mesh& mesh, const std::string& path);

}  // namespace heapwood::scenes
