// SPDX-License-Identifier: MIT
// Boxes of the tree's nodes over the picture.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "viewer/built_scene.hpp"
#include "viewer/gl.hpp"

namespace heapwood::viewer {

struct NodeBox {
  Box box;
  unsigned depth = 0;
  bool leaf = false;
  std::uint32_t refs = 0;  // of a leaf
};

// Nodes of one depth; with `and_leaves` also the leaves above it. Without empty leaves. At most
// `max_boxes`, breadth first; `total` is set to the number without that limit.
std::vector<NodeBox> boxes_at(const kdtree::Tree& tree, unsigned depth, bool and_leaves,
                              std::size_t max_boxes, std::size_t& total);

// Edges of a box, each as two vertices.
void add_box(std::vector<gl::Vertex>& lines, const Box& box, gl::Rgba8 colour);

struct TreeView {
  bool visible = false;
  int depth = 6;
  bool leaves = true;
  std::size_t shown = 0, total = 0;

  static constexpr std::size_t max_boxes = 20000;
  void clear() { made_for_ = nullptr; }
  // Uploads the boxes if they have changed.
  void update(const BuiltScene& scene, std::optional<gl::Lines>& lines);

 private:
  const BuiltScene* made_for_ = nullptr;
  int made_depth_ = 0;
  bool made_leaves_ = false;
};

}  // namespace heapwood::viewer
