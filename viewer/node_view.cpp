// SPDX-License-Identifier: MIT
#include "viewer/node_view.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "viewer/theme.hpp"
#include "viewer/tree_view.hpp"

namespace heapwood::viewer {

namespace {

constexpr gl::Rgba8 leaf_triangles{248, 206, 104, 255};
// Drawn by OpenGL in every frame, perhaps without a GPU.
constexpr std::size_t max_drawn = 40000;

std::vector<gl::Vertex> triangle_vertices(const BuiltScene& scene, const NodeExplanation& node) {
  std::vector<gl::Vertex> vertices;
  const std::size_t count = node.triangles.size();
  const std::size_t step = (count + max_drawn - 1) / max_drawn;
  for (std::size_t i = 0; i < count; i += std::max<std::size_t>(step, 1)) {
    const gl::Rgba8 shade = node.leaf                      ? leaf_triangles
                            : node.sides[i] == Side::left  ? colour::left_side
                            : node.sides[i] == Side::right ? colour::right_side
                                                           : colour::both_sides;
    const Corners t = kdtree::corners(scene.view(), node.triangles[i]);
    for (const Vec3& corner : {t.a, t.b, t.c}) vertices.push_back({corner, shade});
  }
  return vertices;
}

std::vector<gl::Vertex> plane_vertices(const NodeExplanation& node) {
  std::vector<gl::Vertex> vertices;
  if (node.leaf) return vertices;
  const Box& box = node.place().box;
  const unsigned u = (node.axis + 1) % 3, v = (node.axis + 2) % 3;
  const auto corner = [&](unsigned bits) {
    Vec3 point;
    point[node.axis] = node.plane;
    point[u] = bits & 1 ? box.hi[u] : box.lo[u];
    point[v] = bits & 2 ? box.hi[v] : box.lo[v];
    return point;
  };
  for (const unsigned bits : {0u, 1u, 3u, 0u, 3u, 2u})
    vertices.push_back({corner(bits), colour::split_plane});
  return vertices;
}

}  // namespace

void NodeView::choose(std::shared_ptr<const BuiltScene> scene, const RootPath& path,
                      const bench::BuildSettings& settings) {
  if (scene && !path.empty()) request_ = {std::move(scene), path, settings};
}

void NodeView::take(const std::shared_ptr<const BuiltScene>& scene,
                    const bench::BuildSettings& settings) {
  if (!scene) return;
  if (visible && histograms.by_refs.empty()) histograms = leaf_histograms(scene->tree);
  if (visible && !shown && !next_.valid() && !request_)
    choose(scene, root_of(scene->tree), settings);
  if (next_.valid()) {
    if (next_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
    NodeExplanation ready = next_.get();
    if (next_scene_ == scene) {
      shown = std::move(ready);
      ++version_;
    }
    next_scene_.reset();
  }
  if (!request_) return;
  next_scene_ = request_->scene;
  next_ = std::async(std::launch::async, [request = *std::exchange(request_, std::nullopt)] {
    return explain(*request.scene, request.path, request.settings);
  });
}

void NodeView::update(const BuiltScene& scene, Drawn& drawn) {
  if (!shown) return;
  if (drawn.box && drawn_version_ == version_) return;
  drawn_version_ = version_;
  if (!drawn.surfaces) drawn.surfaces.emplace();
  if (!drawn.plane) drawn.plane.emplace();
  if (!drawn.box) drawn.box.emplace();
  drawn.surfaces->upload(triangle_vertices(scene, *shown));
  drawn.plane->upload(plane_vertices(*shown));
  std::vector<gl::Vertex> lines;
  add_box(lines, shown->place().box, {255, 255, 255, 230});
  if (!shown->leaf) {
    Box left = shown->place().box, right = left;
    left.hi[shown->axis] = right.lo[shown->axis] = shown->plane;
    gl::Rgba8 a = colour::left_side, b = colour::right_side;
    a.a = b.a = 150;
    add_box(lines, left, a);
    add_box(lines, right, b);
  }
  drawn.box->upload(lines);
}

}  // namespace heapwood::viewer
