// SPDX-License-Identifier: MIT
// Compares the closest hits of every traversal with brute force in double precision, on random
// meshes of many families, scales and offsets. Any hits are found where closest ones are.
//
// hit_judge.hpp has the criterion.
//
// HEAPWOOD_TEST_MESHES is the number of meshes (default 150, of the long tests 500).
// HEAPWOOD_TEST_SEED is the first seed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "render/scene.hpp"
#include "tests/kdtree/reference.hpp"
#include "tests/render/hit_judge.hpp"
#include "tests/render/trees.hpp"

namespace heapwood::render {
namespace {

using kdtree::Hit;
using kdtree::Ray;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// A height field over a grid; flat in about a third of the cases.
Soup height_field(Random& random) {
  Soup soup;
  const unsigned n = 3 + random.below(6);
  const float height = random.below(3) == 0 ? 0.0f : random.uniform(0, 0.3f);
  for (unsigned i = 0; i <= n; ++i) {
    for (unsigned j = 0; j <= n; ++j) {
      soup.vertices.push_back({static_cast<float>(i) / static_cast<float>(n),
                               height * random.uniform(),
                               static_cast<float>(j) / static_cast<float>(n)});
    }
  }
  for (unsigned i = 0; i < n; ++i) {
    for (unsigned j = 0; j < n; ++j) {
      const unsigned first = i * (n + 1) + j;
      soup.triangles.push_back({{first, first + 1, first + n + 2}});
      soup.triangles.push_back({{first, first + n + 2, first + n + 1}});
    }
  }
  return soup;
}

// Layers in one plane, or within a few ulps of each other.
Soup coplanar_stack(Random& random) {
  Soup soup;
  const unsigned axis = random.below(3);
  for (unsigned layer = 0; layer < 6; ++layer) {
    const float plane = 0.5f * (1 + static_cast<float>(random.below(4)) * 0x1p-23f);
    append(soup, kdtree::flat_soup(20, random.next(), axis, plane, 0.3f));
  }
  return soup;
}

// Thin triangles around one point, as in the cap of a cylinder.
Soup fan(Random& random) {
  Soup soup;
  const unsigned n = 10 + random.below(150);
  soup.vertices.push_back({0.5f, 0.5f, 0.5f});
  for (unsigned i = 0; i < n; ++i) {
    const float a = 6.2831853f * static_cast<float>(i) / static_cast<float>(n);
    soup.vertices.push_back({0.5f + 0.5f * std::cos(a), 0.5f, 0.5f + 0.5f * std::sin(a)});
    soup.triangles.push_back({{0, 1 + i, 1 + (i + 1) % n}});
  }
  return soup;
}

// A width between 10^-6 and 10^-2 of the scene.
float small_width(Random& random) { return std::pow(10.0f, random.uniform(-6, -2)); }

// A prism along an axis or in any direction: a cable or a pole.
Soup prism(Vec3 from, Vec3 to, float width) {
  Soup soup;
  const Vec3 along = normalize(to - from);
  const Vec3 across =
      normalize(cross(along, std::fabs(along.y) < 0.9f ? Vec3{0, 1, 0} : Vec3{1, 0, 0}));
  const Vec3 up = cross(along, across);
  for (const Vec3& end : {from, to}) {
    for (const Vec3& side : {across, up, -across, -up})
      soup.vertices.push_back(end + side * (width / 2));
  }
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint32_t next = (i + 1) % 4;
    soup.triangles.push_back({{i, next, next + 4}});
    soup.triangles.push_back({{i, next + 4, i + 4}});
  }
  return soup;
}
// Cables over large ground, some of them along axes.
Soup cables(Random& random) {
  Soup soup;
  soup.add({0, 0, 0}, {1, 0, 0}, {0, 0, 1});
  soup.add({1, 0, 0}, {1, 0, 1}, {0, 0, 1});
  for (int i = 0; i < 12; ++i) {
    const Vec3 from = random.point(0, 1), to = random.below(2) != 0
                                                   ? set(from, random.below(3), random.uniform())
                                                   : random.point(0, 1);
    if (length(to - from) > 0.01f) append(soup, prism(from, to, small_width(random)));
  }
  return soup;
}
// Triangles that taper to a point.
Soup needles(Random& random) {
  Soup soup;
  for (int i = 0; i < 60; ++i) {
    const Vec3 a = random.point(0, 1), way = random.point(-0.5f, 0.5f);
    soup.add(a, a + random.point(-1, 1) * small_width(random), a + way);
  }
  return soup;
}
// A small closed model on large ground.
Soup small_on_large(Random& random) {
  Soup soup;
  soup.add({0, 0, 0}, {1, 0, 0}, {0, 0, 1});
  soup.add({1, 0, 0}, {1, 0, 1}, {0, 0, 1});
  const float size = std::max(small_width(random), 1e-5f);
  append(soup, closed_surface(4, static_cast<float>(random.below(2)),
                              {random.uniform(), size, random.uniform()}, size));
  return soup;
}
// Terrain with poles on it.
Soup terrain_with_poles(Random& random) {
  Soup soup = height_field(random);
  for (int i = 0; i < 10; ++i) {
    const Vec3 foot = random.point(0, 1);
    append(soup,
           prism({foot.x, 0, foot.z}, {foot.x, 0.2f + 0.3f * foot.y, foot.z}, small_width(random)));
  }
  return soup;
}

Soup shells(Random& random) {
  Soup soup;
  for (int shell = 0; shell < 4; ++shell) {
    append(soup, closed_surface(2, static_cast<float>(random.below(2)), {0.5f, 0.5f, 0.5f},
                                0.5f - 0.1f * static_cast<float>(shell)));
  }
  return soup;
}
Soup same(Random& random) {
  Soup soup = kdtree::identical(10);
  append(soup, kdtree::random_soup(20, random.next(), 0.3f));
  append(soup, soup);
  return soup;
}
Soup outlier(Random& random) {
  Soup soup = kdtree::random_soup(100, random.next(), 0.15f);
  const float far = std::pow(10.0f, random.uniform(1, 4));
  soup.add({far, far, 0}, {far, far, far / 2}, {far, far * 1.1f, 0});
  return soup;
}

#ifdef HEAPWOOD_LONG_TESTS
constexpr std::uint64_t default_meshes = 500;
#else
constexpr std::uint64_t default_meshes = 150;
#endif

struct Family {
  const char* name;
  Soup (*unit_mesh)(Random& random);
};
constexpr Family families[] = {
    {"random", [](Random& random) { return kdtree::random_soup(150, random.next(), 0.15f); }},
    {"large", [](Random& random) { return kdtree::random_soup(40, random.next(), 0.8f); }},
    {"height field", height_field},
    {"coplanar", coplanar_stack},
    {"slivers",
     [](Random& random) {
       return kdtree::slivers(60, random.next(), std::pow(10.0f, random.uniform(-5, -1)));
     }},
    {"shells", shells},
    {"same", same},
    {"on grid", [](Random& random) { return kdtree::grid_soup(120, random.next(), 8); }},
    {"cluster", [](Random& random) { return kdtree::cluster(120, random.next()); }},
    {"fan", fan},
    {"outlier", outlier},
    {"cables", cables},
    {"needles", needles},
    {"small on large", small_on_large},
    {"poles", terrain_with_poles}};

struct Case {
  std::string name;
  Soup soup;
  Tree tree;
  std::vector<Ray> rays;
};

// Rays aimed at interior points and edges of triangles, in random directions, along axes, and from
// surfaces; some with short intervals.
std::vector<Ray> rays_for(const Soup& soup, Random& random, float scale, Vec3 offset) {
  std::vector<Ray> rays;
  while (rays.size() < 160) {
    const Corners c = kdtree::corners(
        soup.view(), random.below(static_cast<std::uint32_t>(soup.triangles.size())));
    float u = random.uniform(), v = random.uniform() * (1 - u);
    if (random.below(6) == 0) u = 0;
    if (random.below(6) == 0) v = 1 - u;
    const Vec3 point = c.a + (c.b - c.a) * u + (c.c - c.a) * v;
    const float reach = random.below(4) == 0 ? 10.0f : 1.0f;
    Ray ray{random.point(-reach, 1 + reach) * scale + offset, 0, unit_direction(random), 1e30f};
    const unsigned kind = random.below(8);
    if (kind < 5) {
      const Vec3 way = point - ray.origin;
      if (!(length(way) > 0)) continue;
      ray.direction = normalize(way);
    } else if (kind == 5) {
      const unsigned axis = random.below(3);
      ray.direction = set({}, axis, random.below(2) != 0 ? 1.0f : -1.0f);
      if (random.below(3) == 0) ray.direction = set(ray.direction, (axis + 1) % 3, -0.5f);
      if (random.below(4) == 0) ray.direction = set(ray.direction, (axis + 2) % 3, -0.0f);
      // Some lie in a plane of the tree.
      if (random.below(2) == 0) ray.origin = set(ray.origin, (axis + 2) % 3, c.a[(axis + 2) % 3]);
    } else if (kind == 6) {
      ray.origin = point;
    }
    if (random.below(8) == 0) ray.tmax = scale * random.uniform(0, 2);
    if (random.below(8) == 0) ray.tmin = std::min(ray.tmax, scale * random.uniform(0, 1));
    rays.push_back(ray);
  }
  return rays;
}

Case make_case(std::uint64_t seed) {
  Random random(seed);
  const Family& family = families[seed % std::size(families)];
  const float scale = std::pow(10.0f, random.uniform(-6, 6));
  Vec3 offset;
  if (random.below(3) != 0) {
    const float most = std::min(std::pow(10.0f, random.uniform(-6, 6)), 1e6f * scale);
    offset = random.point(-most, most);
  }
  Case test;
  test.soup = kdtree::transformed(family.unit_mesh(random), scale, offset);
  const bool medians = random.below(2) != 0;
  test.tree = medians ? MedianBuilder::build(test.soup.view())
                      : kdtree::build_reference(test.soup.view(), {});
  test.rays = rays_for(test.soup, random, scale, offset);
  test.name = "seed " + std::to_string(seed) + ", " + family.name + ", scale " +
              std::to_string(scale) + ", offset " + std::to_string(length(offset)) +
              (medians ? ", tree of medians" : ", reference tree");
  return test;
}

// Traces on the CPU, one ray at a time, without packets.
template <class Intersection>
std::vector<Hit> trace_scalar(const Case& test) {
  const auto records = records_of<Intersection>(test.soup, test.tree);
  const auto view = tree_view<Intersection>(test.soup, test.tree, records);
  std::vector<Hit> hits;
  for (const Ray& ray : test.rays) hits.push_back(kdtree::closest_hit(view, ray));
  return hits;
}

// The fast test works in absolute coordinates, so their rounding adds to its error.
Precision fast_precision(const Case& test) {
  double reach = kdtree::reach_of(test.tree.bounds);
  for (const Ray& ray : test.rays) reach = std::max(reach, length(in_double(ray.origin)));
  // Hits of thin triangles may be interpolated.
  return {2 * reach, true};
}

// How the fast test differs from the watertight one: the rays that hit with one of them only, and
// the largest difference of distances to a triangle, as a fraction of the largest coordinate.
struct Different {
  std::size_t rays = 0, hits = 0, any = 0;
  double largest = 0;

  void add(const Case& test, const Ray& ray, const Hit& fast, bool fast_any, const Hit& exact) {
    ++rays;
    hits += fast.found() != exact.found();
    any += fast_any != exact.found();
    if (!fast.found() || fast.triangle != exact.triangle) return;
    const double way = std::fabs(double{fast.t} - exact.t) * heapwood::length(ray.direction),
                 reach = kdtree::reach_of(test.tree.bounds) + heapwood::length(ray.origin);
    largest = std::max(largest, way / reach);
  }
};

TEST(Differential, ClosestHitsAreThoseOfBruteForce) {
  const std::uint64_t first = number_from("HEAPWOOD_TEST_SEED", 1),
                      count = number_from("HEAPWOOD_TEST_MESHES", default_meshes);
  Sums sums;
  Different different;
  unsigned wrong = 0;
  for (std::uint64_t seed = first; seed < first + count && wrong < 10; ++seed) {
    const Case test = make_case(seed);
    const Precision fast = fast_precision(test), watertight{0, true};
    const auto check = [&](const char* traversal, const std::vector<Hit>& hits,
                           const Precision& precision) {
      const std::string error =
          judge(test.name, test.soup.view(), test.rays, hits, precision, sums);
      if (error.empty()) return;
      ++wrong;
      ADD_FAILURE() << traversal << ": " << error;
    };
    // Uses the GPU's kernels, or on the CPU packets for the fast test.
    const Scene scene(test_device(), test.tree, test.soup.view(), false),
        watertight_scene(test_device(), test.tree, test.soup.view(), true);
    const std::vector<Hit> hits = scene.closest(test.rays), found = scene.occluded(test.rays),
                           exact_hits = watertight_scene.closest(test.rays),
                           exact_found = watertight_scene.occluded(test.rays);
    check("fast", hits, fast);
    check("watertight", exact_hits, watertight);
    for (std::size_t i = 0; i < hits.size(); ++i) {
      ASSERT_EQ(exact_found[i].found(), exact_hits[i].found()) << test.name << ", ray " << i;
      ASSERT_TRUE(!hits[i].found() ||
                  (hits[i].u >= 0 && hits[i].v >= 0 && double{hits[i].u} + hits[i].v <= 1))
          << test.name << ": weights " << hits[i].u << ", " << hits[i].v;
      different.add(test, test.rays[i], hits[i], found[i].found(), exact_hits[i]);
    }
    check("fast, one by one", trace_scalar<kdtree::FastIntersection>(test), fast);
    check("watertight, one by one", trace_scalar<kdtree::WatertightIntersection>(test), watertight);
  }
  EXPECT_GT(sums.certain, sums.rays / 4) << "the rule decides too few rays";
  // A third of the rays are aimed at edges, most of which belong to one triangle.
  EXPECT_LT(std::max(different.hits, different.any), different.rays / 12);
  RecordProperty("different", static_cast<int>(different.hits));
  RecordProperty("different_any", static_cast<int>(different.any));
  RecordProperty("largest_difference", std::to_string(different.largest));
  RecordProperty("rays", static_cast<int>(sums.rays));
  RecordProperty("certain", static_cast<int>(sums.certain));
  RecordProperty("hits", static_cast<int>(sums.hits));
}

}  // namespace
}  // namespace heapwood::render
