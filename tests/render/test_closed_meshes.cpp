// SPDX-License-Identifier: MIT
// Closed meshes at several distances from the origin: compares primary rays from inside and outside
// with double precision. A ray is lost if it misses a surface that it must hit, or hits one far
// behind it.
#include <gtest/gtest.h>

#include "geometry/vec.hpp"
#include "render/ray_sets.hpp"
#include "tests/kdtree/reference.hpp"
#include "tests/render/double_reference.hpp"
#include "tests/render/trees.hpp"

namespace heapwood::render {
namespace {

using kdtree::Hit;
using kdtree::Ray;

struct ClosedMesh {
  const char* name;
  Soup soup;
  Vec3 inside;  // a point inside the mesh
};

std::vector<ClosedMesh> closed_meshes() {
  Soup box = closed_surface(1, 0), fine_box = closed_surface(40, 0);
  for (Soup* soup : {&box, &fine_box}) {
    for (Vec3& v : soup->vertices) v = v * Vec3{0.5f, 1.5f, 0.5f};
  }
  Soup blob = closed_surface(40, 1);
  for (Vec3& v : blob.vertices)
    v = v * (1 + 0.12f * std::sin(9 * v.x) * std::sin(8 * v.y + 7 * v.z));
  const Vec3 inside{0.1f, -0.3f, 0.05f};
  return {{"box", box, inside},
          {"box, fine", fine_box, inside},
          {"sphere", closed_surface(40, 1), inside},
          {"torus", closed_torus(96, 48, 1, 0.4), {1.05f, 0.02f, 0.03f}},
          {"blob", blob, inside}};
}

struct View {
  std::vector<Ray> rays;
  std::vector<double> certain;  // max distance of a valid hit; infinite if the ray may miss
};

// Rays whose first two hits are within 0.2% of the mesh's diagonal may miss both surfaces: they
// graze a silhouette.
View look(const DoubleReference& reference, const Soup& soup, Vec3 inside, bool from_inside) {
  Box box;
  for (const Vec3 v : soup.vertices) box.grow(v);
  const double size = length(box.extent());
  View view;
  for (const Vec3 direction :
       {Vec3{1, 0.1f, 0.2f}, Vec3{-1, 0.3f, -0.5f}, Vec3{0.1f, 1, 0.1f}, Vec3{0.02f, 0.3f, -1}}) {
    const Vec3 eye =
        from_inside ? inside : box.centre() - normalize(direction) * static_cast<float>(1.2 * size);
    const Camera camera{eye, eye + direction * static_cast<float>(size),
                        from_inside ? 90.0f : 40.0f, 2};
    const std::vector<Ray> rays = primary_rays(camera, 40, 40);
    view.rays.insert(view.rays.end(), rays.begin(), rays.end());
  }
  for (const Ray& ray : view.rays) {
    const std::vector<DoubleReference::Hit> hits = reference.hits(ray, 1e-9 * size);
    const bool certain = hits.size() == 1 ||
                         (hits.size() > 1 && hits[1].meeting.t - hits[0].meeting.t > 2e-3 * size);
    view.certain.push_back(certain ? hits[0].meeting.t + 1e-3 * size : HUGE_VAL);
  }
  return view;
}

std::size_t lost_rays(const View& view, const Tree& tree, const Soup& soup, bool watertight) {
  const Scene scene(test_device(), tree, soup.view(), watertight);
  const std::vector<Hit> hits = scene.closest(view.rays);
  std::size_t lost = 0;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    if (view.certain[i] < HUGE_VAL && (!hits[i].found() || hits[i].t > view.certain[i])) ++lost;
  }
  return lost;
}

// `more` is a part of the scene that the cameras do not aim at.
void lose_no_ray(const ClosedMesh& mesh, Vec3 offset, const Soup& more = {}) {
  Soup soup = kdtree::transformed(mesh.soup, 1, offset);
  const Soup alone = soup;
  append(soup, more);
  const Tree tree = kdtree::build_reference(soup.view(), {});
  const DoubleReference reference(soup.view());
  for (const bool from_inside : {true, false}) {
    const View view = look(reference, alone, mesh.inside + offset, from_inside);
    const std::size_t fast = lost_rays(view, tree, soup, false),
                      watertight = lost_rays(view, tree, soup, true);
    EXPECT_LE(fast, view.rays.size() / 1000000) << mesh.name << ", " << from_inside;
    EXPECT_EQ(watertight, 0u) << mesh.name << ", " << from_inside;
  }
}

class ClosedMeshes : public testing::TestWithParam<float> {};

TEST_P(ClosedMeshes, LoseNoRay) {
  for (const ClosedMesh& mesh : closed_meshes())
    lose_no_ray(mesh, {GetParam(), 0, GetParam() * 2 / 3});
}
INSTANTIATE_TEST_SUITE_P(Offset, ClosedMeshes, testing::Values(0.0f, 10.0f, 1e3f, 1e4f, 1e5f),
                         [](const auto& info) {
                           return std::to_string(static_cast<int>(info.param));
                         });

// Meshes further away are stored relative to an origin (scenes::Mesh::origin).
TEST(ClosedMeshesFarAway, LoseNoRayRelativeToAnOrigin) {
  const Vec3d offset{5e6, -4e6, 5e6};
  for (ClosedMesh mesh : closed_meshes()) {
    for (Vec3& v : mesh.soup.vertices) v = to_float((to_double(v) + offset) - offset);
    lose_no_ray(mesh, {});
  }
}

// A small mesh in a large scene, at its centre or far from it.
TEST(ClosedMeshesFarAway, LoseNoRayBesideAnOutlier) {
  Soup outlier;
  outlier.add({0, 0, 0}, {0.1f, 0, 0}, {0, 0.1f, 0});
  for (const ClosedMesh& mesh : closed_meshes()) {
    lose_no_ray(mesh, {2e4f, 0, 1e4f}, outlier);
    lose_no_ray(mesh, {}, kdtree::transformed(outlier, 1, {2e4f, 0, 1e4f}));
  }
}

}  // namespace
}  // namespace heapwood::render
