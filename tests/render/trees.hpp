// SPDX-License-Identifier: MIT
// Trees and meshes for tests of rays: a builder that shares no code with the real builders, and
// small closed surfaces.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <vector>

#include "kdtree/traverse/traverse.hpp"
#include "kdtree/tree.hpp"
#include "render/scene.hpp"
#include "simt/device.hpp"
#include "tests/kdtree/soup.hpp"

namespace heapwood::render {

using kdtree::MeshView;
using kdtree::Random;
using kdtree::Soup;
using kdtree::Tree;

// The device that tests run rays on: HEAPWOOD_TEST_DEVICE, else the CPU.
inline simt::DeviceId test_device(int threads = 0) {
  const char* key = std::getenv("HEAPWOOD_TEST_DEVICE");
  return simt::find_device(key ? key : "cpu", threads).id;
}

// The records of a tree, and the tree as kernels receive it.
template <class Intersection>
std::vector<typename Intersection::Record> records_of(const Soup& soup, const Tree& tree) {
  std::vector<typename Intersection::Record> records(tree.refs.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    kdtree::make_record(kdtree::corners(soup.view(), tree.refs[i]), kdtree::reach_of(tree.bounds),
                        records[i]);
  }
  return records;
}
template <class Intersection>
kdtree::TreeView<Intersection> tree_view(
    const Soup& soup, const Tree& tree, const std::vector<typename Intersection::Record>& records) {
  return {tree.nodes.data(), records.data(),       tree.refs.data(),
          tree.bounds,       soup.vertices.data(), soup.triangles.data()};
}

inline void expect_near(Vec3 a, Vec3 b, float tolerance) {
  for (unsigned axis = 0; axis < 3; ++axis) EXPECT_NEAR(a[axis], b[axis], tolerance) << axis;
}

inline Vec3 unit_direction(Random& random) {
  for (;;) {
    const Vec3 v = random.point(-1, 1);
    if (length(v) > 0.1f && length(v) < 1) return normalize(v);
  }
}

// Splits at the median of the triangles' bounds on the longest axis, using bounding boxes only;
// triangles that touch the plane go to both sides. With many equal bounds most planes contain flat
// triangles and corners, which are the hard cases for rays.
class MedianBuilder {
 public:
  static Tree build(const MeshView& mesh, unsigned leaf_size = 3) {
    Tree tree;
    if (mesh.triangles.empty()) return tree;
    MedianBuilder builder(mesh, leaf_size, tree);
    std::vector<std::uint32_t> all(mesh.triangles.size());
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      all[i] = i;
      tree.bounds.grow(builder.box(i));
    }
    tree.nodes.resize(2);
    builder.divide(0, tree.bounds, all, 0);
    return tree;
  }

 private:
  MedianBuilder(const MeshView& mesh, unsigned leaf_size, Tree& tree)
      : mesh_(mesh), leaf_size_(leaf_size), tree_(tree) {}

  Box box(std::uint32_t triangle) const { return bounds(kdtree::corners(mesh_, triangle)); }

  void divide(std::uint32_t node, const Box& cell, const std::vector<std::uint32_t>& ids,
              unsigned depth) {
    const Vec3 extent = cell.extent();
    unsigned axis =
        extent.x >= extent.y ? (extent.x >= extent.z ? 0 : 2) : (extent.y >= extent.z ? 1 : 2);
    std::vector<float> planes;
    for (unsigned turn = 0; turn < 3 && planes.empty(); ++turn, axis = (axis + 1) % 3) {
      for (const std::uint32_t id : ids) {
        for (const float p : {box(id).lo[axis], box(id).hi[axis]}) {
          if (p > cell.lo[axis] && p < cell.hi[axis]) planes.push_back(p);
        }
      }
      if (!planes.empty()) break;
    }
    if (ids.size() <= leaf_size_ || depth >= 24 || planes.empty()) return leaf(node, ids);
    std::nth_element(planes.begin(),
                     planes.begin() + static_cast<std::ptrdiff_t>(planes.size() / 2), planes.end());
    const float plane = planes[planes.size() / 2];
    std::vector<std::uint32_t> below, above;
    for (const std::uint32_t id : ids) {
      if (box(id).lo[axis] <= plane) below.push_back(id);
      if (box(id).hi[axis] >= plane) above.push_back(id);
    }
    if (below.size() + above.size() > 2 * ids.size() - 1) return leaf(node, ids);
    const auto pair = static_cast<std::uint32_t>(tree_.nodes.size() / 2);
    tree_.nodes.resize(tree_.nodes.size() + 2);
    tree_.nodes[node] = kdtree::Node::make_inner(plane, axis, pair);
    divide(2 * pair, {cell.lo, set(cell.hi, axis, plane)}, below, depth + 1);
    divide(2 * pair + 1, {set(cell.lo, axis, plane), cell.hi}, above, depth + 1);
  }

  void leaf(std::uint32_t node, const std::vector<std::uint32_t>& ids) {
    tree_.nodes[node] = kdtree::Node::make_leaf(static_cast<std::uint32_t>(tree_.refs.size()),
                                                static_cast<std::uint32_t>(ids.size()));
    tree_.refs.insert(tree_.refs.end(), ids.begin(), ids.end());
  }

  const MeshView& mesh_;
  unsigned leaf_size_;
  Tree& tree_;
};

// With MedianBuilder's tree, on test_device(). The mesh must outlive it.
inline Scene scene_of(const Soup& soup, bool watertight = false, const Appearance* look = nullptr) {
  return {test_device(), MedianBuilder::build(soup.view()), soup.view(), watertight, look};
}

// A quadrilateral of two triangles.
inline void add_quad(Soup& soup, Vec3 a, Vec3 b, Vec3 c, Vec3 d) {
  soup.add(a, b, c);
  soup.add(a, c, d);
}

// A closed surface with faces that point outwards: a cube of n x n quads per side, blended with a
// sphere by `round` (0 the cube, 1 the sphere).
inline Soup closed_surface(unsigned n, float round, Vec3 centre = {}, float radius = 1) {
  Soup soup;
  const auto corner = [&](unsigned face, unsigned i, unsigned j) {
    const float u = 2 * static_cast<float>(i) / static_cast<float>(n) - 1,
                v = 2 * static_cast<float>(j) / static_cast<float>(n) - 1;
    const float side = face % 2 == 0 ? 1.0f : -1.0f;
    // Swapping b and c on the negative side reverses the winding order there.
    const unsigned a = face / 2, b = (a + (face % 2 == 0 ? 1 : 2)) % 3,
                   c = (a + (face % 2 == 0 ? 2 : 1)) % 3;
    const Vec3 cube = set(set(set({}, a, side), b, u), c, v);
    const Vec3 p = cube * (1 - round) + cube * (round / length(cube));
    return p * radius + centre;
  };
  // Both faces of a cube's edge compute the same vertices, up to the sign of zero.
  for (unsigned face = 0; face < 6; ++face) {
    const auto first = static_cast<std::uint32_t>(soup.vertices.size());
    for (unsigned j = 0; j <= n; ++j) {
      for (unsigned i = 0; i <= n; ++i) soup.vertices.push_back(corner(face, i, j));
    }
    for (std::uint32_t j = 0; j < n; ++j) {
      for (std::uint32_t i = 0; i < n; ++i) {
        const std::uint32_t base = first + j * (n + 1) + i;
        soup.triangles.push_back({{base, base + 1, base + n + 2}});
        soup.triangles.push_back({{base, base + n + 2, base + n + 1}});
      }
    }
  }
  return soup;
}

// A closed ring around the y axis, of rings x sides quads.
inline Soup closed_torus(unsigned rings, unsigned sides, double radius, double thickness) {
  Soup soup;
  for (unsigned i = 0; i < rings; ++i) {
    for (unsigned j = 0; j < sides; ++j) {
      const double a = 2 * std::numbers::pi * i / rings, b = 2 * std::numbers::pi * j / sides;
      const double r = radius + thickness * std::cos(b);
      soup.vertices.push_back({static_cast<float>(r * std::cos(a)),
                               static_cast<float>(thickness * std::sin(b)),
                               static_cast<float>(r * std::sin(a))});
    }
  }
  for (unsigned i = 0; i < rings; ++i) {
    for (unsigned j = 0; j < sides; ++j) {
      const unsigned next = (i + 1) % rings, up = (j + 1) % sides;
      soup.triangles.push_back({{i * sides + j, next * sides + j, next * sides + up}});
      soup.triangles.push_back({{i * sides + j, next * sides + up, i * sides + up}});
    }
  }
  return soup;
}

// `from` is a copy, so that a mesh can be appended to itself.
inline void append(Soup& to, Soup from) {
  const auto first = static_cast<std::uint32_t>(to.vertices.size());
  to.vertices.insert(to.vertices.end(), from.vertices.begin(), from.vertices.end());
  for (const Triangle& t : from.triangles)
    to.triangles.push_back({{t.v[0] + first, t.v[1] + first, t.v[2] + first}});
}

}  // namespace heapwood::render
