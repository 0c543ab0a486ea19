// SPDX-License-Identifier: MIT
#include "tests/kdtree/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kdtree/build/node_task.hpp"

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
      std::ranges::sort(found.back().triangles);
      continue;
    }
    stack.push_back(visit.child(node, 1));
    stack.push_back(visit.child(node, 0));
  }
  return found;
}

namespace {

// Half the surface area, in double: squares of float extents neither overflow nor vanish.
struct HalfArea {
  double extent[3];

  explicit HalfArea(const Box& box) {
    for (unsigned axis = 0; axis < 3; ++axis)
      extent[axis] = static_cast<double>(box.hi[axis]) - box.lo[axis];
  }
  double whole() const {
    return extent[0] * extent[1] + extent[1] * extent[2] + extent[2] * extent[0];
  }
  // Half the area of a slice of the box, `thickness` along the axis.
  double slice(unsigned axis, double thickness) const {
    const double u = extent[(axis + 1) % 3];
    const double v = extent[(axis + 2) % 3];
    return u * v + thickness * (u + v);
  }
};

// Finds best splits; the arrays are reused from node to node.
class Sweep {
 public:
  explicit Sweep(const SahCosts& costs) : costs_(costs) {}

  ReferenceSplit best(std::span<const Box> triangles, const Box& node) {
    ReferenceSplit best;
    const HalfArea area(node);
    if (!(area.whole() > 0)) return best;
    for (unsigned axis = 0; axis < 3; ++axis) {
      if (area.extent[axis] > 0) sweep(triangles, node, area, axis, best);
    }
    return best;
  }

 private:
  void load(std::span<const Box> triangles, unsigned axis) {
    lo_.clear();
    hi_.clear();
    flat_.clear();
    for (const Box& box : triangles) {
      lo_.push_back(box.lo[axis]);
      hi_.push_back(box.hi[axis]);
      if (box.lo[axis] == box.hi[axis]) flat_.push_back(box.lo[axis]);
    }
    std::ranges::sort(lo_);
    std::ranges::sort(hi_);
    std::ranges::sort(flat_);
  }

  void sweep(std::span<const Box> triangles, const Box& node, const HalfArea& area, unsigned axis,
             ReferenceSplit& best) {
    load(triangles, axis);
    const double scale = costs_.intersection / area.whole();
    const double bonus = 1.0 - costs_.empty_bonus;
    const std::size_t n = triangles.size();
    std::size_t begun = 0;   // bounds with lo < plane
    std::size_t ended = 0;   // bounds with hi <= plane
    std::size_t passed = 0;  // flat ones with a position < plane
    while (ended < n) {
      const float plane = begun < n ? std::min(lo_[begun], hi_[ended]) : hi_[ended];
      if (plane >= node.hi[axis]) break;
      while (ended < n && hi_[ended] <= plane) ++ended;
      const std::size_t first_flat = passed;
      while (passed < flat_.size() && flat_[passed] <= plane) ++passed;
      if (plane > node.lo[axis]) {
        const double below = area.slice(axis, static_cast<double>(plane) - node.lo[axis]) * scale;
        const double above = area.slice(axis, static_cast<double>(node.hi[axis]) - plane) * scale;
        const std::size_t flats = passed - first_flat;
        const auto offer = [&](std::size_t left, std::size_t right, bool flats_below) {
          double cost = costs_.traversal +
                        (below * static_cast<double>(left) + above * static_cast<double>(right));
          if (left == 0 || right == 0) cost *= bonus;
          // Adding zero turns -0 into +0.
          if (!best.found || cost < best.cost) best = {cost, axis, plane + 0.0f, flats_below, true};
        };
        offer(begun + flats, n - ended, true);
        if (flats > 0) offer(begun, n - ended + flats, false);
      }
      while (begun < n && lo_[begun] <= plane) ++begun;
    }
  }

  SahCosts costs_;
  std::vector<float> lo_, hi_, flat_;
};

// A node to be split: its triangles with the bounds of their parts inside it.
struct Work {
  Box box;
  unsigned depth = 0;
  double allowance = 1;  // NodeTask::allowance
  std::vector<std::uint32_t> ids;
  std::vector<Box> bounds;

  void add(std::uint32_t id, const Box& part) {
    ids.push_back(id);
    bounds.push_back(part);
  }
};

class Builder {
 public:
  Builder(const MeshView& mesh, const SahCosts& costs) : mesh_(mesh), costs_(costs) {}

  Tree build(Work root) const {
    Tree tree;
    tree.nodes.resize(2);
    Sweep sweep(costs_);
    std::vector<std::pair<std::size_t, Work>> stack;
    stack.emplace_back(0, std::move(root));
    while (!stack.empty()) {
      auto [node, work] = std::move(stack.back());
      stack.pop_back();
      const ReferenceSplit split = choose(work, sweep);
      if (!split.found) {
        tree.nodes[node] = Node::make_leaf(static_cast<std::uint32_t>(tree.refs.size()),
                                           static_cast<std::uint32_t>(work.ids.size()));
        tree.refs.insert(tree.refs.end(), work.ids.begin(), work.ids.end());
        continue;
      }
      const std::size_t pair = tree.nodes.size() / 2;
      tree.nodes.resize(2 * pair + 2);
      tree.nodes[node] =
          Node::make_inner(split.plane, split.axis, static_cast<std::uint32_t>(pair));
      auto [below, above] = divide(std::move(work), split);
      stack.emplace_back(2 * pair + 1, std::move(above));
      stack.emplace_back(2 * pair, std::move(below));
    }
    return tree;
  }

 private:
  // Chooses a split; none if a leaf costs no more.
  ReferenceSplit choose(const Work& work, Sweep& sweep) const {
    if (work.ids.empty() || work.depth >= max_depth) return {};
    ReferenceSplit split = sweep.best(work.bounds, work.box);
    const double as_leaf =
        static_cast<double>(costs_.intersection) * static_cast<double>(work.ids.size());
    split.found = split.found && split.cost < as_leaf && is_allowed(work, split);
    return split;
  }

  // The builders' limit of refs per triangle.
  static bool is_allowed(const Work& work, const ReferenceSplit& split) {
    if (work.ids.size() <= max_uncounted_refs) return true;
    double refs = 0;
    for (const Box& box : work.bounds)
      refs += (split.goes_below(box) ? 1 : 0) + (split.goes_above(box) ? 1 : 0);
    return refs <= work.allowance * static_cast<double>(work.ids.size());
  }

  std::pair<Work, Work> divide(Work work, const ReferenceSplit& split) const {
    Work below;
    Work above;
    below.box = above.box = work.box;
    below.box.hi[split.axis] = above.box.lo[split.axis] = split.plane;
    below.depth = above.depth = work.depth + 1;
    for (std::size_t i = 0; i < work.ids.size(); ++i) {
      const bool goes_below = split.goes_below(work.bounds[i]);
      const bool goes_above = split.goes_above(work.bounds[i]);
      if (goes_below && goes_above) {
        straddle(work.ids[i], work.bounds[i], below, above);
      } else {
        (goes_below ? below : above).add(work.ids[i], work.bounds[i]);
      }
    }
    below.allowance = above.allowance = work.allowance;
    if (work.ids.size() > max_uncounted_refs) {
      below.allowance = above.allowance *= static_cast<double>(work.ids.size()) /
                                           static_cast<double>(below.ids.size() + above.ids.size());
    }
    return {std::move(below), std::move(above)};
  }

  // Bounds are conservative: a triangle whose bounds straddle the plane may still miss one of the
  // two boxes.
  void straddle(std::uint32_t id, const Box& whole, Work& below, Work& above) const {
    const Corners triangle = corners(mesh_, id);
    const Box first = clipped_bounds(triangle, below.box);
    const Box second = clipped_bounds(triangle, above.box);
    const bool neither = first.empty() && second.empty();
    if (!first.empty() || neither) below.add(id, tighter(whole, first, below.box));
    if (!second.empty() || neither) above.add(id, tighter(whole, second, above.box));
  }

  // Only rounding can make the bounds disjoint; the old bounds are then the safe choice.
  static Box tighter(const Box& old_bounds, const Box& new_bounds, const Box& node) {
    const Box both = intersect(old_bounds, new_bounds);
    return both.empty() ? intersect(old_bounds, node) : both;
  }

  MeshView mesh_;
  SahCosts costs_;
};

}  // namespace

bool ReferenceSplit::goes_below(const Box& triangle) const {
  return triangle.lo[axis] < plane || (flats_below && triangle.hi[axis] <= plane);
}

bool ReferenceSplit::goes_above(const Box& triangle) const {
  return triangle.hi[axis] > plane || (!flats_below && triangle.lo[axis] >= plane);
}

ReferenceSplit best_split(std::span<const Box> triangles, const Box& node, const SahCosts& costs) {
  return Sweep(costs).best(triangles, node);
}

Tree build_reference(const MeshView& mesh, const SahCosts& costs) {
  Work root;
  root.box = bounds(mesh);
  root.allowance = root_allowance(static_cast<std::uint32_t>(mesh.triangles.size()));
  for (std::uint32_t id = 0; id < mesh.triangles.size(); ++id)
    root.add(id, bounds(corners(mesh, id)));
  const Box box = root.box;
  Tree tree = Builder(mesh, costs).build(std::move(root));
  tree.bounds = box;
  return tree;
}

}  // namespace heapwood::kdtree
