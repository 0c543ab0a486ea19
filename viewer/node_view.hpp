// SPDX-License-Identifier: MIT
// The node that the Learn tab explains: why it was split where it is, or became a leaf, by the
// costs that the surface area heuristic gives to every candidate plane. The refs are those of the
// builder: the splits from the root to the node are repeated with its arithmetic.
#pragma once

#include <array>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "bench/program/options.hpp"
#include "viewer/built_scene.hpp"
#include "viewer/gl.hpp"

namespace heapwood::viewer {

// A node and its box.
struct NodePlace {
  std::uint32_t node = 0;
  Box box;
};
// From the root to a node; the last entry is the node. Empty if the tree has no such node.
using RootPath = std::vector<NodePlace>;

// Empty for a tree without triangles.
RootPath root_of(const kdtree::Tree& tree);
// The nodes around a point, from the root to its leaf; on a plane, the node below it.
RootPath path_to(const kdtree::Tree& tree, Vec3 point);
// Appends a child of the path's last node, unless that is a leaf.
void descend(const kdtree::Tree& tree, RootPath& path, unsigned side);

// Which side of the chosen plane a triangle is on.
enum class Side : std::uint8_t { left, right, both };

struct NodeExplanation {
  RootPath path;
  bool leaf = false;
  std::uint32_t refs = 0;
  double leaf_cost = 0;
  // For inner nodes:
  unsigned axis = 0;
  float plane = 0;
  double split_cost = 0;
  std::uint32_t left = 0, right = 0;  // refs of the children
  // Cost of each candidate plane, in ascending order of the position; at most `max_points` per
  // axis.
  struct Candidate {
    float position = 0;
    double cost = 0;
  };
  std::array<std::vector<Candidate>, 3> curve;
  double lowest = 0;  // of the leaf and all candidates
  // The triangles in the node; the side only of an inner node.
  std::vector<std::uint32_t> triangles;
  std::vector<Side> sides;

  const NodePlace& place() const { return path.back(); }
  unsigned depth() const { return static_cast<unsigned>(path.size()) - 1; }
  static constexpr std::size_t max_points = 300;
};

// For a tree that was built with these settings. O(n log n) in the triangles of the scene.
NodeExplanation explain(const BuiltScene& scene, const RootPath& path,
                        const bench::BuildSettings& settings);

// Numbers of leaves by refs and by depth.
struct LeafHistograms {
  std::vector<std::uint64_t> by_refs;  // the last entry: of this and more
  std::vector<std::uint64_t> by_depth;
  static constexpr std::size_t max_refs = 24;
};
LeafHistograms leaf_histograms(const kdtree::Tree& tree);

// The node is chosen with the mouse or step by step from the root, and shown over the picture with
// its plane and the triangles of both sides.
struct NodeView {
  bool visible = false;  // over the picture
  bool plane = true, triangles = true;
  std::optional<NodeExplanation> shown;
  LeafHistograms histograms;  // of the tree

  // Asks for the explanation of a node, which take() fetches when it is ready. Replaces an earlier
  // request that has not begun.
  void choose(std::shared_ptr<const BuiltScene> scene, const RootPath& path,
              const bench::BuildSettings& settings);
  // Called once per frame. If a node is to be shown and none is chosen, shows the root.
  void take(const std::shared_ptr<const BuiltScene>& scene, const bench::BuildSettings& settings);
  // Another tree is shown from now on.
  void clear() {
    shown.reset();
    histograms = {};
  }

  // What is drawn over the picture, uploaded if it has changed.
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
  std::optional<Request> request_;  // begins when next_ has ended
  std::future<NodeExplanation> next_;
  std::shared_ptr<const BuiltScene> next_scene_;
  std::uint64_t version_ = 0, drawn_version_ = 0;
};

}  // namespace heapwood::viewer
