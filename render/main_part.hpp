// SPDX-License-Identifier: MIT
// The part of a scene that a picture is about: all of it, but for far outliers of little area. One stray triangle a thousand
// diagonals away would make everything else a dot.
#pragma once

#include "geometry/box.hpp"
#include "kdtree/device_mesh.hpp"

namespace heapwood::render {

// `bounds` of the mesh's triangles without those that lie beyond a gap of more than `outlier_gap` diagonals of the rest and have
// together at most `outlier_area` of the area. Gaps are looked for along the axes, and again in what is left. Looks at a sample of
// the triangles where that shows no such gap.
inline constexpr float outlier_gap = 5;
inline constexpr double outlier_area = 0.1;
Box main_part(const kdtree::MeshView& mesh, const Box& bounds);

}  // namespace heapwood::render
