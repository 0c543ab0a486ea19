// SPDX-License-Identifier: MIT
// The node that the Learn tab explains: why it was split where it is, or became a leaf, by the
// costs that the surface area heuristic gives to every candidate plane. Its refs are exactly the
// builder's: the splits from the root to the node are repeated with the builder's arithmetic.
#pragma once

#include <array>
#include <future>

#include "bench/program/options.hpp"
#include "viewer/built_scene.hpp"
#include "viewer/gl.hpp"

namespace heapwood::viewer {

// A node and its box.
struct NodePlace {
  std::uint32_t node = 0;
  Box box;
};
// The nodes from the root to a node, which is the last entry. Empty if the tree has no such node.
using RootPath = std::vector<NodePlace>;

// The path to the root; empty for a tree without triangles.
RootPath root_of(const kdtree::Tree& tree);
// The nodes that contain a point, from root to leaf. Points on a plane belong to the node below it.
RootPath path_to(const kdtree::Tree& tree, Vec3 point);
// Appends a child of the path's last node, unless that is a leaf.
void descend(const kdtree::Tree& tree, RootPath& path, unsigned side);

// The side of the chosen plane that a triangle is on.
enum class Side : std::uint8_t { left, right, both };

struct NodeExplanation {
  RootPath path;
  bool leaf = false;
  std::uint32_t refs = 0;
  double leaf_cost = 0;
  // Only for inner nodes: the split.
  unsigned axis = 0;
  float plane = 0;
  double split_cost = 0;
  std::uint32_t left = 0, right = 0;  // numbers of refs of the children
  // The costs of candidate planes per axis, by ascending position; at most `max_points` per axis.
  struct Candidate {
    float position = 0;
    double cost = 0;
  };
  std::array<std::vector<Candidate>, 3> curve;
  double lowest = 0;  // lowest cost of all candidates and of a leaf
  // The triangles in the node and, for an inner node, the side of each.
  std::vector<std::uint32_t> triangles;
  std::vector<Side> sides;

  const NodePlace& place() const { return path.back(); }
  unsigned depth() const { return static_cast<unsigned>(path.size()) - 1; }
  static constexpr std::size_t max_points = 300;
};

// Explains a node of a tree built with these settings. O(n log n) in the scene's triangles.
NodeExplanation explain(const BuiltScene& scene, const RootPath& path,
                        const bench::BuildSettings& settings);

// How many leaves have a number of refs, and a depth.
struct LeafHistograms {
  std::vector<std::uint64_t> by_refs;  // the last entry also counts larger leaves
  std::vector<std::uint64_t> by_depth;
  static constexpr std::size_t max_refs = 24;
};
LeafHistograms leaf_histograms(const kdtree::Tree& tree);

// The state of the node's display. The node is chosen by the mouse or step by step from the root,
// and shown over the picture with its plane and the triangles of both sides.
struct NodeView {
  bool visible = false;  // whether it is shown over the picture
  bool plane = true, triangles = true;
  std::optional<NodeExplanation> shown;
  LeafHistograms histograms;  // histograms of the whole tree

  // Requests the explanation of a node, which take() fetches when it is ready. Replaces an earlier
  // request that has not begun.
  void choose(std::shared_ptr<const BuiltScene> scene, const RootPath& path,
              const bench::BuildSettings& settings);
  // Called once per frame. If a node is to be shown and none is chosen, shows the root.
  void take(const std::shared_ptr<const BuiltScene>& scene, const bench::BuildSettings& settings);
  // Called when another tree is shown.
  void clear() {
    shown.reset();
    histograms = {};
  }

  // The shapes over the picture, uploaded again if they have changed.
  struct Drawn {
    gl::Shapes surfaces, plane, box;
  };
  void update(const BuiltScene& scene, Drawn& drawn);

 private:
  struct Request {
    std::shared_ptr<const BuiltScene> scene;
    RootPath path;
    bench::BuildSettings settings;
  };
  std::optional<Request> request_;  // begins when the request in next_ has ended
  std::future<NodeExplanation> next_;
  std::shared_ptr<const BuiltScene> next_scene_;
  std::uint64_t version_ = 0;
  std::pair<std::uint64_t, bool> drawn_;  // version and plane
};

}  // namespace heapwood::viewer
