// SPDX-License-Identifier: MIT
// A slice plane through geometry and tree, in the Learn tab: what lies in front of it is cut away,
// and the cells of the tree that it crosses are drawn on it as outlines.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "viewer/built_scene.hpp"
#include "viewer/gl.hpp"
#include "viewer/tree_view.hpp"

namespace heapwood::viewer {

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
  void clear() { made_for_ = surfaces_for_ = nullptr; }

  struct Drawn {
    std::optional<gl::Surfaces> surfaces, plane;
    std::optional<gl::Lines> cells, section;
  };
  // Uploads what has changed, and draws.
  void draw(const BuiltScene& scene, const render::Camera& camera, bool clay,
            const gl::Matrix& to_clip, const gl::Rectangle& area, int line_width, Drawn& drawn);

 private:
  void update(const BuiltScene& scene, Drawn& drawn);

  const BuiltScene *made_for_ = nullptr, *surfaces_for_ = nullptr;
  unsigned made_axis_ = 0;
  float made_place_ = 0;
  int made_depth_ = 0;
  bool made_clay_ = false;
};

}  // namespace heapwood::viewer
