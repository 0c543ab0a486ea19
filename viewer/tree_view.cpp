// SPDX-License-Identifier: MIT
#include "viewer/tree_view.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kdtree/traverse/traverse.hpp"
#include "viewer/theme.hpp"

namespace heapwood::viewer {

namespace {

constexpr gl::Rgba8 inner_node{104, 196, 134, 255}, empty_cell{120, 128, 136, 255},
    section_colour{255, 255, 255, 255}, clay_colour{190, 184, 174, 255},
    slice_colour{12, 14, 17, 50};

gl::Rgba8 colour_of(const NodeBox& node) {
  return node.leaf ? ramp_colour(0.55 + 0.02 * std::min(20u, node.refs)) : inner_node;
}

// The more lines there are, the more transparent each is drawn.
double opacity_of(std::size_t count, double scale, double low, double high) {
  return std::clamp(scale / std::sqrt(static_cast<double>(std::max<std::size_t>(count, 1))), low,
                    high);
}

// The wanted nodes down to a depth, breadth first; `enters` says which children are looked at.
template <class Wanted, class Enters>
std::vector<NodeBox> collect(const kdtree::Tree& tree, unsigned depth, const Wanted& wanted,
                             const Enters& enters, std::size_t max_count, std::size_t& total) {
  struct Visit {
    std::uint32_t node;
    NodeBox at;
  };
  std::vector<NodeBox> found;
  std::vector<Visit> level, next;
  total = 0;
  if (!tree.nodes.empty() && !tree.bounds.empty()) level = {{0, {tree.bounds, 0, false, 0}}};
  for (; !level.empty(); level = std::exchange(next, {})) {
    for (Visit& visit : level) {
      const kdtree::Node node = tree.nodes[visit.node];
      visit.at.leaf = node.leaf();
      visit.at.refs = node.leaf() ? node.count() : 0;
      if (wanted(visit.at) && ++total <= max_count) found.push_back(visit.at);
      if (node.leaf() || visit.at.depth == depth) continue;
      for (const unsigned side : {0u, 1u}) {
        if (!enters(node, side)) continue;
        Visit child{node.child(side), visit.at};
        (side == 0 ? child.at.box.hi : child.at.box.lo)[node.axis()] = node.split;
        ++child.at.depth;
        next.push_back(child);
      }
    }
  }
  return found;
}

// The materials' own colours, without textures.
std::vector<gl::Rgba8> material_colours(const scenes::Mesh& mesh) {
  const auto displayed = [](float linear) {
    return static_cast<std::uint8_t>(
        std::lround(255 * std::pow(std::clamp(linear, 0.0f, 1.0f), 1 / 2.2f)));
  };
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
  const auto& materials = mesh.appearance.triangle_materials;
  std::vector<gl::Vertex> vertices;
  vertices.reserve(3 * std::min(all, SliceView::max_triangles));
  for (std::size_t i = 0; i < all; i += step)
    add_triangle(
        vertices, scene, static_cast<std::uint32_t>(i),
        clay || colours.empty() ? clay_colour : colours[materials.empty() ? 0 : materials[i]]);
  count = vertices.size() / 3;
  return vertices;
}

// A corner of the rectangle in which a box meets a plane.
Vec3 corner_on(const Box& box, unsigned axis, float position, unsigned bits) {
  const unsigned u = (axis + 1) % 3, v = (axis + 2) % 3;
  Vec3 point;
  point[axis] = position;
  point[u] = bits & 1 ? box.hi[u] : box.lo[u];
  point[v] = bits & 2 ? box.hi[v] : box.lo[v];
  return point;
}

}  // namespace

std::vector<NodeBox> boxes_at(const kdtree::Tree& tree, unsigned depth, bool and_leaves,
                              std::size_t max_boxes, std::size_t& total) {
  const auto wanted = [&](const NodeBox& node) {
    return !(node.leaf && node.refs == 0) && (node.depth == depth || (and_leaves && node.leaf));
  };
  return collect(
      tree, depth, wanted, [](kdtree::Node, unsigned) { return true; }, max_boxes, total);
}

std::vector<NodeBox> cells_on(const kdtree::Tree& tree, unsigned axis, float position,
                              unsigned depth, std::size_t max_cells, std::size_t& total) {
  return collect(
      tree, depth, [&](const NodeBox& node) { return node.leaf || node.depth == depth; },
      [&](kdtree::Node node, unsigned side) {
        return node.axis() != axis || (side == 0) == (position < node.split);
      },
      max_cells, total);
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
  for (const unsigned bits : {0u, 1u, 3u, 0u, 3u, 2u})
    surfaces.push_back({corner_on(box, axis, position, bits), colour});
}

void add_triangle(std::vector<gl::Vertex>& surfaces, const BuiltScene& scene, std::uint32_t id,
                  gl::Rgba8 colour) {
  const Corners t = kdtree::corners(scene.view(), id);
  for (const Vec3& corner : {t.a, t.b, t.c}) surfaces.push_back({corner, colour});
}

void TreeView::update(const BuiltScene& scene, gl::Lines& lines) {
  const Made now{&scene, depth, leaves};
  if (std::exchange(made_, now) == now) return;
  const std::vector<NodeBox> boxes =
      boxes_at(scene.tree, static_cast<unsigned>(depth), leaves, max_boxes, total);
  shown = boxes.size();
  std::vector<gl::Vertex> vertices;
  vertices.reserve(24 * boxes.size());
  const double opacity = opacity_of(shown, 9, 0.10, 0.85);
  for (const NodeBox& box : boxes) {
    gl::Rgba8 colour = colour_of(box);
    colour.a = static_cast<std::uint8_t>(255 * opacity);
    add_box(vertices, box.box, colour);
  }
  lines.upload(vertices);
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

void SliceView::update(const BuiltScene& scene, bool clay, Drawn& drawn) {
  if (const Surfaces now{&scene, clay}; std::exchange(surfaces_, now) != now)
    drawn.surfaces.upload(all_triangles(scene, clay, drawn_triangles));
  const Made now{&scene, axis, place, depth};
  if (std::exchange(made_, now) == now) return;
  const float at = position(scene);
  std::vector<gl::Vertex> vertices;
  add_rectangle(vertices, scene.tree.bounds, axis, at, slice_colour);
  drawn.plane.upload(vertices);

  const std::vector<NodeBox> cells =
      cells_on(scene.tree, axis, at, static_cast<unsigned>(depth), max_cells, total);
  shown = cells.size();
  const double opacity = opacity_of(shown, 24, 0.3, 0.9);
  vertices.clear();
  // Empty leaves first: edges that are shared have the colour of the fuller cell.
  for (const bool empty : {true, false}) {
    for (const NodeBox& cell : cells) {
      if ((cell.leaf && cell.refs == 0) != empty) continue;
      gl::Rgba8 shade = empty ? empty_cell : colour_of(cell);
      shade.a = static_cast<std::uint8_t>(255 * (empty ? 0.6 * opacity : opacity));
      for (const unsigned bits : {0u, 1u, 1u, 3u, 3u, 2u, 2u, 0u})
        vertices.push_back({corner_on(cell.box, axis, at, bits), shade});
    }
  }
  drawn.cells.upload(vertices);

  vertices.clear();
  for (const Vec3& point : section_on(scene.view(), axis, at))
    vertices.push_back({point, section_colour});
  triangles = vertices.size() / 2;
  drawn.section.upload(vertices);
}

void SliceView::draw(const BuiltScene& scene, const render::Camera& camera, bool clay,
                     const gl::Matrix& to_clip, const gl::Rectangle& area, int line_width,
                     Drawn& drawn) {
  update(scene, clay, drawn);
  const float at = position(scene);
  const bool above = camera.eye[axis] >= at;
  // Points at which the equation is positive are cut away.
  const float sign = above != other_side ? 1.0f : -1.0f;
  gl::Plane cut;
  cut.normal[axis] = sign;
  cut.offset = -sign * at;
  gl::clear_depth();
  drawn.surfaces.draw(to_clip, area, 1, true, cut);
  drawn.plane.draw(to_clip, area, 1, false);
  // The half of the scene that is drawn is behind the plane and cannot hide the lines, unless
  // `other_side` is chosen: then it is in front.
  drawn.cells.draw(to_clip, area, line_width, other_side);
  drawn.section.draw(to_clip, area, line_width, other_side);
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
  std::uint32_t at = 0;
  Box box = tree.bounds;
  unsigned depth = 0;
  bool known = false;
  for (;;) {
    kdtree::Node node = tree.nodes[at];
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
      at = node.child(near);
      node = tree.nodes[at];
      ++depth;
    }
    path.leaves.push_back({box, node.first, node.count(), depth});
    path.tests += node.count();
    // Traversal ends in the leaf that tests the hit's triangle and whose interval contains the hit,
    // up to rounding.
    const auto refs = tree.refs.begin() + node.first;
    const float reach = end * (1 + kdtree::FastIntersection::relative_slack) + test.slack();
    const bool here =
        path.hit.found() && path.hit.t <= reach &&
        std::find(refs, refs + node.count(), path.hit.triangle) != refs + node.count();
    if (here) path.hit_box = box;
    known = known || here;
    if ((known && path.hit.t <= end) || stack.empty()) return path;
    begin = end;
    at = stack.back().node;
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
