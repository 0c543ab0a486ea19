// SPDX-License-Identifier: MIT
// Procedural models as patches: surfaces over a grid of cells with two triangles per cell. Every
// patch has a number of cells at density 1; the density for a wanted number of triangles is solved
// for, and then all vertices are computed in parallel. The result does not depend on the number of
// threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "scenes/mesh.hpp"

namespace heapwood::scenes {

struct Patch {
  std::function<Vec3(float u, float v)> point;  // u, v in [0, 1]
  float cells_u = 0, cells_v = 0;               // at density 1; 0: always the minimum
  unsigned min_u = 1, min_v = 1;
  bool closed = false;                   // u = 1 is u = 0: one vertex, not two
  std::size_t twins_u = 0, twins_v = 0;  // not 0: sides with equal numbers are divided equally
  bool pole_first = false, pole_last = false;  // v = 0 (v = 1) is one point
  std::uint32_t paint = 0;                     // set by Model::add()
};

// The colour of a material, linear.
struct Paint {
  const char* name;
  Vec3 colour;
};

class Model {
 public:
  // The paint of the patches added from here on.
  void paint(const Paint& paint);
  void add(Patch patch) {
    patch.paint = paint_;
    patches_.push_back(std::move(patch));
  }
  std::size_t patches() const { return patches_.size(); }

  // The number of triangles of the patches from `first` on; increases with the density.
  std::uint64_t count(float density, std::size_t first = 0) const;

  // A mesh of about `target` triangles, at least count(0). threads = 0: all. Content::materials:
  // with its paints.
  Mesh tessellate(std::uint64_t target, unsigned threads = 0,
                  Content content = Content::geometry) const;

 private:
  std::vector<Paint> paints_;
  std::uint32_t paint_ = 0;
  std::vector<Patch> patches_;
};

}  // namespace heapwood::scenes
