// SPDX-License-Identifier: MIT
// Seeded triangle soups for tests: the same on every machine, without files or scenes/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "kdtree/tree.hpp"

namespace heapwood::kdtree {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;  // about 10 times slower: smaller soups, fewer repetitions
#else
inline constexpr bool sanitized = false;
#endif

struct Soup {
  std::vector<Vec3> vertices;
  std::vector<Triangle> triangles;

  MeshView view() const { return {vertices, triangles}; }
  void add(Vec3 a, Vec3 b, Vec3 c) {
    const auto first = static_cast<std::uint32_t>(vertices.size());
    vertices.insert(vertices.end(), {a, b, c});
    triangles.push_back({{first, first + 1, first + 2}});
  }
  void add(const Soup& other) {
    for (const Triangle& t : other.triangles)
      add(other.vertices[t.v[0]], other.vertices[t.v[1]], other.vertices[t.v[2]]);
  }
};

// SplitMix64. Floats have 24 random bits.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  float uniform() { return static_cast<float>(next() >> 40) * 0x1p-24f; }
  float uniform(float low, float high) { return low + (high - low) * uniform(); }
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>((next() >> 32) * n >> 32);
  }
  Vec3 point(float low, float high) {
    const float x = uniform(low, high);
    const float y = uniform(low, high);
    return {x, y, uniform(low, high)};
  }

 private:
  std::uint64_t state_;
};

// Triangles with corners within `size` of centres in the unit cube.
inline Soup random_soup(std::size_t n, std::uint64_t seed, float size = 0.05f) {
  Soup soup;
  Random random(seed);
  for (std::size_t i = 0; i < n; ++i) {
    const Vec3 centre = random.point(0, 1);
    const Vec3 a = centre + random.point(-size, size);
    const Vec3 b = centre + random.point(-size, size);
    soup.add(a, b, centre + random.point(-size, size));
  }
  return soup;
}

// Vertices on a grid in the unit cube, at most two cells apart: many equal bounds, many triangles
// flat on an axis, none without area.
inline Soup grid_soup(std::size_t n, std::uint64_t seed, std::uint32_t cells = 16) {
  Soup soup;
  Random random(seed);
  const float cell = 1.0f / static_cast<float>(cells);
  while (soup.triangles.size() < n) {
    Vec3 corner[3];
    for (unsigned axis = 0; axis < 3; ++axis) {
      const std::uint32_t base = random.below(cells);
      const bool flat = random.below(3) == 0;
      for (Vec3& vertex : corner) {
        const std::uint32_t step = flat ? 0 : random.below(3);
        vertex[axis] = static_cast<float>(std::min(cells, base + step)) * cell;
      }
    }
    if (length(cross(corner[1] - corner[0], corner[2] - corner[0])) > 0)
      soup.add(corner[0], corner[1], corner[2]);
  }
  return soup;
}

// Triangles `width` wide; ends(i, random) draws the two corners at the ends of the i-th.
template <class Ends>
Soup slivers_between(std::uint32_t n, std::uint64_t seed, Ends ends, float width = 1e-3f) {
  Soup soup;
  Random random(seed);
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto [a, b] = ends(i, random);
    soup.add(a, b, b + random.point(-width, width));
  }
  return soup;
}

// Triangles across the unit cube. Trees need about n^1.5 refs.
inline Soup slivers(std::size_t n, std::uint64_t seed, float width = 1e-3f) {
  const auto ends = [](std::uint32_t, Random& random) {
    const Vec3 a = random.point(0, 1);
    return std::pair(a, random.point(0, 1));
  };
  return slivers_between(static_cast<std::uint32_t>(n), seed, ends, width);
}

// A teapot in a stadium: half of the triangles are large and in the unit cube, half are tiny and in
// a cube of side `spread` inside it.
inline Soup cluster(std::size_t n, std::uint64_t seed, float spread = 1e-3f) {
  Soup soup = random_soup(n / 2, seed, 0.2f);
  Soup tiny = random_soup(n - n / 2, seed + 1, 0.05f);
  for (Vec3& v : tiny.vertices) v = Vec3{0.6f, 0.3f, 0.7f} + spread * v;
  soup.add(tiny);
  return soup;
}

// Triangles in the plane coordinate[axis] = at.
inline Soup flat_soup(std::size_t n, std::uint64_t seed, unsigned axis, float plane,
                      float size = 0.05f) {
  Soup soup = random_soup(n, seed, size);
  for (Vec3& v : soup.vertices) v[axis] = plane;
  return soup;
}

// n copies of one triangle.
inline Soup identical(std::size_t n) {
  Soup soup;
  for (std::size_t i = 0; i < n; ++i) soup.add({0, 0, 0}, {1, 0.25f, 0.5f}, {0.25f, 1, 0.75f});
  return soup;
}

// Triangles without area: points, and segments in general directions.
inline Soup degenerate(std::size_t n, std::uint64_t seed) {
  Soup soup;
  Random random(seed);
  for (std::size_t i = 0; i < n; ++i) {
    const Vec3 a = random.point(0, 1);
    const Vec3 b = i % 2 == 0 ? a : random.point(0, 1);
    soup.add(a, b, b);
  }
  return soup;
}

inline Soup transformed(Soup soup, float scale, Vec3 offset = {}) {
  for (Vec3& v : soup.vertices) v = v * scale + offset;
  return soup;
}

}  // namespace heapwood::kdtree
