// SPDX-License-Identifier: MIT
// Wavefront OBJ files: vertices and faces of any size with absolute or relative indices; groups,
// materials, normals and texture coordinates are ignored. Coordinates are read in double precision
// (Mesh::origin); polygons are triangulated (polygon.hpp); faces of fewer than three corners are
// skipped.
// tinyobjloader parses the numbers, but only from lines that were validated here: the version in
// Debian 12 accepts indices out of range, reads out of bounds or drops faces for some malformed
// lines, and reports no line number.
#pragma once

#include <string>
#include <string_view>

#include "scenes/mesh.hpp"

namespace heapwood::scenes {

// Throws Error{Exit::scene}: "source: line 12: reason". The result has a triangle, finite vertices
// and valid indices.
Mesh parse_obj(std::string_view text, const std::string& source);

}  // namespace heapwood::scenes
