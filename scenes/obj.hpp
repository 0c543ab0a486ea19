// SPDX-License-Identifier: MIT
// Wavefront OBJ files: vertices and faces of any size with absolute or relative indices; groups, materials, normals and
// texture coordinates are passed over. Coordinates are read in double precision (Mesh::origin); polygons are
// triangulated (polygon.hpp), a face of fewer than three corners is left out.
// tinyobjloader reads the numbers, but only from lines that were proved well-formed here: the version in Debian 12 lets
// indices out of range pass, reads out of bounds or drops faces for some malformed lines, and does not say where.
#pragma once

#include <string>
#include <string_view>

#include "scenes/mesh.hpp"

namespace heapwood::scenes {

// Throws Error{Exit::scene}, "source: line 12: reason". What is returned has a triangle, finite vertices and indices in
// range.
Mesh parse_obj(std::string_view text, const std::string& source);

}  // namespace heapwood::scenes
