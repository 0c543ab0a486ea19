// SPDX-License-Identifier: MIT
// Procedural models as patches: surfaces over a grid of cells, each cell two triangles. Every patch says how finely it is
// to be divided at density 1; the density that yields a wanted number of triangles is solved for, and then all vertices
// are computed in parallel. The result does not depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "scenes/mesh.hpp"

namespace heapwood::scenes {

struct Patch {
  std::function<Vec3(float u, float v)> at;  // u, v in [0, 1]
  float cells_u = 0, cells_v = 0;            // at density 1; 0: always the least
  unsigned min_u = 1, min_v = 1;
  bool closed = false;                         // u = 1 is u = 0: one vertex, not two
  std::size_t twins_u = 0, twins_v = 0;        // not 0: sides with this number and equal cells are divided equally
  bool pole_first = false, pole_last = false;  // all of v = 0 (v = 1) is one point: the row beside it is a fan
};

class Model {
 public:
  void add(Patch patch) { patches_.push_back(std::move(patch)); }
  std::size_t patches() const { return patches_.size(); }

  // The number of triangles at a density, of the patches from `first` on; grows with the density.
  std::uint64_t count(float density, std::size_t first = 0) const;

  // As many triangles as come next to `target`, though never fewer than count(0). threads 0: all.
  Mesh tessellate(std::uint64_t target, unsigned threads = 0) const;

 private:
  std::vector<Patch> patches_;
};

}  // namespace heapwood::scenes
