// SPDX-License-Identifier: MIT
#include "viewer/slice_view.hpp"

#include <algorithm>
#include <cmath>

#include "viewer/theme.hpp"

namespace heapwood::viewer {

namespace {

constexpr gl::Rgba8 inner_cell{104, 196, 134, 255}, empty_cell{120, 128, 136, 255},
    section_colour{255, 255, 255, 255}, clay_colour{190, 184, 174, 255},
    plane_colour{12, 14, 17, 50};

std::uint8_t displayed(float linear) {
  return static_cast<std::uint8_t>(
      std::lround(255 * std::pow(std::clamp(linear, 0.0f, 1.0f), 1 / 2.2f)));
}

// The materials' own colours, without textures.
std::vector<gl::Rgba8> material_colours(const scenes::Mesh& mesh) {
  std::vector<gl::Rgba8> colours;
  for (const Material& material : mesh.appearance.materials) {
    const Vec3 c = material.texture == no_texture ? material.colour : material.colour * 0.5f;
    colours.push_back({displayed(c.x), displayed(c.y), displayed(c.z), 255});
  }
  return colours;
}

std::vector<gl::Vertex> all_triangles(const BuiltScene& scene, bool clay, std::size_t& count) {
  const scenes::Mesh& mesh = scene.mesh;
  const std::vector<gl::Rgba8> colours = material_colours(mesh);
  const std::size_t all = mesh.triangles.size(),
                    step = (all + SliceView::max_triangles - 1) / SliceView::max_triangles;
  std::vector<gl::Vertex> vertices;
  vertices.reserve(3 * std::min(all, SliceView::max_triangles));
  for (std::size_t i = 0; i < all; i += std::max<std::size_t>(step, 1)) {
    const auto& of = mesh.appearance.triangle_materials;
    const gl::Rgba8 shade = clay || colours.empty() ? clay_colour : colours[of.empty() ? 0 : of[i]];
    const Corners t = kdtree::corners(scene.view(), static_cast<std::uint32_t>(i));
    for (const Vec3& corner : {t.a, t.b, t.c}) vertices.push_back({corner, shade});
  }
  count = vertices.size() / 3;
  return vertices;
}

// A corner of the rectangle in which a box meets the plane.
Vec3 corner_on(const Box& box, unsigned axis, float position, unsigned bits) {
  const unsigned u = (axis + 1) % 3, v = (axis + 2) % 3;
  Vec3 point;
  point[axis] = position;
  point[u] = bits & 1 ? box.hi[u] : box.lo[u];
  point[v] = bits & 2 ? box.hi[v] : box.lo[v];
  return point;
}

}  // namespace

std::vector<NodeBox> cells_on(const kdtree::Tree& tree, unsigned axis, float position,
                              unsigned depth, std::size_t max_cells, std::size_t& total) {
  struct Visit {
    std::uint32_t node;
    NodeBox at;
  };
  std::vector<NodeBox> cells;
  total = 0;
  if (tree.nodes.empty() || tree.bounds.empty()) return cells;
  std::vector<Visit> stack{{0, {tree.bounds, 0, false, 0}}};
  while (!stack.empty()) {
    Visit visit = stack.back();
    stack.pop_back();
    const kdtree::Node node = tree.nodes[visit.node];
    if (node.leaf() || visit.at.depth == depth) {
      visit.at.leaf = node.leaf();
      visit.at.refs = node.leaf() ? node.count() : 0;
      ++total;
      if (cells.size() < max_cells) cells.push_back(visit.at);
      continue;
    }
    for (const unsigned side : {1u, 0u}) {
      if (node.axis() == axis && (side == 0) != (position < node.split)) continue;
      Visit child{node.child(side), visit.at};
      (side == 0 ? child.at.box.hi : child.at.box.lo)[node.axis()] = node.split;
      ++child.at.depth;
      stack.push_back(child);
    }
  }
  return cells;
}

std::vector<Vec3> section_on(const kdtree::MeshView& mesh, unsigned axis, float position) {
  std::vector<Vec3> points;
  for (std::uint32_t i = 0; i < mesh.triangles.size(); ++i) {
    const Corners t = kdtree::corners(mesh, i);
    const Vec3* corners[] = {&t.a, &t.b, &t.c};
    // A plane with corners on both sides crosses two of the three edges.
    for (unsigned k = 0; k < 3; ++k) {
      const Vec3 &from = *corners[k], &to = *corners[(k + 1) % 3];
      if ((from[axis] < position) == (to[axis] < position)) continue;
      Vec3 point = from + (to - from) * ((position - from[axis]) / (to[axis] - from[axis]));
      point[axis] = position;
      points.push_back(point);
    }
  }
  return points;
}

float SliceView::position(const BuiltScene& scene) const {
  const Box& box = scene.tree.bounds;
  return box.empty() ? 0 : box.lo[axis] + place * (box.hi[axis] - box.lo[axis]);
}

void SliceView::face(const BuiltScene& scene, const render::Camera& camera) {
  const Box& box = scene.tree.bounds;
  if (box.empty()) return;
  const Vec3 way = camera.target - camera.eye;
  for (axis = 0; const unsigned other : {1u, 2u})
    if (std::abs(way[other]) > std::abs(way[axis])) axis = other;
  const float extent = box.hi[axis] - box.lo[axis];
  const auto share = [&](float at) {
    return extent > 0 ? std::clamp((at - box.lo[axis]) / extent, 0.0f, 1.0f) : 0.5f;
  };
  place = scene.interior ? (share(camera.eye[axis]) + (way[axis] > 0 ? 1.0f : 0.0f)) / 2
                         : share(camera.target[axis]);
}

void SliceView::update(const BuiltScene& scene, Drawn& drawn) {
  if (made_for_ == &scene && made_axis_ == axis && made_place_ == place && made_depth_ == depth)
    return;
  if (!drawn.plane) drawn.plane.emplace();
  if (!drawn.cells) drawn.cells.emplace();
  if (!drawn.section) drawn.section.emplace();
  const float at = position(scene);
  std::vector<gl::Vertex> vertices;
  for (const unsigned bits : {0u, 1u, 3u, 0u, 3u, 2u})
    vertices.push_back({corner_on(scene.tree.bounds, axis, at, bits), plane_colour});
  drawn.plane->upload(vertices);

  const std::vector<NodeBox> cells =
      cells_on(scene.tree, axis, at, static_cast<unsigned>(depth), max_cells, total);
  shown = cells.size();
  const double opacity =
      std::clamp(24.0 / std::sqrt(static_cast<double>(std::max<std::size_t>(shown, 1))), 0.3, 0.9);
  vertices.clear();
  // Empty leaves first: edges that are shared have the colour of the fuller cell.
  for (const bool empty : {true, false}) {
    for (const NodeBox& cell : cells) {
      if ((cell.leaf && cell.refs == 0) != empty) continue;
      gl::Rgba8 shade = empty       ? empty_cell
                        : cell.leaf ? ramp_colour(0.55 + 0.02 * std::min(20u, cell.refs))
                                    : inner_cell;
      shade.a = static_cast<std::uint8_t>(255 * (empty ? 0.6 * opacity : opacity));
      for (const unsigned bits : {0u, 1u, 1u, 3u, 3u, 2u, 2u, 0u})
        vertices.push_back({corner_on(cell.box, axis, at, bits), shade});
    }
  }
  drawn.cells->upload(vertices);

  vertices.clear();
  for (const Vec3& point : section_on(scene.view(), axis, at))
    vertices.push_back({point, section_colour});
  triangles = vertices.size() / 2;
  drawn.section->upload(vertices);
  made_for_ = &scene;
  made_axis_ = axis;
  made_place_ = place;
  made_depth_ = depth;
}

void SliceView::draw(const BuiltScene& scene, const render::Camera& camera, bool clay,
                     const gl::Matrix& to_clip, const gl::Rectangle& area, int line_width,
                     Drawn& drawn) {
  update(scene, drawn);
  if (!drawn.surfaces || surfaces_for_ != &scene || made_clay_ != clay) {
    if (!drawn.surfaces) drawn.surfaces.emplace();
    drawn.surfaces->upload(all_triangles(scene, clay, drawn_triangles));
    surfaces_for_ = &scene;
    made_clay_ = clay;
  }
  const float at = position(scene);
  const bool above = camera.eye[axis] >= at;
  // Points at which the equation is positive are cut away.
  const float sign = above != other_side ? 1.0f : -1.0f;
  gl::Plane cut;
  cut.normal[axis] = sign;
  cut.offset = -sign * at;
  gl::clear_depth();
  drawn.surfaces->draw(to_clip, area, 1, true, cut);
  drawn.plane->draw(to_clip, area, 1, false);
  // The half of the scene that is drawn is behind the plane and cannot hide the lines, unless
  // `other_side` is chosen: then it is in front.
  drawn.cells->draw(to_clip, area, line_width, other_side);
  drawn.section->draw(to_clip, area, line_width, other_side);
}

}  // namespace heapwood::viewer
