// SPDX-License-Identifier: MIT
// Reads PLY files: ASCII, binary little and big endian.
// - Vertices: x y z at any position among other properties; if requested also their colours (`red`,
//   `green`, `blue`).
// - Faces: `vertex_indices` or `vertex_index` with any types. Polygons are triangulated
//   (polygon.hpp); a face of fewer than three corners is skipped.
// - Strips of triangles: such a list of an element `tristrips`.
// All else is skipped. Coordinates are read in double precision (Mesh::origin). Lines of the header
// and of text end in \n, \r\n or \r. Memory use is bounded by the size of the file, not by the
// counts in its header. Limit: the format has no upward axis; y is assumed.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "scenes/mesh.hpp"

namespace heapwood::scenes {

// Throws Error{Exit::scene}: "source: line 12: reason" in text, "source: byte 1234: reason" in
// binary data. The result has a triangle, finite vertices and valid indices.
Mesh parse_ply(std::span<const std::byte> file, const std::string& source,
               Content content = Content::geometry);

}  // namespace heapwood::scenes
