// SPDX-License-Identifier: MIT
#include "tests/kdtree/exact_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heapwood::kdtree {
namespace {

float round_down(double x) {
  const float f = static_cast<float>(x);
  return f > x ? std::nextafter(f, -std::numeric_limits<float>::infinity()) : f;
}

float round_up(double x) {
  const float f = static_cast<float>(x);
  return f < x ? std::nextafter(f, std::numeric_limits<float>::infinity()) : f;
}

}  // namespace

Polygon clip(const Corners& triangle, const Box& box) {
  const Box whole = bounds(triangle);
  Polygon polygon(triangle);
  for (unsigned axis = 0; axis < 3 && !polygon.empty(); ++axis) {
    if (whole.lo[axis] < box.lo[axis]) polygon = part(polygon, axis, box.lo[axis], false);
    if (whole.hi[axis] > box.hi[axis]) polygon = part(polygon, axis, box.hi[axis], true);
  }
  return polygon;
}

Box bounds(const Polygon& polygon) {
  Box box;
  if (polygon.empty()) return box;
  for (unsigned axis = 0; axis < 3; ++axis) {
    box.lo[axis] = round_down(polygon.lowest(axis));
    box.hi[axis] = round_up(polygon.highest(axis));
  }
  return box;
}

Box clipped_bounds(const Corners& triangle, const Box& box) {
  const Polygon polygon = clip(triangle, box);
  return polygon.empty() ? Box{} : intersect(bounds(polygon), box);
}

Box bounds(const MeshView& mesh) {
  Box box;
  for (std::uint32_t id = 0; id < mesh.triangles.size(); ++id) box.grow(bounds(corners(mesh, id)));
  return box;
}

std::vector<Leaf> leaves(const Tree& tree) {
  std::vector<Leaf> found;
  std::vector<NodeVisit> stack{{tree.bounds, 0, 0}};
  while (!stack.empty()) {
    const NodeVisit visit = stack.back();
    stack.pop_back();
    const Node node = tree.nodes[visit.node];
    if (node.leaf()) {
      found.push_back({visit.node, visit.depth, visit.box, {}});
      for (std::uint32_t i = 0; i < node.count(); ++i)
        found.back().triangles.push_back(tree.refs[node.first + i]);
      std::sort(found.back().triangles.begin(), found.back().triangles.end());
      continue;
    }
    stack.push_back(visit.child(node, 1));
    stack.push_back(visit.child(node, 0));
  }
  return found;
}

}  // namespace heapwood::kdtree
