// SPDX-License-Identifier: MIT
#include "viewer/tree_view.hpp"

#include <algorithm>

#include "viewer/theme.hpp"

namespace heapwood::viewer {

std::vector<NodeBox> boxes_at(const kdtree::Tree& tree, unsigned depth, bool and_leaves,
                              std::size_t max_boxes, std::size_t& total) {
  struct Visit {
    std::uint32_t node;
    NodeBox at;
  };
  std::vector<NodeBox> boxes;
  total = 0;
  if (tree.nodes.empty()) return boxes;
  std::vector<Visit> level{{0, {tree.bounds, 0, false, 0}}};
  while (!level.empty()) {
    std::vector<Visit> next;
    for (Visit& visit : level) {
      const kdtree::Node node = tree.nodes[visit.node];
      visit.at.leaf = node.leaf();
      visit.at.refs = node.leaf() ? node.count() : 0;
      const bool empty = node.leaf() && node.count() == 0;
      if (!empty && (visit.at.depth == depth || (and_leaves && node.leaf()))) {
        ++total;
        if (boxes.size() < max_boxes) boxes.push_back(visit.at);
      }
      if (node.leaf() || visit.at.depth == depth) continue;
      for (unsigned side = 0; side < 2; ++side) {
        Visit child{node.child(side), visit.at};
        (side == 0 ? child.at.box.hi : child.at.box.lo)[node.axis()] = node.split;
        ++child.at.depth;
        next.push_back(child);
      }
    }
    level = std::move(next);
  }
  return boxes;
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

void TreeView::update(const BuiltScene& scene, std::optional<gl::Lines>& lines) {
  if (made_for_ == &scene && made_depth_ == depth && made_leaves_ == leaves && lines) return;
  if (!lines) lines.emplace();
  const std::vector<NodeBox> boxes =
      boxes_at(scene.tree, static_cast<unsigned>(depth), leaves, max_boxes, total);
  shown = boxes.size();
  std::vector<gl::Vertex> vertices;
  vertices.reserve(24 * boxes.size());
  // Boxes overlap: the more there are, the more transparent each is drawn.
  const double opacity =
      std::clamp(9.0 / std::sqrt(static_cast<double>(std::max<std::size_t>(shown, 1))), 0.10, 0.85);
  for (const NodeBox& box : boxes) {
    gl::Rgba8 colour = box.leaf ? ramp_colour(0.55 + 0.02 * std::min(20u, box.refs))
                                : gl::Rgba8{104, 196, 134, 255};
    colour.a = static_cast<std::uint8_t>(255 * opacity);
    add_box(vertices, box.box, colour);
  }
  lines->upload(vertices);
  made_for_ = &scene;
  made_depth_ = depth;
  made_leaves_ = leaves;
}

}  // namespace heapwood::viewer
