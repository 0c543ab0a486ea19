// SPDX-License-Identifier: MIT
// Procedural models as patches: surfaces over a grid of cells with two triangles per cell. Every
// patch has a number of cells at density 1. The density that gives the wanted number of triangles
// is determined, and then all vertices are computed in parallel. The result does not depend on the
// number of threads.
//
// Shapes are added to a Model as patches. `cell` is the length of a cell's edge at density 1 (0:
// the patch is divided only as its shape requires); `around` is the number of cells around an axis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <numbers>
#include <vector>

#include "scenes/mesh.hpp"

namespace heapwood::scenes {

// ---- patches

struct Patch {
  std::function<Vec3(float u, float v)> point;  // for u, v in [0, 1]
  float cells_u = 0, cells_v = 0;               // at density 1; 0: always the minimum
  unsigned min_u = 1, min_v = 1;
  bool closed = false;                   // u = 1 is the line u = 0, with the same vertices
  std::size_t twins_u = 0, twins_v = 0;  // sides with equal numbers above 0 are divided equally
  bool pole_first = false, pole_last = false;  // all points with v = 0 (v = 1) coincide
  std::uint32_t paint = 0;                     // set by Model::add()
};

// A material's name and its linear colour.
struct Paint {
  const char* name;
  Vec3 colour;
};

class Model {
 public:
  // Sets the paint of the patches that are added from here on.
  void paint(const Paint& paint);
  void add(Patch patch) {
    patch.paint = paint_;
    patches_.push_back(std::move(patch));
  }
  std::size_t patches() const { return patches_.size(); }

  // The number of triangles of the patches from `first` on, which increases with the density.
  std::uint64_t count(float density, std::size_t first = 0) const;

  // A mesh of about `target` triangles, at least count(0). threads = 0: all. With
  // Content::materials it has its paints.
  Mesh tessellate(std::uint64_t target, unsigned threads = 0,
                  Content content = Content::geometry) const;

 private:
  std::vector<Paint> paints_;
  std::uint32_t paint_ = 0;
  std::vector<Patch> patches_;
};

// ---- shapes

inline constexpr float pi = std::numbers::pi_v<float>;

// Local axes in the scene. They need not have length 1: other lengths scale a shape.
struct Frame {
  Vec3 origin{0, 0, 0}, x{1, 0, 0}, y{0, 1, 0}, z{0, 0, 1};
  Vec3 operator()(Vec3 p) const { return origin + x * p.x + y * p.y + z * p.z; }
};
Frame place(Vec3 origin, float scale = 1, float turn = 0);  // turned around y, in radians
Frame within(const Frame& outer, const Frame& inner);

inline Vec3 lerp(Vec3 a, Vec3 b, float t) { return a * (1 - t) + b * t; }

void quad(Model& model, Vec3 origin, Vec3 edge_u, Vec3 edge_v, float cell = 0);
void facet(Model& model, Vec3 a, Vec3 b, Vec3 c, Vec3 d,
           float cell = 0);  // corners in the order of the outline
void box(Model& model, const Frame& frame, Vec3 low, Vec3 high, float cell = 0);

// A point of a profile turned around y. `bulge` is that of the segment which ends here, per length.
struct Turn {
  float radius, y;
  float bulge = 0;
};
using Profile = std::initializer_list<Turn>;
// Adds a surface of revolution. min_cells: around the axis. ripple scales the radius at (angle,
// height).
void lathe(Model& model, const Frame& frame, Profile profile, float around, float cell,
           unsigned min_cells = 6, const std::function<float(float, float)>& ripple = {});
void ball(Model& model, const Frame& frame, float radius, float around, unsigned min_cells = 6);
void disc(Model& model, const Frame& frame, float radius, float around, unsigned min_cells = 6);

// A round tube along a path over t in [0, 1]. `side` must not be parallel to the path at any point.
struct Tube {
  std::function<Vec3(float)> path;
  std::function<float(float)> radius;
  Vec3 side{0, 1, 0};
  float around = 8, along = 0;
  unsigned min_around = 5, min_along = 1;
};
void tube(Model& model, Tube tube);
// Adds a straight tube.
void rod(Model& model, Vec3 from, Vec3 to, float radius, float around, unsigned min_cells = 5,
         float along = 0);

// A wall in the frame's x-y plane with an arched opening whose middle is at x = 0. The arch springs
// at y = spring; the wall reaches from the opening's edge up to y = top and is `depth` thick around
// z = 0.
struct Arch {
  float radius, spring, top, depth;
  float along = 8;  // cells around the half circle at density 1
  unsigned min_cells = 4;
  float moulding = 0;  // thickness of a raised band around the opening on both faces; 0: no band
};
void arch(Model& model, const Frame& frame, const Arch& arch);

// Adds a rectangular section swept over t in [0, 1]: its points are point(t, a, b), with a and b in
// [0, 1] across the section.
void sweep(Model& model, const std::function<Vec3(float t, float a, float b)>& point, float along,
           unsigned min_cells);

}  // namespace heapwood::scenes
