// SPDX-License-Identifier: MIT
// Wavefront OBJ files: vertices and faces of any size with absolute or relative indices; groups and
// normals are ignored. Materials and texture coordinates are read on request (mtl.hpp). Coordinates
// are read in double precision (Mesh::origin); polygons are triangulated (polygon.hpp); faces of
// fewer than three corners are skipped. tinyobjloader parses the numbers, but only from lines that
// were validated here: the version in Debian 12 accepts indices out of range, reads out of bounds
// or drops faces for some malformed lines, and reports no line number.
#pragma once

#include <string>
#include <string_view>

#include "scenes/mesh.hpp"

namespace heapwood::scenes {

// Throws Error{Exit::scene}: "source: line 12: reason". The result has a triangle, finite vertices
// and valid indices. Material libraries and textures are read from the directory of `source`.
Mesh parse_obj(std::string_view text, const std::string& source,
               Content content = Content::geometry);

}  // namespace heapwood::scenes
