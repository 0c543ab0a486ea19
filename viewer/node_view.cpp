// SPDX-License-Identifier: MIT
#include "viewer/node_view.hpp"

#include <chrono>

#include "kdtree/refs.hpp"
#include "kdtree/sah.hpp"
#include "kdtree/split/clip.hpp"
#include "viewer/theme.hpp"
#include "viewer/tree_view.hpp"

namespace heapwood::viewer {

namespace {

constexpr gl::Rgba8 leaf_triangles{248, 206, 104, 255};
// A limit, because OpenGL draws the triangles in every frame, perhaps without a GPU.
constexpr std::size_t max_drawn = 40000;

std::vector<gl::Vertex> triangle_vertices(const BuiltScene& scene, const NodeExplanation& node) {
  std::vector<gl::Vertex> vertices;
  const std::size_t count = node.triangles.size(), step = (count + max_drawn - 1) / max_drawn;
  for (std::size_t i = 0; i < count; i += step)
    add_triangle(vertices, scene, node.triangles[i],
                 node.leaf                      ? leaf_triangles
                 : node.sides[i] == Side::left  ? colour::left_side
                 : node.sides[i] == Side::right ? colour::right_side
                                                : colour::both_sides);
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
  if (const std::pair now{version_, plane}; std::exchange(drawn_, now) == now) return;
  drawn.surfaces.upload(triangle_vertices(scene, *shown));
  std::vector<gl::Vertex> cut;
  if (!shown->leaf)
    add_rectangle(cut, shown->place().box, shown->axis, shown->plane, colour::split_plane);
  drawn.plane.upload(cut);
  std::vector<gl::Vertex> lines;
  add_box(lines, shown->place().box, {24, 150, 84, 255});
  if (plane && !shown->leaf) {
    Box left = shown->place().box, right = left;
    left.hi[shown->axis] = right.lo[shown->axis] = shown->plane;
    add_box(lines, left, colour::left_side);
    add_box(lines, right, colour::right_side);
  }
  drawn.box.upload(lines);
}

namespace {

// Calls visit(node, depth below the root) for all leaves below a node.
template <class Visit>
void for_each_leaf(const kdtree::Tree& tree, std::uint32_t root, const Visit& visit) {
  std::vector<std::pair<std::uint32_t, unsigned>> stack{{root, 0}};
  while (!stack.empty()) {
    const auto [node_index, depth] = stack.back();
    stack.pop_back();
    const kdtree::Node node = tree.nodes[node_index];
    if (node.leaf()) {
      visit(node, depth);
    } else {
      for (const unsigned side : {0u, 1u}) stack.push_back({node.child(side), depth + 1});
    }
  }
}

// The triangles in all leaves below a node, each once, in ascending order.
std::vector<std::uint32_t> triangles_below(const kdtree::Tree& tree, std::uint32_t root) {
  std::vector<std::uint32_t> ids;
  for_each_leaf(tree, root, [&](kdtree::Node node, unsigned) {
    const auto first = tree.refs.begin() + node.first;
    ids.insert(ids.end(), first, first + node.count());
  });
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

// Whether the builder sent the refs that lie in the node's plane to the right. The tree does not
// store this, but such refs are then in the leaves on the right.
bool flats_go_right(const kdtree::Tree& tree, kdtree::Node node,
                    const std::vector<kdtree::Ref>& refs) {
  std::vector<std::uint32_t> flats;
  for (const kdtree::Ref& ref : refs) {
    if (ref.box.lo[node.axis()] == node.split && ref.box.hi[node.axis()] == node.split)
      flats.push_back(ref.id);
  }
  if (flats.empty()) return false;
  const std::vector<std::uint32_t> right = triangles_below(tree, node.child(1));
  return std::ranges::any_of(
      flats, [&](std::uint32_t id) { return std::ranges::binary_search(right, id); });
}

// The refs of the path's last node as the builder had them. Repeats the splits above it.
std::vector<kdtree::Ref> refs_of(const BuiltScene& scene, const RootPath& path,
                                 kdtree::RefKind kind) {
  std::vector<kdtree::Ref> refs;
  for (std::uint32_t id = 0; id < scene.mesh.triangles.size(); ++id)
    refs.push_back({id, bounds(kdtree::corners(scene.view(), id))});
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    const kdtree::Node node = scene.tree.nodes[path[i].node];
    const unsigned axis = node.axis();
    const bool is_right = path[i + 1].node == node.child(1);
    const bool flats_right = flats_go_right(scene.tree, node, refs);
    std::vector<kdtree::Ref> kept;
    for (kdtree::Ref ref : refs) {
      const float lo = ref.box.lo[axis], hi = ref.box.hi[axis];
      const bool left = kdtree::goes_left(lo, hi, node.split, flats_right),
                 right = kdtree::goes_right(lo, hi, node.split, flats_right);
      if (!(is_right ? right : left)) continue;
      const Corners triangle = kdtree::corners(scene.view(), ref.id);
      if (kind == kdtree::RefKind::ids) {
        ref.box = kdtree::clip_bounds(triangle, path[i + 1].box);
      } else if (kind == kdtree::RefKind::boxes) {
        ref.box = kdtree::clamp_box(bounds(triangle), path[i + 1].box);
      } else if (left && right) {
        const kdtree::Sides sides = kdtree::split_bounds(triangle, ref.box, axis, node.split);
        ref.box = is_right ? sides.right : sides.left;
      }
      kept.push_back(ref);
    }
    refs = std::move(kept);
  }
  return refs;
}

double cost_of(const kdtree::SplitCost& cost, unsigned axis, float plane, std::uint32_t left,
               std::uint32_t right, bool flats_right) {
  kdtree::Split split;
  cost.consider(split, axis, plane, left, right, flats_right);
  return split.found() ? static_cast<double>(simt::from_bits(split.cost)) : 0;
}

// Computes the cost of all candidates on one axis by a sweep over the bounds. If triangles lie in a
// plane, the cheaper side for them counts.
void sweep(const std::vector<kdtree::Ref>& refs, const Box& node, unsigned axis,
           const kdtree::SplitCost& cost, std::vector<NodeExplanation::Candidate>& curve) {
  std::vector<float> low, high, flat, planes;
  for (const kdtree::Ref& ref : refs) {
    low.push_back(ref.box.lo[axis]);
    high.push_back(ref.box.hi[axis]);
    if (low.back() == high.back()) flat.push_back(low.back());
  }
  for (std::vector<float>* all : {&low, &high, &flat}) std::ranges::sort(*all);
  std::merge(low.begin(), low.end(), high.begin(), high.end(), std::back_inserter(planes));
  planes.erase(std::unique(planes.begin(), planes.end()), planes.end());
  const auto below = [](const std::vector<float>& all, float plane) {
    return std::ranges::lower_bound(all, plane) - all.begin();
  };
  const auto up_to = [](const std::vector<float>& all, float plane) {
    return std::ranges::upper_bound(all, plane) - all.begin();
  };
  for (const float plane : planes) {
    if (plane <= node.lo[axis] || plane >= node.hi[axis]) continue;
    const auto flats = up_to(flat, plane) - below(flat, plane);
    const auto left = static_cast<std::uint32_t>(below(low, plane)),
               right = static_cast<std::uint32_t>(static_cast<std::ptrdiff_t>(high.size()) -
                                                  up_to(high, plane));
    const auto in_plane = static_cast<std::uint32_t>(flats);
    double best = cost_of(cost, axis, plane, left + in_plane, right, false);
    if (in_plane > 0)
      best = std::min(best, cost_of(cost, axis, plane, left, right + in_plane, true));
    curve.push_back({plane, best});
  }
}

// Thins out a curve: keeps the cheapest of neighbouring candidates, so that minima remain.
void thin_out(std::vector<NodeExplanation::Candidate>& curve) {
  const std::size_t step =
      (curve.size() + NodeExplanation::max_points - 1) / NodeExplanation::max_points;
  if (step <= 1) return;
  std::vector<NodeExplanation::Candidate> kept;
  for (std::size_t i = 0; i < curve.size(); i += step) {
    const auto begin = curve.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end = curve.begin() + static_cast<std::ptrdiff_t>(std::min(i + step, curve.size()));
    kept.push_back(*std::min_element(begin, end,
                                     [](const auto& a, const auto& b) { return a.cost < b.cost; }));
  }
  curve = std::move(kept);
}

}  // namespace

RootPath root_of(const kdtree::Tree& tree) {
  if (tree.nodes.empty() || tree.bounds.empty()) return {};
  return {{0, tree.bounds}};
}

RootPath path_to(const kdtree::Tree& tree, Vec3 point) {
  RootPath path = root_of(tree);
  while (!path.empty() && !tree.nodes[path.back().node].leaf()) {
    const kdtree::Node node = tree.nodes[path.back().node];
    descend(tree, path, point[node.axis()] > node.split ? 1 : 0);
  }
  return path;
}

void descend(const kdtree::Tree& tree, RootPath& path, unsigned side) {
  if (path.empty() || tree.nodes[path.back().node].leaf()) return;
  const kdtree::Node node = tree.nodes[path.back().node];
  NodePlace child{node.child(side), path.back().box};
  (side == 0 ? child.box.hi : child.box.lo)[node.axis()] = node.split;
  path.push_back(child);
}

NodeExplanation explain(const BuiltScene& scene, const RootPath& path,
                        const bench::BuildSettings& settings) {
  NodeExplanation result;
  result.path = path;
  const kdtree::Node node = scene.tree.nodes[result.place().node];
  const Box& box = result.place().box;
  result.leaf = node.leaf();
  const std::vector<kdtree::Ref> refs = refs_of(scene, path, settings.refs);
  for (const kdtree::Ref& ref : refs) result.triangles.push_back(ref.id);
  result.refs = static_cast<std::uint32_t>(refs.size());
  const kdtree::SplitCost cost(settings.costs, kdtree::scale_of(scene.tree.bounds), box,
                               result.refs);
  result.leaf_cost = static_cast<double>(cost.leaf_cost());
  if (cost.splittable()) {
    for (unsigned axis = 0; axis < 3; ++axis) {
      sweep(refs, box, axis, cost, result.curve[axis]);
      thin_out(result.curve[axis]);
    }
  }
  result.lowest = result.leaf_cost;
  for (const auto& curve : result.curve) {
    for (const auto& candidate : curve) result.lowest = std::min(result.lowest, candidate.cost);
  }
  if (result.leaf) return result;
  result.axis = node.axis();
  result.plane = node.split;
  const bool flats_right = flats_go_right(scene.tree, node, refs);
  for (const kdtree::Ref& ref : refs) {
    const float lo = ref.box.lo[result.axis], hi = ref.box.hi[result.axis];
    const bool left = kdtree::goes_left(lo, hi, result.plane, flats_right),
               right = kdtree::goes_right(lo, hi, result.plane, flats_right);
    result.left += left;
    result.right += right;
    result.sides.push_back(left && right ? Side::both : right ? Side::right : Side::left);
  }
  result.split_cost =
      cost_of(cost, result.axis, result.plane, result.left, result.right, flats_right);
  return result;
}

LeafHistograms leaf_histograms(const kdtree::Tree& tree) {
  LeafHistograms histograms;
  histograms.by_refs.resize(LeafHistograms::max_refs + 1);
  if (tree.nodes.empty()) return histograms;
  for_each_leaf(tree, 0, [&](kdtree::Node node, unsigned depth) {
    ++histograms.by_refs[std::min<std::size_t>(node.count(), LeafHistograms::max_refs)];
    if (histograms.by_depth.size() <= depth) histograms.by_depth.resize(depth + 1);
    ++histograms.by_depth[depth];
  });
  return histograms;
}

}  // namespace heapwood::viewer
