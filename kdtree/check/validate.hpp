// SPDX-License-Identifier: MIT
// Checks a finished tree: the conditions under which a ray finds every triangle that it hits.
//
// Structure: links in range, every node with one parent, depth <= max_depth, planes strictly inside
// their node's box (so that the leaves tile the root's box), leaf refs in range, no entry of the
// ref array in two leaves, no id twice in a leaf, every triangle in some leaf, all triangles inside
// the root's box.
//
// Geometry, in double: (1) A triangle with a point inside a leaf, further than a tolerance from
// every plane above the leaf, is in that leaf; each triangle is clipped down the tree once. (2) The
// corners and further sample points of each triangle lie in a leaf that holds it, within the
// tolerance. A triangle in a split plane may be on either side: check (1) skips it, check (2) does
// not. Neither check finds an error in parts thinner than the tolerance that contain no sample.
//
// The tolerance is a fraction of the triangle's own largest coordinate on each axis, like the error
// of a clip in float: tiny triangles near the origin of a large scene are checked as strictly as
// others.
//
// Cost: about 0.5 s for 100,000 triangles on one thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kdtree/tree.hpp"

namespace heapwood::kdtree {

struct ValidateOptions {
  double tolerance = 1e-6;   // about 8 ulps of a float, twice the padding of clip_bounds()
  unsigned samples = 5;      // sample points per triangle, in addition to its corners
  std::size_t reports = 20;  // max violations before the checks stop
};

// Returns one readable line per violation; empty = valid. Never throws because of the tree,
// whatever it contains. Geometry is not checked if the structure is broken.
std::vector<std::string> validate(const Tree& tree, const MeshView& mesh,
                                  const ValidateOptions& options = {});

}  // namespace heapwood::kdtree
