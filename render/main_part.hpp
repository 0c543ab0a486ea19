// SPDX-License-Identifier: MIT
// The part of a scene that a picture should show: all of it except far outliers of little area. One
// stray triangle a thousand diagonals away would shrink everything else to a dot.
#pragma once

#include "geometry/box.hpp"
#include "kdtree/device_mesh.hpp"

namespace heapwood::render {

// The bounds of the mesh's triangles without outliers: triangles that have together at most
// `outlier_area` of the area and lie beyond an axis-aligned gap wider than `outlier_gap` diagonals
// of the rest. Repeats the search in the remaining box. `bounds` are those of all triangles. Looks
// at all triangles only if a sample of them shows a gap.
inline constexpr float outlier_gap = 5;
inline constexpr double outlier_area = 0.1;
Box main_part(const kdtree::MeshView& mesh, const Box& bounds);

}  // namespace heapwood::render
