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

}  // namespace heapwood::scenes
