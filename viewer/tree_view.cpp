// SPDX-License-Identifier: MIT
#include "viewer/tree_view.hpp"

#include <cmath>

#include "kdtree/traverse/traverse.hpp"
#include "viewer/theme.hpp"

namespace heapwood::viewer {

namespace {

constexpr gl::Rgba8 inner_node{104, 196, 134, 255};

gl::Rgba8 colour_of(const NodeBox& node) {
  return node.leaf ? ramp_colour(0.55 + 0.02 * std::min(20u, node.refs)) : inner_node;
}

}  // namespace

std::vector<NodeBox> boxes_at(const kdtree::Tree& tree, unsigned depth, bool and_leaves,
                              std::size_t max_boxes, std::size_t& total) {
  struct Visit {
    std::uint32_t node;
    NodeBox shown;
  };
  std::vector<NodeBox> found;
  std::vector<Visit> level, next;
  total = 0;
  if (!tree.nodes.empty() && !tree.bounds.empty()) level = {{0, {tree.bounds, 0, false, 0}}};
  for (; !level.empty(); level = std::exchange(next, {})) {
    for (Visit& visit : level) {
      const kdtree::Node node = tree.nodes[visit.node];
      visit.shown.leaf = node.leaf();
      visit.shown.refs = node.leaf() ? node.count() : 0;
      const bool wanted = visit.shown.depth == depth || (and_leaves && node.leaf());
      const bool is_empty = node.leaf() && node.count() == 0;
      if (wanted && !is_empty && ++total <= max_boxes) found.push_back(visit.shown);
      if (node.leaf() || visit.shown.depth == depth) continue;
      for (const unsigned side : {0u, 1u}) {
        Visit child{node.child(side), visit.shown};
        (side == 0 ? child.shown.box.hi : child.shown.box.lo)[node.axis()] = node.split;
        ++child.shown.depth;
        next.push_back(child);
      }
    }
  }
  return found;
}

void add_box(std::vector<gl::Vertex>& lines, const Box& box, gl::Rgba8 colour) {
  const auto corner = [&](unsigned bits) {
    return Vec3{bits & 1 ? box.hi.x : box.lo.x, bits & 2 ? box.hi.y : box.lo.y,
                bits & 4 ? box.hi.z : box.lo.z};
  };
  for (unsigned from = 0; from < 8; ++from) {
    for (const unsigned bit : {1u, 2u, 4u}) {
      if (from & bit) continue;
      lines.push_back({corner(from), colour});
      lines.push_back({corner(from | bit), colour});
    }
  }
}

void add_rectangle(std::vector<gl::Vertex>& surfaces, const Box& box, unsigned axis, float position,
                   gl::Rgba8 colour) {
  const unsigned u = (axis + 1) % 3, v = (axis + 2) % 3;
  for (const unsigned bits : {0u, 1u, 3u, 0u, 3u, 2u}) {
    Vec3 corner;
    corner[axis] = position;
    corner[u] = bits & 1 ? box.hi[u] : box.lo[u];
    corner[v] = bits & 2 ? box.hi[v] : box.lo[v];
    surfaces.push_back({corner, colour});
  }
}

void add_triangle(std::vector<gl::Vertex>& surfaces, const BuiltScene& scene, std::uint32_t id,
                  gl::Rgba8 colour) {
  const Corners t = kdtree::corners(scene.view(), id);
  for (const Vec3& corner : {t.a, t.b, t.c}) surfaces.push_back({corner, colour});
}

void TreeView::update(const BuiltScene& scene, gl::Shapes& lines) {
  const Made now{&scene, depth, leaves};
  if (std::exchange(made_, now) == now) return;
  const std::vector<NodeBox> boxes =
      boxes_at(scene.tree, static_cast<unsigned>(depth), leaves, max_boxes, total);
  shown = boxes.size();
  std::vector<gl::Vertex> vertices;
  vertices.reserve(24 * boxes.size());
  // The more boxes there are, the more transparent each is drawn.
  const double opacity =
      std::clamp(9 / std::sqrt(static_cast<double>(std::max<std::size_t>(shown, 1))), 0.10, 0.85);
  for (const NodeBox& box : boxes) {
    gl::Rgba8 colour = colour_of(box);
    colour.a = static_cast<std::uint8_t>(255 * opacity);
    add_box(vertices, box.box, colour);
  }
  lines.upload(vertices);
}

RayPath follow(const BuiltScene& scene, const kdtree::Ray& ray) {
  RayPath path;
  path.ray = ray;
  path.hit.t = ray.tmax;
  const kdtree::Tree& tree = scene.tree;
  if (tree.nodes.empty() || tree.bounds.empty()) return path;
  path.hit = scene.traced->closest({&ray, 1}).front();
  const kdtree::FastIntersection test(ray,
                                      kdtree::FastIntersection::diagonal_slack * scene.diagonal());
  float begin = 0, end = 0;
  if (!kdtree::detail::clip(test, ray, tree.bounds, begin, end)) return path;
  struct Far {
    std::uint32_t node;
    float end;
    Box box;
    unsigned depth;
  };
  std::vector<Far> stack;
  std::uint32_t node_index = 0;
  Box box = tree.bounds;
  unsigned depth = 0;
  bool known = false;
  for (;;) {
    kdtree::Node node = tree.nodes[node_index];
    while (!node.leaf()) {
      ++path.inner_steps;
      const unsigned axis = node.axis();
      const kdtree::Slope slope = test.slope(axis);
      const float plane = test.plane(ray, axis, node.split, slope);
      const auto side_box = [&](unsigned side) {
        Box part = box;
        (side == 0 ? part.hi : part.lo)[axis] = node.split;
        return part;
      };
      unsigned near = kdtree::FastIntersection::near_child(node.link, slope) >> 1 &
                      1;  // near_child() returns twice the index
      const bool far_only = plane < begin, both = !far_only && !(plane > end);
      if (far_only) near ^= 1;
      if (both) {
        stack.push_back({node.child(near ^ 1), end, side_box(near ^ 1), depth + 1});
        end = plane;
      }
      box = side_box(near);
      node_index = node.child(near);
      node = tree.nodes[node_index];
      ++depth;
    }
    path.leaves.push_back({box, node.first, node.count(), depth});
    path.tests += node.count();
    // The leaf in which traversal ends is the one that tests the hit's triangle and whose interval
    // contains the hit, up to rounding.
    const auto refs = tree.refs.begin() + node.first;
    const float reach = end * (1 + kdtree::FastIntersection::relative_slack) + test.slack();
    const bool here =
        path.hit.found() && path.hit.t <= reach &&
        std::find(refs, refs + node.count(), path.hit.triangle) != refs + node.count();
    if (here) path.hit_box = box;
    known = known || here;
    if ((known && path.hit.t <= end) || stack.empty()) return path;
    begin = end;
    node_index = stack.back().node;
    end = stack.back().end;
    box = stack.back().box;
    depth = stack.back().depth;
    stack.pop_back();
  }
}

std::vector<gl::Vertex> RayProbe::lines(const BuiltScene& scene) const {
  std::vector<gl::Vertex> vertices;
  if (!path) return vertices;
  const gl::Rgba8 triangle_colour{110, 170, 255, 90}, hit_colour{255, 255, 255, 255},
      ray_colour{255, 210, 90, 255};
  std::size_t triangles = 0;
  for (std::size_t i = 0; i < path->leaves.size(); ++i) {
    const VisitedLeaf& leaf = path->leaves[i];
    gl::Rgba8 colour = ramp_colour(0.35 + 0.6 * static_cast<double>(i + 1) /
                                              static_cast<double>(path->leaves.size()));
    colour.a = leaf.refs ? 200 : 70;
    add_box(vertices, leaf.box, colour);
    for (std::uint32_t k = leaf.first; k < leaf.first + leaf.refs && triangles < 5000;
         ++k, ++triangles) {
      const std::uint32_t id = scene.tree.refs[k];
      const Corners t = kdtree::corners(scene.view(), id);
      const gl::Rgba8 edge = id == path->hit.triangle ? hit_colour : triangle_colour;
      for (const auto& [a, b] : {std::pair{t.a, t.b}, std::pair{t.b, t.c}, std::pair{t.c, t.a}}) {
        vertices.push_back({a, edge});
        vertices.push_back({b, edge});
      }
    }
  }
  const float reach = path->hit.found() ? path->hit.t : 2 * scene.diagonal();
  vertices.push_back({path->ray.origin, ray_colour});
  vertices.push_back({path->ray.origin + path->ray.direction * reach, ray_colour});
  return vertices;
}

}  // namespace heapwood::viewer
