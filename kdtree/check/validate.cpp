// SPDX-License-Identifier: MIT
#include "kdtree/check/validate.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "kdtree/split/clip_exact.hpp"

namespace heapwood::kdtree {
namespace {

// Collects violations, up to ValidateOptions::reports.
class Report {
 public:
  explicit Report(std::size_t limit) : limit_(limit) {}
  bool full() const { return lines_.size() >= limit_; }
  bool clean() const { return lines_.empty(); }
  template <class... Parts>
  void add(const Parts&... parts) {
    if (full()) return;
    std::ostringstream line;
    line.precision(9);
    (line << ... << parts);
    lines_.push_back(std::move(line).str());
  }
  std::vector<std::string> lines() && { return std::move(lines_); }

 private:
  std::size_t limit_;
  std::vector<std::string> lines_;
};

// The leaf's refs as a span; its range must be valid.
template <class Refs>
auto refs_of(const Node& leaf, Refs& refs) {
  const auto begin = leaf.count() == 0 ? refs.begin() : refs.begin() + leaf.first;
  return std::pair{begin, begin + leaf.count()};
}

// Checks nodes, planes and ranges. True if the tree can be traversed and leaves share no entries.
bool check_nodes(const Tree& tree, Report& report) {
  if (tree.nodes.empty()) {
    report.add("there is no root");
    return false;
  }
  bool sound = true;
  std::vector<bool> seen(tree.nodes.size() / 2 + 1);
  seen[0] = true;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  std::vector<NodeVisit> stack{{tree.bounds, 0, 0}};
  while (!stack.empty()) {
    const NodeVisit visit = stack.back();
    stack.pop_back();
    const Node node = tree.nodes[visit.node];
    const auto broken = [&](const auto&... what) {
      sound = false;
      report.add("node ", visit.node, what...);
    };
    if (node.leaf()) {
      const std::uint64_t end = std::uint64_t{node.first} + node.count();
      if (node.count() == 0) continue;
      if (end > tree.refs.size())
        broken(": refs ", node.first, " to ", end, " of ", tree.refs.size());
      ranges.emplace_back(node.first, end);
      continue;
    }
    const unsigned axis = node.axis();
    if (!(node.split > visit.box.lo[axis] && node.split < visit.box.hi[axis])) {
      report.add("node ", visit.node, ": plane ", node.split, " on axis ", axis,
                 " is not inside its box, ", visit.box.lo[axis], " to ", visit.box.hi[axis]);
    }
    const std::size_t pair = node.child(0) / 2;
    if (2 * pair + 1 >= tree.nodes.size()) {
      broken(": children at ", 2 * pair, " of ", tree.nodes.size(), " nodes");
    } else if (seen[pair]) {
      broken(": children at ", 2 * pair, " belong to another node too");
    } else if (visit.depth >= max_depth) {
      broken(": split at depth ", visit.depth, ", the limit is ", max_depth);
    } else {
      seen[pair] = true;
      stack.push_back(visit.child(node, 1));
      stack.push_back(visit.child(node, 0));
    }
  }
  // No two leaves share entries.
  std::ranges::sort(ranges);
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].second) {
      sound = false;
      report.add("leaf refs ", ranges[i - 1].first, " to ", ranges[i - 1].second, " and ",
                 ranges[i].first, " to ", ranges[i].second, " overlap");
    }
  }
  return sound;
}

// Checks the ids in the leaves. Sorts the refs of each leaf.
void check_refs(const Tree& tree, std::size_t triangles, std::vector<std::uint32_t>& refs,
                Report& report) {
  std::vector<bool> referred(triangles);
  std::vector<std::uint32_t> stack{0};
  while (!stack.empty()) {
    const std::uint32_t node_index = stack.back();
    stack.pop_back();
    const Node node = tree.nodes[node_index];
    if (!node.leaf()) {
      stack.push_back(node.child(1));
      stack.push_back(node.child(0));
      continue;
    }
    const auto [begin, end] = refs_of(node, refs);
    std::sort(begin, end);
    for (auto ref = begin; ref != end; ++ref) {
      if (*ref >= triangles) {
        report.add("leaf ", node_index, ": triangle ", *ref, " of ", triangles);
      } else {
        referred[*ref] = true;
      }
      if (ref != begin && *ref == ref[-1])
        report.add("leaf ", node_index, ": triangle ", *ref, " twice");
    }
  }
  for (std::size_t id = 0; id < triangles; ++id) {
    if (!referred[id]) report.add("triangle ", id, " is in no leaf");
  }
}

// Checks a tree with a sound structure: whether each triangle is in all leaves that it reaches.
class Geometry {
 public:
  Geometry(const Tree& tree, const std::vector<std::uint32_t>& sorted_refs,
           const ValidateOptions& options, Report& report)
      : tree_(tree), refs_(sorted_refs), options_(options), report_(report) {}

  void check(std::uint32_t id, const Corners& triangle) {
    const Box box = bounds(triangle);
    for (unsigned axis = 0; axis < 3; ++axis) {
      tolerance_[axis] = options_.tolerance * std::max(std::abs(static_cast<double>(box.lo[axis])),
                                                       std::abs(static_cast<double>(box.hi[axis])));
    }
    if (intersect(box, tree_.bounds) != box)
      report_.add("triangle ", id, " is not inside the root's box");
    check_parts(id, triangle);
    check_samples(id, triangle);
  }

 private:
  bool has(const Node& leaf, std::uint32_t id) const {
    const auto [begin, end] = refs_of(leaf, refs_);
    return std::binary_search(begin, end, id);
  }

  void check_parts(std::uint32_t id, const Corners& triangle) {
    parts_.assign(1, {0, Polygon(triangle)});
    while (!parts_.empty()) {
      const auto [node_index, inside] = parts_.back();
      parts_.pop_back();
      const Node node = tree_.nodes[node_index];
      if (node.leaf()) {
        if (has(node, id)) continue;
        const Point& p = inside[0];
        report_.add("triangle ", id, " is not in leaf ", node_index,
                    ", but a part of it is, of area ", inside.area(), ", at ", p[0], " ", p[1], " ",
                    p[2]);
        continue;
      }
      const unsigned axis = node.axis();
      const double plane = node.split;
      if (inside.highest(axis) > plane + tolerance_[axis]) {
        parts_.emplace_back(node.child(1), part(inside, axis, plane + tolerance_[axis], false));
      }
      if (inside.lowest(axis) < plane - tolerance_[axis]) {
        parts_.emplace_back(node.child(0), part(inside, axis, plane - tolerance_[axis], true));
      }
    }
  }

  void check_samples(std::uint32_t id, const Corners& triangle) {
    sample(id, triangle, 1, 0);
    sample(id, triangle, 0, 1);
    sample(id, triangle, 0, 0);
    // Sample points come from the additive sequence of the plastic number (Roberts 2018); each
    // triangle uses a different part of it.
    constexpr double step[2] = {0.7548776662466927, 0.5698402909980532};
    for (unsigned i = 0; i < options_.samples; ++i) {
      const double index = 0.5 + i + static_cast<double>(id) * options_.samples;
      double u = std::fmod(index * step[0], 1.0);
      double v = std::fmod(index * step[1], 1.0);
      if (u + v > 1) {
        u = 1 - u;
        v = 1 - v;
      }
      sample(id, triangle, u, v);
    }
  }

  void sample(std::uint32_t id, const Corners& triangle, double u, double v) {
    Point p;
    for (unsigned k = 0; k < 3; ++k) {
      const double c = triangle.c[k];
      p[k] = c + u * (triangle.a[k] - c) + v * (triangle.b[k] - c);
    }
    if (!found(id, p)) {
      report_.add("triangle ", id, " is in no leaf around its point ", p[0], " ", p[1], " ", p[2]);
    }
  }

  // Returns whether a leaf that contains the point holds the triangle. Visits the leaf that
  // contains the point first, then those that contain it within the tolerance.
  bool found(std::uint32_t id, const Point& p) {
    nodes_.assign(1, 0);
    while (!nodes_.empty()) {
      const Node node = tree_.nodes[nodes_.back()];
      nodes_.pop_back();
      if (node.leaf()) {
        if (has(node, id)) return true;
        continue;
      }
      const unsigned axis = node.axis();
      const double distance = p[axis] - node.split;
      const unsigned near = distance > 0 ? 1 : 0;
      if (std::abs(distance) <= tolerance_[axis]) nodes_.push_back(node.child(1 - near));
      nodes_.push_back(node.child(near));
    }
    return false;
  }

  const Tree& tree_;
  const std::vector<std::uint32_t>& refs_;
  const ValidateOptions& options_;
  Report& report_;
  Point tolerance_{};
  std::vector<std::pair<std::uint32_t, Polygon>> parts_;
  std::vector<std::uint32_t> nodes_;
};

}  // namespace

std::vector<std::string> validate(const Tree& tree, const MeshView& mesh,
                                  const ValidateOptions& options) {
  Report report(options.reports);
  if (!check_nodes(tree, report)) return std::move(report).lines();
  std::vector<std::uint32_t> refs = tree.refs;
  check_refs(tree, mesh.triangles.size(), refs, report);
  // Ends here, because the geometry checks would report these errors again, once per sample.
  if (!report.clean()) return std::move(report).lines();
  Geometry geometry(tree, refs, options, report);
  for (std::uint32_t id = 0; id < mesh.triangles.size() && !report.full(); ++id)
    geometry.check(id, corners(mesh, id));
  return std::move(report).lines();
}

}  // namespace heapwood::kdtree
