// SPDX-License-Identifier: MIT
// Families of meshes on which k-d trees tend to grow without bound, or not to be split at all:
// triangles around a point or an edge, slivers across a box, large triangles that intersect,
// copies. Each function makes about n triangles, the same on every machine.
#pragma once

#include <cmath>
#include <utility>

#include "tests/kdtree/soup.hpp"

namespace heapwood::kdtree::test {

struct Family {
  const char* name;
  Soup (*make)(std::uint32_t n);
};

inline Vec3 on_circle(std::uint32_t i, std::uint32_t n, float radius = 1, float z = 0) {
  const double angle = 6.283185307179586 * i / n;
  return {radius * static_cast<float>(std::cos(angle)),
          radius * static_cast<float>(std::sin(angle)), z};
}
inline Vec3 unit_vector(Random& random) {
  for (;;) {
    const Vec3 v = random.point(-1, 1);
    if (dot(v, v) > 0.01f && dot(v, v) < 1) return normalize(v);
  }
}
inline Vec3 tilted(Vec3 p) {  // rotated by fixed angles about two axes
  const Vec3 q{0.8f * p.x - 0.6f * p.y, 0.6f * p.x + 0.8f * p.y, p.z};
  return {q.x, 0.28f * q.y - 0.96f * q.z, 0.96f * q.y + 0.28f * q.z};
}
inline Soup tilted(Soup soup) {
  for (Vec3& v : soup.vertices) v = tilted(v);
  return soup;
}

inline Soup around_apex(std::uint32_t n, float x, float y, float z) {
  Soup soup;
  const Vec3 apex{x, y, z};
  for (std::uint32_t i = 0; i < n; ++i) soup.add(apex, on_circle(i, n), on_circle((i + 1) % n, n));
  return soup;
}
inline Soup cylinder(std::uint32_t n) {
  const std::uint32_t m = n / 4;
  Soup soup;
  for (std::uint32_t i = 0; i < m; ++i) {
    const Vec3 a = on_circle(i, m), b = on_circle((i + 1) % m, m), c = on_circle(i, m, 1, 3),
               d = on_circle((i + 1) % m, m, 1, 3);
    soup.add({0, 0, 0}, a, b);
    soup.add({0, 0, 3}, c, d);
    soup.add(a, b, c);
    soup.add(b, d, c);
  }
  return soup;
}
inline Soup cylinder_long(std::uint32_t n) {
  Soup soup = cylinder(n);
  for (Vec3& v : soup.vertices) v.z *= 100;
  return tilted(soup);
}
inline Soup book(std::uint32_t n) {  // pages around an edge
  Soup soup;
  for (std::uint32_t i = 0; i < n; ++i) soup.add({0, 0, 0}, {0, 0, 1}, on_circle(i, n, 1, 0.5f));
  return soup;
}
inline Soup sphere_poles(std::uint32_t n) {  // two bands of long triangles that meet at the poles
  Soup soup;
  for (std::uint32_t i = 0; i < n / 2; ++i) {
    soup.add({0, 0, 1}, on_circle(i, n / 2), on_circle(i + 1, n / 2));
    soup.add({0, 0, -1}, on_circle(i, n / 2), on_circle(i + 1, n / 2));
  }
  return soup;
}
inline Soup slivers_across(std::uint32_t n) {  // from a face of the unit cube to the opposite one
  return slivers_between(n, 13, [](std::uint32_t i, Random& random) {
    Vec3 a = random.point(0, 1), b = random.point(0, 1);
    a[i % 3] = 0;
    b[i % 3] = 1;
    return std::pair(a, b);
  });
}
inline Soup slivers_along_diagonal(std::uint32_t n) {
  return slivers_between(n, 14, [](std::uint32_t, Random& random) {
    const Vec3 a = random.point(0, 0.05f);
    return std::pair(a, random.point(0.95f, 1));
  });
}
inline Soup slivers_through_centre(std::uint32_t n) {
  const auto ends = [](std::uint32_t, Random& random) {
    const Vec3 end = unit_vector(random);
    return std::pair(end, -end);
  };
  return slivers_between(n, 15, ends, 0.01f);
}
inline Soup hair(std::uint32_t n) {
  return slivers_between(n, 16, [](std::uint32_t, Random& random) {
    const Vec3 root{random.uniform(), random.uniform(), 0};
    return std::pair(root, root + Vec3{random.uniform(-.2f, .2f), random.uniform(-.2f, .2f), 1});
  });
}
inline Soup cables(std::uint32_t n) {  // parallel cables along a diagonal
  return slivers_between(n, 17, [](std::uint32_t, Random& random) {
    const Vec3 root{random.uniform(), random.uniform(), 0};
    return std::pair(root, root + Vec3{1, 0.7f, 1});
  });
}
inline Soup copies(std::uint32_t n) {
  Soup soup;
  for (std::uint32_t i = 0; i < n; ++i) soup.add({0, 0, 0}, {1, 0.3f, 0.2f}, {0.2f, 1, 0.7f});
  return soup;
}
inline Soup copies_of_few(std::uint32_t n) {
  const Soup few = random_soup(16, 18, 0.6f);
  Soup soup;
  while (soup.triangles.size() < n) soup.add(few);
  return soup;
}
// Triangles that shrink towards a corner by factors of two.
inline Soup shrinking(std::uint32_t n) {
  Soup soup;
  for (std::uint32_t i = 0; i < n; ++i) {
    const float s = std::ldexp(1.0f, -static_cast<int>(i % 60));
    soup.add({0, 0, s}, {s, 0, 0}, {0, s, 0});
  }
  return soup;
}
inline Soup crossing_sheets(std::uint32_t n) {
  Soup soup;
  Random random(19);
  for (std::uint32_t i = 0; i < n; ++i) {
    const float z = random.uniform();
    const auto near = [&] { return z + random.uniform(-.3f, .3f); };
    const float a = near(), b = near();
    soup.add({0, 0, a}, {1, 0, b}, {0, 1, near()});
  }
  return soup;
}
inline Soup stacked_sheets(std::uint32_t n) {  // flat sheets close to each other
  Soup soup;
  for (std::uint32_t i = 0; i < n; ++i) {
    const float z = static_cast<float>(i) / static_cast<float>(n);
    soup.add({0, 0, z}, {1, 0, z}, {0, 1, z});
  }
  return soup;
}
inline Soup nested_shells(std::uint32_t n) {  // octahedra inside each other
  Soup soup;
  for (std::uint32_t i = 0; i < n / 8; ++i) {
    const float r = 1 - static_cast<float>(i) / static_cast<float>(n / 8 + 1);
    for (unsigned octant = 0; octant < 8; ++octant) {
      const float x = (octant & 1) ? r : -r, y = (octant & 2) ? r : -r, z = (octant & 4) ? r : -r;
      soup.add({x, 0, 0}, {0, y, 0}, {0, 0, z});
    }
  }
  return soup;
}
inline Soup two_fans_far_apart(std::uint32_t n) {
  Soup soup = around_apex(n / 2, 0, 0, 0);
  soup.add(transformed(tilted(around_apex(n / 2, 0, 0, 2)), 1, {1e4f, 1e4f, 0}));
  return soup;
}
inline Soup all_scales(std::uint32_t n) {  // each triangle spans twelve decades
  Soup soup;
  Random random(20);
  const auto point = [&] { return unit_vector(random) * std::pow(10.0f, random.uniform(-6, 6)); };
  for (std::uint32_t i = 0; i < n; ++i) {
    const Vec3 a = point(), b = point();
    soup.add(a, b, point());
  }
  return soup;
}

inline constexpr Family nasty_families[] = {
    {"fan", [](std::uint32_t n) { return around_apex(n, 0, 0, 0); }},
    {"fan_off_centre", [](std::uint32_t n) { return around_apex(n, 0.7f, -0.2f, 0); }},
    {"fan_tilted", [](std::uint32_t n) { return tilted(around_apex(n, 0, 0, 0)); }},
    {"cone", [](std::uint32_t n) { return around_apex(n, 0, 0, 2); }},
    {"cone_tilted", [](std::uint32_t n) { return tilted(around_apex(n, 0, 0, 2)); }},
    {"cone_needle", [](std::uint32_t n) { return around_apex(n, 0, 0, 100); }},
    {"cylinder", cylinder},
    {"cylinder_tilted", [](std::uint32_t n) { return tilted(cylinder(n)); }},
    {"cylinder_long", cylinder_long},
    {"book", book},
    {"book_tilted", [](std::uint32_t n) { return tilted(book(n)); }},
    {"sphere_poles", sphere_poles},
    {"small_triangles", [](std::uint32_t n) { return random_soup(n, 11, 0.02f); }},
    {"large_triangles", [](std::uint32_t n) { return random_soup(n, 12, 0.5f); }},
    {"slivers_across", slivers_across},
    {"slivers_along_diagonal", slivers_along_diagonal},
    {"slivers_through_centre", slivers_through_centre},
    {"hair", hair},
    {"cables", cables},
    {"copies", copies},
    {"copies_of_few", copies_of_few},
    {"shrinking", shrinking},
    {"crossing_sheets", crossing_sheets},
    {"stacked_sheets", stacked_sheets},
    {"stacked_sheets_tilted", [](std::uint32_t n) { return tilted(stacked_sheets(n)); }},
    {"nested_shells", nested_shells},
    {"two_fans_far_apart", two_fans_far_apart},
    {"all_scales", all_scales},
};

}  // namespace heapwood::kdtree::test
