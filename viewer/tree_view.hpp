// SPDX-License-Identifier: MIT
// Drawn over the picture: boxes of the tree's nodes; in the Learn tab a slice plane through
// geometry and tree, in front of which everything is cut away, with the cells that it crosses as
// outlines.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "kdtree/traverse/intersect.hpp"
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

// Edges of a box, each as two vertices; the rectangle in which a box meets a plane, and a triangle
// of the scene, as triangles.
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
  void update(const BuiltScene& scene, gl::Lines& lines);

 private:
  using Made = std::tuple<const BuiltScene*, int, bool>;
  Made made_{};  // what was uploaded
};

// The cells of one depth, and the leaves above it, that a plane crosses; where it is a split plane,
// the cells above that. At most `max_cells`; `total` is set to the number without that limit.
std::vector<NodeBox> cells_on(const kdtree::Tree& tree, unsigned axis, float position,
                              unsigned depth, std::size_t max_cells, std::size_t& total);

// Where a plane cuts triangles: two points per triangle.
std::vector<Vec3> section_on(const kdtree::MeshView& mesh, unsigned axis, float position);

struct SliceView {
  bool visible = false;
  bool other_side = false;  // cut away what is behind the plane, as seen from the eye
  unsigned axis = 0;
  float place = 0.5f;  // of the plane, from 0 to 1 in the scene's box
  int depth = static_cast<int>(kdtree::max_depth);

  // What the plane crosses, and what of the scene is drawn.
  std::size_t shown = 0, total = 0, triangles = 0, drawn_triangles = 0;

  static constexpr std::size_t max_cells = 20000;
  // OpenGL draws them in every frame, perhaps without a GPU.
  static constexpr std::size_t max_triangles = 400000;

  float position(const BuiltScene& scene) const;
  // Puts the plane across the camera's direction: through its target, or, in a scene that surrounds
  // it, through the middle of what is in front of the eye.
  void face(const BuiltScene& scene, const render::Camera& camera);
  // Another tree is shown from now on.
  void clear() {
    made_ = {};
    surfaces_ = {};
  }

  struct Drawn {
    gl::Surfaces surfaces, plane;
    gl::Lines cells, section;
  };
  // Uploads what has changed, and draws.
  void draw(const BuiltScene& scene, const render::Camera& camera, bool clay,
            const gl::Matrix& to_clip, const gl::Rectangle& area, int line_width, Drawn& drawn);

 private:
  void update(const BuiltScene& scene, bool clay, Drawn& drawn);

  using Made = std::tuple<const BuiltScene*, unsigned, float, int>;
  using Surfaces = std::pair<const BuiltScene*, bool>;
  Made made_{};  // what was uploaded
  Surfaces surfaces_{};
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
  std::vector<VisitedLeaf> leaves;  // front to back, up to the leaf with the hit
  Box hit_box;                      // of the leaf with the hit
  std::size_t empty_leaves() const {
    return static_cast<std::size_t>(std::count_if(
        leaves.begin(), leaves.end(), [](const VisitedLeaf& leaf) { return leaf.refs == 0; }));
  }
};

// Visits the nodes that kdtree::closest_hit visits; the hit is the one it returns.
RayPath follow(const BuiltScene& scene, const kdtree::Ray& ray);

struct RayProbe {
  bool active = false;  // the ray under the mouse is shown
  bool pinned = false;  // the ray stays while the camera moves
  std::optional<RayPath> path;
  float x = 0, y = 0;  // its pixel

  void clear() {
    path.reset();
    pinned = false;
  }
  // The ray, the boxes of the leaves it visits and their triangles.
  std::vector<gl::Vertex> lines(const BuiltScene& scene) const;
};

}  // namespace heapwood::viewer
