// SPDX-License-Identifier: MIT
// Functions that a launcher's for_each runs over the caller's mesh.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "python/core/ray_arrays.hpp"
#include "simt/atomic_ref.hpp"

namespace heapwood::python {

// Computes the unit normals of all triangles.
struct FillNormals {
  const Vec3* vertices;
  const Triangle* triangles;
  kdtree::Row* normals;
  HEAPWOOD_FN void operator()(std::size_t i) const {
    const Vec3 n = unit_normal(vertices, triangles[i]);
    normals[i] = {n.x, n.y, n.z, 0};
  }
};

// What LoadTriangles finds out. Coordinates are keys whose order is that of their values.
struct MeshCheck {
  // For each axis the key of the largest coordinate, and that of the largest negated one; 0: none.
  std::uint64_t largest[2][3] = {};
  std::uint64_t invalid = 0;

  double hi(unsigned axis) const { return value(largest[0][axis]); }
  double lo(unsigned axis) const { return -value(largest[1][axis]); }

  static HEAPWOOD_INLINE std::uint64_t key(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    return bits ^ ((bits >> 63) != 0 ? ~std::uint64_t{0} : sign);
  }
  static double value(std::uint64_t key) {
    return std::bit_cast<double>(key ^ ((key & sign) != 0 ? sign : ~std::uint64_t{0}));
  }
  static constexpr std::uint64_t sign = std::uint64_t{1} << 63;
};

// Reads the caller's triangles.
struct LoadTriangles {
  IndexRows from;
  Rows vertices;
  std::uint64_t vertex_count;
  Triangle* to;
  MeshCheck* check;

  HEAPWOOD_FN void operator()(std::size_t i) const {
    constexpr double max_float = std::numeric_limits<float>::max();
    std::uint64_t v[3];
    for (unsigned k = 0; k < 3; ++k) {
      v[k] = from.at(i, k);
      if (v[k] >= vertex_count) return reject();
      to[i].v[k] = static_cast<std::uint32_t>(v[k]);
    }
    for (unsigned axis = 0; axis < 3; ++axis) {
      double lo = max_float, hi = -max_float;
      for (unsigned k = 0; k < 3; ++k) {
        const double x = vertices.at(v[k], axis);
        if (!(x >= -max_float && x <= max_float)) return reject();
        lo = x < lo ? x : lo;
        hi = x > hi ? x : hi;
      }
      raise(check->largest[0][axis], MeshCheck::key(hi));
      raise(check->largest[1][axis], MeshCheck::key(-lo));
    }
  }

 private:
  using Word = simt::atomic_ref<std::uint64_t>;
  // relaxed: the host reads the words after the launch.
  HEAPWOOD_FN void reject() const { Word(check->invalid).store(1, simt::relaxed); }
  HEAPWOOD_FN static void raise(std::uint64_t& word, std::uint64_t key) {
    Word largest(word);
    std::uint64_t before = largest.load(simt::relaxed);
    while (key > before &&
           !largest.compare_exchange_weak(before, key, simt::relaxed, simt::relaxed)) {
    }
  }
};

// Reads the caller's vertices. first_invalid becomes the index of the
// first one that is not finite in single precision.
struct LoadVertices {
  Rows from;
  Vec3d mesh_origin;
  Vec3* to;
  std::uint64_t* first_invalid;

  HEAPWOOD_FN void operator()(std::size_t i) const {
    const Vec3 v{static_cast<float>(from.at(i, 0) - mesh_origin.x),
                 static_cast<float>(from.at(i, 1) - mesh_origin.y),
                 static_cast<float>(from.at(i, 2) - mesh_origin.z)};
    to[i] = v;
    if ((v.x * 0.0f + v.y * 0.0f) + v.z * 0.0f == 0) return;
    simt::atomic_ref<std::uint64_t> first(*first_invalid);
    // relaxed: the host reads the word after the launch.
    std::uint64_t before = first.load(simt::relaxed);
    while (i < before && !first.compare_exchange_weak(before, i, simt::relaxed, simt::relaxed)) {
    }
  }
};

}  // namespace heapwood::python
