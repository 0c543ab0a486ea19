// SPDX-License-Identifier: MIT
// Wavefront OBJ files: vertices and faces of any size with absolute or relative indices; groups and
// normals are ignored. Materials and texture coordinates, or else colours of vertices, are read on
// request. Coordinates are read in double precision (Mesh::origin); polygons are triangulated
// (polygon.hpp); faces of fewer than three corners are skipped.
//
// Wavefront MTL files: diffuse colour (Kd, map_Kd), opacity (d, Tr, map_d), emission (Ke, map_Ke).
// Other statements are ignored. A material with a map_d has holes where it is below 1/2; one with
// d < 1 is blended.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenes/mesh.hpp"

namespace heapwood::scenes {

// Throws Error{Exit::scene}: "source: line 12: reason". The result has a triangle, finite vertices
// and valid indices. Material libraries and textures are read from the directory of `source`.
Mesh parse_obj(std::string_view text, const std::string& source,
               Content content = Content::geometry);

// The material libraries that the text names, a line each: one name with blanks, or several.
std::vector<std::string> find_libraries(std::string_view text);
// The pictures that an MTL file names, also those that are not read, such as bump maps.
std::vector<std::string> find_maps(std::string_view text);

}  // namespace heapwood::scenes
