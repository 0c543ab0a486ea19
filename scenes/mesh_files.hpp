// SPDX-License-Identifier: MIT
// Reads Wavefront OBJ files: vertices, and faces of any size with absolute or relative indices.
// Groups and normals are ignored. If requested, materials and texture coordinates are read, or else
// colours of vertices. Coordinates are read in double precision (Mesh::origin); polygons are
// triangulated (polygon.hpp); faces of fewer than three corners are skipped.
//
// Of Wavefront MTL files it reads diffuse colour (Kd, map_Kd), opacity (d, Tr, map_d) and emission
// (Ke, map_Ke). A material with a map_d has holes where the map is below 1/2; one with d < 1 is
// blended.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenes/mesh.hpp"

namespace heapwood::scenes {

// Throws Error{Exit::scene}: "source: line 12: reason". The result has a triangle, finite vertices
// and valid indices. Material libraries and textures are read from the directory of `source`.
Mesh parse_obj(std::string_view text, const std::string& source,
               Content content = Content::geometry);

// The material libraries that the text names, one string per line of the file: one name with
// blanks, or several names.
std::vector<std::string> find_libraries(std::string_view text);
// The pictures that an MTL file names, including those that are not read, such as bump maps.
std::vector<std::string> find_maps(std::string_view text);

// Reads PLY files: ASCII, binary little and big endian.
// - Vertices: x y z at any position among other properties; if requested also their colours (`red`,
//   `green`, `blue`).
// - Faces: `vertex_indices` or `vertex_index` with any types. Polygons are triangulated
//   (polygon.hpp); a face of fewer than three corners is skipped.
// - Strips of triangles: a list `vertex_indices` or `vertex_index` of an element `tristrips`.
// All else is skipped. Coordinates are read in double precision (Mesh::origin). Lines of the header
// and of text end in \n, \r\n or \r. Memory use is bounded by the size of the file, not by the
// counts in its header. Limit: the format has no upward axis; y is assumed.

// Throws Error{Exit::scene}: "source: line 12: reason" in text, "source: byte 1234: reason" in
// binary data. The result has a triangle, finite vertices and valid indices.
Mesh parse_ply(std::span<const std::byte> file, const std::string& source,
               Content content = Content::geometry);

}  // namespace heapwood::scenes
