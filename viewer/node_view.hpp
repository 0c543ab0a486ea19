// SPDX-License-Identifier: MIT
// The node that the Learn tab explains: chosen with the mouse or step by step from the root, and
// shown over the picture with its plane and the triangles of both sides.
#pragma once

#include <future>
#include <memory>
#include <optional>

#include "viewer/gl.hpp"
#include "viewer/node_explain.hpp"

namespace heapwood::viewer {

struct NodeView {
  bool visible = false;  // over the picture
  bool plane = true, triangles = true;
  std::optional<NodeExplanation> shown;
  LeafHistograms histograms;  // of the tree

  // Asks for the explanation of a node, which take() fetches when it is ready. Replaces an earlier
  // request that has not begun.
  void choose(std::shared_ptr<const BuiltScene> scene, const RootPath& path,
              const bench::BuildSettings& settings);
  // Once per frame. While a node is to be visible and none is chosen, it is the root.
  void take(const std::shared_ptr<const BuiltScene>& scene, const bench::BuildSettings& settings);
  // Another tree is shown from now on.
  void clear() {
    shown.reset();
    histograms = {};
  }

  // What is drawn over the picture, uploaded if it has changed.
  struct Drawn {
    std::optional<gl::Surfaces> surfaces;  // triangles
    std::optional<gl::Surfaces> plane;
    std::optional<gl::Lines> box;
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
