// SPDX-License-Identifier: MIT
// Shapes over the picture: boxes of nodes, and the ray under the mouse with the leaves that it
// visits.
#pragma once

#include <algorithm>
#include <tuple>

#include "kdtree/traverse/intersect.hpp"
#include "viewer/built_scene.hpp"
#include "viewer/gl.hpp"

namespace heapwood::viewer {

struct NodeBox {
  Box box;
  unsigned depth = 0;
  bool leaf = false;
  std::uint32_t refs = 0;  // number of refs, if it is a leaf
};

// The boxes of the nodes at one depth; with `and_leaves` also of the leaves above it. Leaves out
// empty leaves. Returns at most `max_boxes`, breadth first; sets `total` to the number without that
// limit.
std::vector<NodeBox> boxes_at(const kdtree::Tree& tree, unsigned depth, bool and_leaves,
                              std::size_t max_boxes, std::size_t& total);

// Add shapes: the edges of a box, each as two vertices; the rectangle in which a box meets a plane,
// and a triangle of the scene, as triangles.
void add_box(std::vector<gl::Vertex>& lines, const Box& box, gl::Rgba8 colour);
void add_rectangle(std::vector<gl::Vertex>& surfaces, const Box& box, unsigned axis, float position,
                   gl::Rgba8 colour);
void add_triangle(std::vector<gl::Vertex>& surfaces, const BuiltScene& scene, std::uint32_t id,
                  gl::Rgba8 colour);

struct TreeView {
  bool visible = false;
  int depth = 6;
  bool leaves = true;
  std::size_t shown = 0, total = 0;

  static constexpr std::size_t max_boxes = 20000;
  void clear() { made_ = {}; }
  // Uploads the boxes if they have changed.
  void update(const BuiltScene& scene, gl::Shapes& lines);

 private:
  using Made = std::tuple<const BuiltScene*, int, bool>;
  Made made_{};  // what is uploaded
};

struct VisitedLeaf {
  Box box;
  std::uint32_t first = 0, refs = 0;
  unsigned depth = 0;
};

struct RayPath {
  kdtree::Ray ray;
  kdtree::Hit hit;
  unsigned inner_steps = 0, tests = 0;
  std::vector<VisitedLeaf> leaves;  // front to back, up to the one that has the hit
  Box hit_box;                      // box of the leaf that has the hit
  std::size_t empty_leaves() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(leaves, [](const VisitedLeaf& leaf) { return leaf.refs == 0; }));
  }
};

// Visits the nodes that kdtree::closest_hit visits; the hit is the one that it returns.
RayPath follow(const BuiltScene& scene, const kdtree::Ray& ray);

struct RayProbe {
  bool active = false;  // whether the ray under the mouse is shown
  bool pinned = false;  // whether it stays while the camera moves
  std::optional<RayPath> path;
  float x = 0, y = 0;  // the ray's pixel

  void clear() {
    path.reset();
    pinned = false;
  }
  // The ray, the boxes of the leaves it visits, and their triangles, as lines.
  std::vector<gl::Vertex> lines(const BuiltScene& scene) const;
};

}  // namespace heapwood::viewer
